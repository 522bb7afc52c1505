#include "profiler/collectives.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/grow.h"
#include "base/search.h"
#include "profiler/activity.h"
#include "profiler/collectives_parts.h"
#include "profiler/kernel_name.h"

/* An operator of communication.json, to be found by its name. */
struct named {
	uint32_t name, at;
	int64_t step;
};

/* One capture while it is read. */
struct source {
	const struct capture *c;
	uint32_t capture;
	size_t first_member;
	struct named *operations; /* by name, step, place */
	size_t operation_count;
	struct launches launches;
	struct step_windows windows;
};

static void source_free(struct source *s)
{
	free(s->operations);
	launches_free(&s->launches);
	step_windows_free(&s->windows);
}

static int by_name_and_step(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	const int64_t left[] = {x->name, x->step, x->at}, right[] = {y->name, y->step, y->at};

	return sb_compare(left, right, 3);
}

static int source_open(struct source *s, bool events)
{
	const struct capture *c = s->c;
	int rc = SB_OK;

	s->operations = calloc(c->communication_count + 1, sizeof(*s->operations));
	if (!s->operations)
		return SB_ENOMEM;
	for (size_t i = 0; i < c->communication_count && i < COLLECTIVE_NONE; i++)
		s->operations[s->operation_count++] =
		    (struct named){c->communications[i].name, (uint32_t)i, c->communications[i].step};
	qsort(s->operations, s->operation_count, sizeof(*s->operations), by_name_and_step);
	if (events && !capture_is_ascend(c))
		rc = launches_build(&c->trace, &s->launches);
	if (events && rc == SB_OK)
		rc = step_windows_build(c, &s->windows);
	return rc;
}

/* The operator of this name in this step; in any step if there is but one. COLLECTIVE_NONE if that is not
 * clear. */
static uint32_t find_operation(const struct source *s, uint32_t name, int64_t step)
{
	uint32_t found = COLLECTIVE_NONE;
	size_t all = 0, here = 0, at = SB_BISECT(i, 0, s->operation_count, s->operations[i].name < name);

	/* a name that stands there very often says nothing */
	for (; at < s->operation_count && s->operations[at].name == name && all < 1024; at++, all++) {
		if (s->operations[at].step == step) {
			found = s->operations[at].at;
			here++;
		} else if (here == 0) {
			found = s->operations[at].at;
		}
	}
	return here == 1 || (here == 0 && all == 1) ? found : COLLECTIVE_NONE;
}

static int member_of(struct drafts *d, const struct source *s, int32_t device, uint32_t *out)
{
	for (size_t i = s->first_member; i < d->out.member_count; i++) {
		if (d->out.members[i].device == device) {
			*out = (uint32_t)i;
			return SB_OK;
		}
	}
	if (sb_grow(&d->out.members, d->out.member_count, sizeof(*d->out.members)) != SB_OK)
		return SB_ENOMEM;
	*out = (uint32_t)d->out.member_count;
	d->out.members[d->out.member_count++] = (struct collective_member){s->capture, device};
	return SB_OK;
}

/* How many ranks "[0, 1, 2]" names; SB_NULL when it names none or leaves some out. */
static int64_t listed(const char *ranks)
{
	int64_t n = 0;

	if (strstr(ranks, ".."))
		return SB_NULL;
	for (const char *p = ranks; *p; p++)
		n += *p >= '0' && *p <= '9' && (p == ranks || p[-1] < '0' || p[-1] > '9');
	return n > 0 ? n : SB_NULL;
}

