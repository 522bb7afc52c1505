#include "profiler/read/ascend_links.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

static const char *const LINK_NAMES[LINKS_MAX] = {"RDMA", "HCCS", "PCIE", "SDMA", "SIO"};

/* Milliseconds to microseconds: the exponent moves, so that the result is the double nearest to the text. */
static double ms_to_us(const char *text, size_t len)
{
	char shifted[80];
	const char *e = memchr(text, 'e', len);
	size_t mantissa;
	int64_t exponent = 0;
	double v;

	if (!e)
		e = memchr(text, 'E', len);
	mantissa = e ? (size_t)(e - text) : len;
	if (e) {
		size_t skip = mantissa + 1 < len && text[mantissa + 1] == '+' ? 2 : 1;

		if (sb_parse_int(text + mantissa + skip, len - mantissa - skip, &exponent) != SB_OK ||
		    exponent < -400 || exponent > 400)
			return NAN;
	}
	if (mantissa == 0 || mantissa > 40)
		return NAN;
	snprintf(shifted, sizeof(shifted), "%.*se%lld", (int)mantissa, text, (long long)exponent + 3);
	return sb_parse_double(shifted, strlen(shifted), &v) == SB_OK ? v : NAN;
}

static void bad_value(struct communication_reading *r, const char *what)
{
	warnings_add(&r->ctx->profile->warnings, "bad_value", r->in->path, 0, jpull_offset(r->j),
	             "%s cannot be used and is left out.", what);
}

double communication_difference(double us)
{
	return us < 0 && us > -0.0005 ? 0 : us;
}

int communication_us(struct communication_reading *r, double *out)
{
	const char *text;
	size_t len;
	int rc = value_scalar(r->j, &text, &len, r->err);

	if (rc != SB_OK)
		return rc;
	*out = communication_difference(ms_to_us(text, len));
	if (*out < 0) {
		bad_value(r, "A time below zero");
		*out = NAN;
	}
	return SB_OK;
}

/* The value of a packet size: [count, milliseconds]. *out_ok is false when it is something else. */
static int read_pair(struct communication_reading *r, struct packet *p, bool *out_ok)
{
	struct jpull_value v;
	int64_t count = -1;
	size_t n = 0;
	int rc = jpull_next(r->j, &v, r->err);

	*out_ok = false;
	if (rc != SB_OK || v.token != JPULL_ARRAY)
		return rc == SB_OK ? jpull_skip(r->j, &v, r->err) : rc;
	for (;; n++) {
		rc = jpull_next(r->j, &v, r->err);
		if (rc != SB_OK || v.token == JPULL_ARRAY_END)
			break;
		if (n == 0 && (v.token != JPULL_NUMBER || sb_parse_scaled(v.text, v.len, 0, &count) != SB_OK))
			count = -1;
		if (n == 1)
			p->total_us = v.token == JPULL_NUMBER ? ms_to_us(v.text, v.len) : NAN;
		rc = jpull_skip(r->j, &v, r->err);
		if (rc != SB_OK)
			break;
	}
	p->count = count;
	*out_ok = n == 2 && count >= 0 && p->total_us >= 0;
	return rc;
}

static int read_packets(struct communication_reading *r, struct link *l)
{
	struct jpull_value key;
	bool more = false;
	int rc = object_enter(r->j, &more, r->err);

	while (object_member(r->j, &rc, &more, &key, r->err)) {
		struct packet p = {0};
		bool size_ok, ok = false;

		size_ok = sb_parse_scaled(key.text, key.len, 6, &p.bytes) == SB_OK && p.bytes >= 0;
		rc = read_pair(r, &p, &ok);
		if (rc != SB_OK)
			break;
		if (!size_ok || !ok) {
			bad_value(r, "An entry of a size distribution");
			continue;
		}
		if (sb_grow(&l->packets, l->packet_count, sizeof(p)) != SB_OK)
			return sb_fail(r->err, SB_ENOMEM, "no_memory", "out of memory");
		l->packets[l->packet_count++] = p;
	}
	return rc;
}

static int read_bytes(struct communication_reading *r, int64_t *out)
{
	const char *text;
	size_t len;
	int64_t v;
	int rc = value_scalar(r->j, &text, &len, r->err);

	if (rc != SB_OK)
		return rc;
	if (sb_parse_scaled(text, len, 6, &v) == SB_OK && v >= 0)
		*out = v;
	else
		bad_value(r, "A transit size");
	return SB_OK;
}

static int read_ratio(struct communication_reading *r, double *out)
{
	const char *text;
	size_t len;
	int rc = value_scalar(r->j, &text, &len, r->err);

	if (rc == SB_OK)
		(void)sb_parse_double(text, len, out);
	return rc;
}

static int read_link(struct communication_reading *r, struct link *l)
{
	struct jpull_value key;
	bool more = false;
	int rc = object_enter(r->j, &more, r->err);

	while (object_member(r->j, &rc, &more, &key, r->err)) {
		if (key_is(&key, "Transit Size(MB)"))
			rc = read_bytes(r, &l->bytes);
		else if (key_is(&key, "Transit Time(ms)"))
			rc = communication_us(r, &l->transit_us);
		else if (key_is(&key, "Large Packet Ratio"))
			rc = read_ratio(r, &l->large_packet_ratio);
		else if (key_is(&key, "Size Distribution") && l->packet_count == 0)
			rc = read_packets(r, l);
		else
			rc = value_skip(r->j, r->err);
	}
	return rc;
}

const char *communication_link_name(const char *text, size_t len)
{
	for (size_t i = 0; i < LINKS_MAX; i++) {
		if (len == strlen(LINK_NAMES[i]) && memcmp(text, LINK_NAMES[i], len) == 0)
			return LINK_NAMES[i];
	}
	return NULL;
}

static bool has_link(const struct communication_op *op, const char *name)
{
	for (size_t i = 0; i < op->link_count; i++) {
		if (op->links[i].name == name)
			return true;
	}
	return false;
}

int communication_links(struct communication_reading *r, struct communication_op *op)
{
	struct jpull_value key;
	bool more = false;
	int rc = object_enter(r->j, &more, r->err);

	while (object_member(r->j, &rc, &more, &key, r->err)) {
		const char *name;

		name = communication_link_name(key.text, key.len);
		if (!name || has_link(op, name) || op->link_count == LINKS_MAX) {
			bad_value(r, "A link of an unknown or repeated kind");
			rc = value_skip(r->j, r->err);
			continue;
		}
		op->links[op->link_count] = (struct link){
		    .name = name, .bytes = SB_NULL, .transit_us = NAN, .large_packet_ratio = NAN};
		rc = read_link(r, &op->links[op->link_count++]);
		if (op->links[op->link_count - 1].bytes == SB_NULL) {
			bad_value(r, "A link without a size");
			free(op->links[--op->link_count].packets);
		}
	}
	return rc;
}
