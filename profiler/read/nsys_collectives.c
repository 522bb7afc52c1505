#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/search.h"
#include "profiler/activity.h"
#include "profiler/read/nsys_impl.h"

/* A range of the host that names what NCCL was asked for. */
struct asked {
	uint32_t lane;
	int64_t start, end;
	const char *what; /* static */
	size_t outer;     /* place + 1 of the innermost that was open when it began; 0 = none */
};

struct asked_list {
	struct asked *items; /* by lane and start, the longer first */
	size_t count;
};

static void asked_free(struct asked_list *l)
{
	free(l->items);
}

static bool has(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

/* "ncclRecv", "nccl:recv 1<-0", "c10d::alltoall_base_" … NULL: not told, as of a batch of sends and receives.
 */
static const char *operation_of(const char *name)
{
	char plain[64];
	size_t n = 0;
	bool send, receive;

	for (; *name && n + 1 < sizeof(plain); name++)
		if (*name != '_')
			plain[n++] = (char)tolower((unsigned char)*name);
	plain[n] = '\0';
	if (!has(plain, "nccl") && !has(plain, "c10d"))
		return NULL;
	if (has(plain, "alltoall"))
		return "all_to_all";
	send = has(plain, "send");
	receive = has(plain, "recv");
	return send == receive ? NULL : send ? "send" : "recv";
}

static int by_place(const void *a, const void *b)
{
	const struct asked *x = a, *y = b;

	return sb_compare((const int64_t[]){x->lane, x->start, y->end},
	                  (const int64_t[]){y->lane, y->start, x->end}, 3);
}

static void find_outer(struct asked_list *l)
{
	for (size_t i = 1; i < l->count; i++) {
		struct asked *a = &l->items[i];
		size_t open = l->items[i - 1].lane == a->lane ? i : 0;

		while (open > 0 && l->items[open - 1].end < a->start)
			open = l->items[open - 1].outer;
		a->outer = open;
	}
}

/* Texts are few and ranges many: each is looked at once. */
static int list_asked(const struct trace *t, struct asked_list *out)
{
	size_t texts = sb_strings_count(t->strings);
	const char **what = calloc(texts + 1, sizeof(*what));
	int rc = what ? SB_OK : SB_ENOMEM;

	for (size_t i = 0; i < texts && rc == SB_OK; i++)
		what[i] = operation_of(trace_text(t, (uint32_t)i, NULL));
	for (size_t i = 0; i < t->count && rc == SB_OK; i++) {
		bool range = t->kind[i] == EVENT_HOST_ANNOTATION || t->kind[i] == EVENT_HOST_OP;

		if (!range || !what[t->name[i]])
			continue;
		rc = sb_grow(&out->items, out->count, sizeof(*out->items));
		if (rc == SB_OK)
			out->items[out->count++] =
			    (struct asked){t->lane[i], t->start_ns[i],
			                   sb_add_sat(t->start_ns[i], t->dur_ns[i]), what[t->name[i]], 0};
	}
	free(what);
	if (out->count > 0)
		qsort(out->items, out->count, sizeof(*out->items), by_place);
	find_outer(out);
	return rc;
}

/* PyTorch's operator, its mark and NCCL's are three; no bound would be quadratic in a file of nothing but
 * nested ranges. */
#define NESTED_MAX 8

/* The innermost range of a thread that holds the time: of the group of sends and receives that an exchange
 * with all consists of, none does when the group is launched, and what lies around them does. */
static const char *asked_at(const struct asked_list *l, uint32_t lane, int64_t time)
{
	size_t at =
	    SB_BISECT(i, 0, l->count,
	              l->items[i].lane < lane || (l->items[i].lane == lane && l->items[i].start <= time));

	if (at > 0 && l->items[at - 1].lane != lane)
		return NULL;
	for (int depth = 0; at > 0 && depth < NESTED_MAX; depth++, at = l->items[at - 1].outer)
		if (l->items[at - 1].end >= time)
			return l->items[at - 1].what;
	return NULL;
}

/* Puts new details, which are in order, between those that are there. */
static int insert(struct trace *t, const struct event_detail *more, size_t count)
{
	struct event_detail *all = calloc(t->detail_count + count + 1, sizeof(*all));
	size_t n = 0, at = 0;

	if (!all)
		return SB_ENOMEM;
	for (size_t i = 0; i < t->detail_count; i++) {
		while (at < count && more[at].event < t->details[i].event)
			all[n++] = more[at++];
		all[n++] = t->details[i];
	}
	while (at < count)
		all[n++] = more[at++];
	free(t->details);
	t->details = all;
	t->detail_count = n;
	t->detail_capacity = t->detail_count;
	return SB_OK;
}

static int name_one(struct trace *t, const struct asked_list *asked, const struct launches *launches,
                    size_t i, struct event_detail *out)
{
	const struct launch *l = launches_find(launches, t->link[i]);
	const char *what = l ? asked_at(asked, t->lane[l->event], l->start) : NULL;

	*out = (struct event_detail){.event = (uint32_t)i, .bytes = SB_NULL, .sequence = SB_NULL};
	return what ? sb_strings_add(t->strings, what, strlen(what), &out->type) : SB_OK;
}

int nsys_name_collectives(struct trace *t)
{
	__attribute__((cleanup(asked_free))) struct asked_list asked = {0};
	LAUNCHES_AUTO launches = {0};
	struct event_detail *more = NULL;
	size_t count = 0;
	int rc = list_asked(t, &asked);

	if (rc != SB_OK || asked.count == 0)
		return rc;
	rc = launches_build(t, &launches);
	for (size_t i = 0; i < t->count && rc == SB_OK; i++) {
		struct event_detail d;

		if (t->kind[i] != EVENT_COMMUNICATION || !has(trace_text(t, t->name[i], NULL), "SendRecv") ||
		    trace_detail(t, (uint32_t)i))
			continue;
		rc = name_one(t, &asked, &launches, i, &d);
		if (rc == SB_OK && d.type != 0)
			rc = sb_grow(&more, count, sizeof(*more));
		if (rc == SB_OK && d.type != 0)
			more[count++] = d;
	}
	if (rc == SB_OK && count > 0)
		rc = insert(t, more, count);
	free(more);
	return rc;
}