static int domain_of(struct drafts *d, const char *group, size_t group_len, const char *ranks,
                     size_t ranks_len, uint32_t *out)
{
	struct collective_domain domain = {.listed = listed(ranks)};
	struct sb_strings *texts = d->out.texts;
	char *both = malloc(group_len + ranks_len + 2);
	uint32_t id = 0;
	int rc;

	if (!both)
		return SB_ENOMEM;
	/* two groups of one name are two when other ranks are in them */
	memcpy(both, group, group_len);
	both[group_len] = '\n';
	memcpy(both + group_len + 1, ranks, ranks_len);
	rc = sb_strings_add(texts, both, group_len + 1 + ranks_len, &id);
	free(both);
	while (rc == SB_OK && d->domain_texts <= id) {
		rc = sb_grow(&d->domain_of_text, d->domain_texts, sizeof(*d->domain_of_text));
		if (rc == SB_OK)
			d->domain_of_text[d->domain_texts++] = 0;
	}
	if (rc == SB_OK && d->domain_of_text[id] == 0) {
		rc = sb_strings_add(texts, group, group_len, &domain.group);
		if (rc == SB_OK)
			rc = sb_strings_add(texts, ranks, ranks_len, &domain.ranks);
		if (rc == SB_OK)
			rc = sb_grow(&d->out.domains, d->out.domain_count, sizeof(domain));
		if (rc == SB_OK) {
			d->out.domains[d->out.domain_count++] = domain;
			d->domain_of_text[id] = (uint32_t)d->out.domain_count;
		}
	}
	if (rc == SB_OK)
		*out = d->domain_of_text[id] - 1;
	return rc;
}

/* The parts of HCCL's names: "hcom_allReduce__586_0_1" is the operator 0 of the group whose name ends in 586.
 */
struct hccl_name {
	const char *group;
	size_t group_len;
	const char *what, *tail; /* the kind of operator; what stands behind it */
	size_t what_len;
};

static bool hccl_split(const char *text, struct hccl_name *out)
{
	const char *mark = strstr(text, "__");

	if (strncmp(text, "hcom_", 5) != 0 || !mark || mark < text + 5)
		return false;
	out->what = text + 5;
	out->what_len = (size_t)(mark - out->what);
	out->tail = mark;
	out->group = mark + 2;
	out->group_len = strcspn(out->group, "_");
	return true;
}

static bool is_text(const char *text, size_t len, const char *word)
{
	return len == strlen(word) && strncasecmp(text, word, len) == 0;
}

static bool is_send(const char *text, size_t len)
{
	return is_text(text, len, "send") || is_text(text, len, "isend");
}

static bool is_receive(const char *text, size_t len)
{
	return is_text(text, len, "receive") || is_text(text, len, "recv") || is_text(text, len, "irecv");
}

/* A name that both ends of a pair share. */
static int name_pair(struct drafts *d, struct draft *x, const char *tail)
{
	char name[256];

	(void)snprintf(name, sizeof(name), "p2p%s", tail);
	x->pair = true;
	return sb_strings_add(d->out.texts, name, strlen(name), &x->what);
}

/* HCCL's name holds all of it: kind, group and number. */
static int name_hccl(struct drafts *d, struct draft *x, const char *text, size_t len,
                     const struct hccl_name *h)
{
	x->item.sends = is_send(h->what, h->what_len);
	if (x->item.sends || is_receive(h->what, h->what_len))
		return name_pair(d, x, h->tail);
	return sb_strings_add(d->out.texts, text, len, &x->what);
}

static int name_other(struct drafts *d, struct draft *x, const struct capture *c, uint32_t name,
                      const struct event_detail *detail)
{
	size_t len;
	const char *text = trace_text(&c->trace, detail && detail->type ? detail->type : name, &len);
	char type[1024];

	x->item.sends = is_send(text, len);
	if (x->item.sends || is_receive(text, len))
		return name_pair(d, x, "");
	if (detail && detail->type) {
		x->number = detail->sequence;
		return sb_strings_add(d->out.texts, text, len, &x->what);
	}
	len = kernel_type(text, len, type, sizeof(type));
	return sb_strings_add(d->out.texts, type, len, &x->what);
}

/* Completes a draft by names, and adds it. */
static int add(struct drafts *d, const struct source *s, struct draft *x, uint32_t name, int32_t device,
               const struct event_detail *detail)
{
	const struct capture *c = s->c;
	size_t len, group_len, ranks_len;
	const char *text = trace_text(&c->trace, name, &len);
	const char *group = trace_text(&c->trace, detail ? detail->group : 0, &group_len);
	const char *ranks = trace_text(&c->trace, detail ? detail->ranks : 0, &ranks_len);
	struct hccl_name h = {0};
	bool hccl = hccl_split(text, &h);
	int rc;

	x->number = SB_NULL;
	x->direction = -1;
	if (x->item.source != COLLECTIVE_OPERATION)
		x->item.operation = find_operation(s, name, x->item.step);
	if (hccl) {
		group = h.group;
		group_len = h.group_len;
	}
	if (x->item.operation != COLLECTIVE_NONE && c->communications[x->item.operation].group != 0)
		group = trace_text(&c->trace, c->communications[x->item.operation].group, &group_len);
	rc = domain_of(d, group, group_len, ranks, ranks_len, &x->domain);
	if (rc == SB_OK)
		rc = hccl ? name_hccl(d, x, text, len, &h) : name_other(d, x, c, name, detail);
	if (rc == SB_OK)
		rc = member_of(d, s, device, &x->item.member);
	if (rc == SB_OK)
		rc = sb_grow(&d->items, d->count, sizeof(*x));
	if (rc == SB_OK)
		d->items[d->count++] = *x;
	return rc;
}

