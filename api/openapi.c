#include "api/internal.h"

/* Documents as the files stand: .incbin keeps them readable and the build short. */
#define DOCUMENT(name, file)                                                                                 \
	extern const char name##_begin[];                                                                    \
	extern const uint64_t name##_length;                                                                 \
	__asm__(".section .rodata\n"                                                                         \
	        ".balign 16\n" #name "_begin:\n"                                                             \
	        ".incbin \"" file "\"\n" #name "_end:\n"                                                     \
	        ".balign 8\n" #name "_length:\n"                                                             \
	        ".quad " #name "_end - " #name "_begin\n"                                                    \
	        ".text\n")
DOCUMENT(openapi, "api/openapi.json");
DOCUMENT(signalbox_schema, "profiler/read/signalbox_profile.schema.json");

static void give(struct call *c, const char *type, const char *text, uint64_t len)
{
	c->res->status = 200;
	c->res->content_type = type;
	c->res->static_body = text;
	c->res->body_len = (size_t)len;
}

void openapi_get(struct call *c)
{
	give(c, "application/json", openapi_begin, openapi_length);
}

void openapi_signalbox_schema(struct call *c)
{
	give(c, "application/schema+json", signalbox_schema_begin, signalbox_schema_length);
}
