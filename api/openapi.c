#include "api/internal.h"

/* The contract, as the file stands: .incbin keeps it readable and its build short. */
extern const char openapi_begin[];
extern const uint64_t openapi_length;
__asm__(".section .rodata\n"
        ".balign 16\n"
        "openapi_begin:\n"
        ".incbin \"api/openapi.json\"\n"
        "openapi_end:\n"
        ".balign 8\n"
        "openapi_length:\n"
        ".quad openapi_end - openapi_begin\n"
        ".text\n");

void openapi_get(struct call *c)
{
	c->res->status = 200;
	c->res->content_type = "application/json";
	c->res->static_body = openapi_begin;
	c->res->body_len = (size_t)openapi_length;
}