static int add_events(struct drafts *d, const struct source *s)
{
	const struct trace *t = &s->c->trace;
	int rc = SB_OK;

	for (size_t i = 0; i < t->count && rc == SB_OK; i++) {
		const struct event_detail *detail;
		struct draft x = {.item = {.source = COLLECTIVE_EVENT, .index = (uint32_t)i}};

		if (t->kind[i] != EVENT_COMMUNICATION)
			continue;
		detail = trace_detail(t, (uint32_t)i);
		x.item.step = collective_step(s->c, &s->launches, &s->windows, i);
		x.item.start_ns = t->start_ns[i];
		x.item.dur_ns = t->dur_ns[i];
		x.item.bytes = detail && detail->bytes >= 0 ? detail->bytes : SB_NULL;
		rc = add(d, s, &x, t->name[i], t->lanes[t->lane[i]].device, detail);
	}
	return rc;
}

static int add_kernels(struct drafts *d, const struct source *s)
{
	int rc = SB_OK;

	for (size_t i = 0; i < s->c->kernel_count && i < COLLECTIVE_NONE && rc == SB_OK; i++) {
		const struct kernel *k = &s->c->kernels[i];
		struct draft x = {.item = {.source = COLLECTIVE_KERNEL,
		                           .index = (uint32_t)i,
		                           .step = k->step,
		                           .start_ns = k->start_ns,
		                           .dur_ns = k->dur_ns,
		                           .bytes = SB_NULL}};

		/* the reduces of a step trace have no name */
		if (k->communication && k->origin != KERNEL_REDUCE)
			rc = add(d, s, &x, k->name, -1, NULL);
	}
	return rc;
}

static int add_operations(struct drafts *d, const struct source *s)
{
	int rc = SB_OK;

	for (size_t i = 0; i < s->c->communication_count && i < COLLECTIVE_NONE && rc == SB_OK; i++) {
		const struct communication_op *op = &s->c->communications[i];
		/* MindInsight tells the two parts, and no whole */
		double ns = (isnan(op->elapse_us) ? op->transit_us + op->wait_us : op->elapse_us) * 1000;
		struct draft x = {.item = {.source = COLLECTIVE_OPERATION,
		                           .index = (uint32_t)i,
		                           .operation = (uint32_t)i,
		                           .step = op->step,
		                           .start_ns = SB_NULL,
		                           .bytes = SB_NULL}};

		/* a length is what is compared: an operator without one says nothing */
		if (!(ns >= 0) || ns > 9e18)
			continue;
		x.item.dur_ns = (int64_t)ns;
		rc = add(d, s, &x, op->name, -1, NULL);
	}
	return rc;
}

int collectives_collect(struct drafts *d, const struct profile *p, uint32_t capture)
{
	__attribute__((cleanup(source_free))) struct source s = {
	    .c = &p->captures[capture], .capture = capture, .first_member = d->out.member_count};
	bool events = false, kernels = false;
	int rc;

	for (size_t i = 0; i < s.c->trace.count && !events; i++)
		events = s.c->trace.kind[i] == EVENT_COMMUNICATION;
	for (size_t i = 0; i < s.c->kernel_count && !events && !kernels; i++)
		kernels = s.c->kernels[i].communication && s.c->kernels[i].origin != KERNEL_REDUCE;
	if (!events && !kernels && s.c->communication_count == 0)
		return SB_OK;
	rc = source_open(&s, events);
	if (rc != SB_OK)
		return rc;
	if (events)
		return add_events(d, &s);
	return kernels ? add_kernels(d, &s) : add_operations(d, &s);
}
