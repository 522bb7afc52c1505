#include <string.h>
#include <strings.h>

#include "profiler/read/call_stack.h"
#include "profiler/read/kineto_impl.h"

int64_t kineto_dtype_bytes(const char *dtype, size_t len)
{
	static const struct {
		const char *name;
		int bytes;
	} TYPES[] = {{"float", 4},
	             {"bfloat16", 2},
	             {"half", 2},
	             {"long", 8},
	             {"int", 4},
	             {"byte", 1},
	             {"char", 1},
	             {"bool", 1},
	             {"double", 8},
	             {"short", 2},
	             {"complexfloat", 8},
	             {"complexhalf", 4},
	             {"complexdouble", 16},
	             {"float32", 4},
	             {"float16", 2},
	             {"float64", 8},
	             {"int64", 8},
	             {"int32", 4},
	             {"int16", 2},
	             {"int8", 1},
	             {"uint8", 1},
	             {"uint16", 2},
	             {"uint32", 4},
	             {"uint64", 8},
	             {"float8_e4m3fn", 1},
	             {"float8_e5m2", 1},
	             {"float8_e4m3fnuz", 1},
	             {"float8_e5m2fnuz", 1},
	             {"float8_e8m0fnu", 1},
	             {"qint8", 1},
	             {"quint8", 1},
	             {"qint32", 4}};

	if (len > 5 && strncasecmp(dtype, "c10::", 5) == 0) {
		dtype += 5;
		len -= 5;
	}
	for (size_t i = 0; i < sizeof(TYPES) / sizeof(TYPES[0]); i++) {
		if (strlen(TYPES[i].name) == len && strncasecmp(TYPES[i].name, dtype, len) == 0)
			return TYPES[i].bytes;
	}
	return 0;
}

/* The larger of what goes in and what comes out: the size that bandwidths of collectives are stated for (the
 * gathered buffer of an all-gather, the scattered one of a reduce-scatter; equal for an all-reduce). */
static int64_t collective_bytes(const struct chrome_event *e)
{
	const struct chrome_text *dtype = &e->args[ARG_DTYPE];
	int64_t in = chrome_int(&e->args[ARG_IN_ELEMENTS]), out = chrome_int(&e->args[ARG_OUT_ELEMENTS]),
	        bytes;
	int64_t n = in > out ? in : out;

	if (n < 0 || __builtin_mul_overflow(n, kineto_dtype_bytes(dtype->text, dtype->len), &bytes))
		return SB_NULL;
	return bytes > 0 || n == 0 ? bytes : SB_NULL;
}

static int add_text(struct kineto *k, const struct chrome_text *t, uint32_t *out_id)
{
	return sb_strings_add(k->trace.strings, t->text, t->len, out_id);
}

static int add_collective(struct kineto *k, const struct chrome_event *e)
{
	/* the communicator's number may be above 2^63, so it stays a text */
	const struct chrome_text *group = &e->args[e->args[ARG_GROUP].len > 0 ? ARG_GROUP : ARG_COMMUNICATOR],
	                         *ranks = &e->args[ARG_RANKS];
	struct event_detail d = {.bytes = collective_bytes(e),
	                         .sequence = chrome_int(&e->args[ARG_SEQUENCE])};
	int rc = add_text(k, &e->args[ARG_COLLECTIVE], &d.type);

	if (rc == SB_OK)
		rc = add_text(k, group, &d.group);
	if (rc == SB_OK)
		rc = add_text(k, ranks, &d.ranks);
	if (rc != SB_OK)
		return rc;
	if (d.type == 0 && d.group == 0 && d.bytes == SB_NULL && d.sequence == SB_NULL)
		return SB_OK;
	return trace_append_detail(&k->trace, &d);
}

/* ROCm names its copies in words. */
static const char *copy_in_words(const char *name)
{
	static const struct {
		const char *words, *kind;
	} KINDS[] = {{"CopyHostToDevice", "HtoD"},
	             {"CopyDeviceToHost", "DtoH"},
	             {"CopyDeviceToDevice", "DtoD"},
	             {"CopyHostToHost", "HtoH"}};

	for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++)
		if (strncasecmp(name, KINDS[i].words, strlen(KINDS[i].words)) == 0)
			return KINDS[i].kind;
	return NULL;
}

/* "DtoH" from the argument, or from a name such as "Memcpy DtoH (Device -> Pageable)". */
static struct chrome_text copy_kind(const struct chrome_event *e)
{
	struct chrome_text kind = e->args[ARG_COPY_KIND];
	const char *words = copy_in_words(kind.len > 0 ? kind.text : e->name.text);

	if (words)
		return (struct chrome_text){words, 4, JPULL_STRING};

	if (kind.len == 0 && strncmp(e->name.text, "Memcpy ", 7) == 0) {
		kind.text = e->name.text + 7;
		kind.len = strcspn(kind.text, " (");
	}
	return kind;
}

static int add_copy(struct kineto *k, const struct chrome_event *e, enum event_kind kind)
{
	struct event_detail d = {.bytes = chrome_int(&e->args[ARG_BYTES]), .sequence = SB_NULL};

	if (d.bytes < 0)
		d.bytes = SB_NULL;
	if (kind == EVENT_MEMCPY) {
		struct chrome_text t = copy_kind(e);
		int rc = add_text(k, &t, &d.type);

		if (rc != SB_OK)
			return rc;
	}
	return d.bytes != SB_NULL || d.type != 0 ? trace_append_detail(&k->trace, &d) : SB_OK;
}

/* The stream is called by its number until the lanes get their names. */
static int add_wait(struct kineto *k, const struct chrome_event *e)
{
	struct event_detail d = {.bytes = SB_NULL, .sequence = kineto_correlation(&e->args[ARG_RECORD])};
	int rc = SB_OK;

	if (d.sequence < 0)
		return SB_OK;
	if (chrome_int(&e->args[ARG_RECORD_STREAM]) >= 0)
		rc = add_text(k, &e->args[ARG_RECORD_STREAM], &d.group);
	return rc == SB_OK ? trace_append_detail(&k->trace, &d) : rc;
}

int kineto_detail(struct kineto *k, const struct chrome_event *e, enum event_kind kind)
{
	if (kind == EVENT_HOST_OP)
		return call_stack_add(&k->trace, &e->args[ARG_STACK]);
	if (kind == EVENT_COMMUNICATION)
		return add_collective(k, e);
	if (kind == EVENT_MEMCPY || kind == EVENT_MEMSET)
		return add_copy(k, e, kind);
	if (kind == EVENT_DEVICE_WAIT)
		return add_wait(k, e);
	return SB_OK;
}
