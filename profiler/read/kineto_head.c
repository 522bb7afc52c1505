#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/grow.h"
#include "profiler/read/kineto_impl.h"

static bool is_key(const char *key, size_t len, const char *name)
{
	return strlen(name) == len && memcmp(key, name, len) == 0;
}

/* A non-negative integer, bare or as text, else SB_NULL. */
static int64_t number(const struct jpull_value *v)
{
	int64_t n;

	if ((v->token != JPULL_NUMBER && v->token != JPULL_STRING) ||
	    sb_parse_scaled(v->text, v->len, 0, &n) != SB_OK || n < 0)
		return SB_NULL;
	return n;
}

static int read_distributed(struct kineto *k, struct jpull *j, struct sb_error *err)
{
	struct jpull_value v;

	for (;;) {
		int64_t *to = NULL;
		int rc = jpull_next(j, &v, err);

		if (rc != SB_OK || v.token == JPULL_OBJECT_END)
			return rc;
		if (is_key(v.text, v.len, "rank"))
			to = &k->head.rank;
		else if (is_key(v.text, v.len, "world_size"))
			to = &k->head.world_size;
		if (!to) {
			rc = jpull_drop(j, err);
		} else {
			rc = jpull_next(j, &v, err);
			if (rc == SB_OK) {
				*to = number(&v);
				rc = jpull_skip(j, &v, err);
			}
		}
		if (rc != SB_OK)
			return rc;
	}
}

/* The object as a text, with its quotes escaped. */
static void read_distributed_text(struct kineto *k, const struct jpull_value *text)
{
	JPULL_AUTO j = NULL;
	struct memory_stream m;
	struct jpull_value v;

	memory_stream_init(&m, k->path, text->text, text->len, 0);
	if (jpull_new(&m.base, &j) == SB_OK && jpull_next(j, &v, NULL) == SB_OK && v.token == JPULL_OBJECT)
		(void)read_distributed(k, j, NULL);
}

#define DEVICES_MAX 1024 /* more than any host has */

/* Bytes of memory of one device. Failing, it is not known. */
static void keep_capacity(struct kineto *k, int64_t device, int64_t bytes)
{
	struct kineto_head *h = &k->head;

	if (device < 0 || device >= DEVICES_MAX || bytes == SB_NULL)
		return;
	while (h->capacity_count <= (size_t)device) {
		if (sb_grow(&h->capacities, h->capacity_count, sizeof(*h->capacities)) != SB_OK)
			return;
		h->capacities[h->capacity_count++] = SB_NULL;
	}
	h->capacities[device] = bytes;
}

/* One object of deviceProperties: the first name found is the chip's. */
static int read_device(struct kineto *k, struct jpull *j, struct sb_error *err)
{
	struct jpull_value v;
	int64_t id = SB_NULL, bytes = SB_NULL;

	for (;;) {
		int rc = jpull_next(j, &v, err);
		bool name, memory;

		if (rc == SB_OK && v.token == JPULL_OBJECT_END)
			keep_capacity(k, id, bytes);
		if (rc != SB_OK || v.token == JPULL_OBJECT_END)
			return rc;
		name = is_key(v.text, v.len, "name");
		memory = is_key(v.text, v.len, "totalGlobalMem");
		if (!name && !memory && !is_key(v.text, v.len, "id")) {
			rc = jpull_drop(j, err);
		} else {
			rc = jpull_next(j, &v, err);
			if (rc == SB_OK && name && v.token == JPULL_STRING && k->head.chip[0] == '\0')
				snprintf(k->head.chip, sizeof(k->head.chip), "%.*s",
				         (int)(v.len < sizeof(k->head.chip) ? v.len : sizeof(k->head.chip)),
				         v.text);
			if (rc == SB_OK && !name)
				*(memory ? &bytes : &id) = number(&v);
			if (rc == SB_OK)
				rc = jpull_skip(j, &v, err);
		}
		if (rc != SB_OK)
			return rc;
	}
}

static int read_devices(struct kineto *k, struct jpull *j, struct sb_error *err)
{
	struct jpull_value v;

	for (;;) {
		int rc = jpull_next(j, &v, err);

		if (rc != SB_OK || v.token == JPULL_ARRAY_END)
			return rc;
		rc = v.token == JPULL_OBJECT ? read_device(k, j, err) : jpull_skip(j, &v, err);
		if (rc != SB_OK)
			return rc;
	}
}

int kineto_member(void *self, struct jpull *j, const char *key, size_t len, bool *out_read,
                  struct sb_error *err)
{
	struct kineto *k = self;
	bool base = is_key(key, len, "baseTimeNanoseconds"), info = is_key(key, len, "distributedInfo");
	bool devices = is_key(key, len, "deviceProperties");
	struct jpull_value v;
	int rc;

	if (!base && !info && !devices)
		return SB_OK;
	*out_read = true;
	rc = jpull_next(j, &v, err);
	if (rc != SB_OK)
		return rc;
	if (base) {
		int64_t n = number(&v);

		k->head.base_ns = n == SB_NULL ? 0 : n;
	}
	if (info && v.token == JPULL_OBJECT)
		return read_distributed(k, j, err);
	if (info && v.token == JPULL_STRING)
		read_distributed_text(k, &v);
	if (devices && v.token == JPULL_ARRAY)
		return read_devices(k, j, err);
	return jpull_skip(j, &v, err);
}

int64_t kineto_rank_of_name(const char *path)
{
	const char *name = strrchr(path, '/');

	for (name = name ? name + 1 : path; (name = strcasestr(name, "rank")); name += 4) {
		const char *p = name + 4;
		size_t n;
		int64_t rank;

		if (*p == '-' || *p == '_')
			p++;
		n = strspn(p, "0123456789");
		if (n > 0 && n < 8 && !isalpha((unsigned char)p[n]) && sb_parse_int(p, n, &rank) == SB_OK)
			return rank;
	}
	return SB_NULL;
}

static size_t skip_blanks(const struct sniff *s, size_t at)
{
	while (at < s->len && strchr(" \t\r\n", s->head[at]) && s->head[at])
		at++;
	return at;
}

static bool holds(const struct sniff *s, const char *text)
{
	return memmem(s->head, s->len, text, strlen(text)) != NULL;
}

/* Marks of other JSON documents: an execution trace, a list of rows. */
static bool is_other(const struct sniff *s)
{
	return holds(s, "\"schema\":") && holds(s, "\"nodes\":");
}

int kineto_sniff(const struct sniff *s)
{
	enum { SURE = 50, EMPTY = 20, MAYBE = 10 };
	size_t at = s->len >= 3 && memcmp(s->head, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
	char first, second;

	at = skip_blanks(s, at);
	first = (char)(at < s->len ? s->head[at] : 0);
	at = skip_blanks(s, at + 1);
	second = (char)(at < s->len ? s->head[at] : 0);
	if (first == '[' && second == '{')
		return holds(s, "\"ph\"") ? SURE : s->whole ? 0 : MAYBE;
	if (first == '[')
		return second == ']' ? EMPTY : 0;
	if (first != '{')
		return 0;
	if (second == '}')
		return EMPTY;
	if (holds(s, "\"traceEvents\""))
		return SURE;
	if (second != '"' || s->whole || is_other(s))
		return 0;
	if (holds(s, "\"deviceProperties\"") || holds(s, "\"schemaVersion\"") ||
	    holds(s, "\"baseTimeNanoseconds\"") || holds(s, "\"distributedInfo\""))
		return SURE;
	/* PyTorch lets anybody put metadata in front of the events: they may begin later */
	return MAYBE;
}
