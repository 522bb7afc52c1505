#include "profiler/findings/call_site.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/search.h"
#include "profiler/intervals.h"

struct place {
	const struct trace *t;
	struct call_site *sites; /* by start */
	size_t count;
	uint32_t python_lane;   /* of the main thread's frames */
	uint8_t *frame_of_text; /* by text: 0 = not looked at, 1 = not the user's, 2 = the user's */
	size_t text_count;
};

static bool is_user_frame(const char *name)
{
	static const char *const others[] = {"site-packages/", "dist-packages/",   "torch/",
	                                     "torch_npu/",     "lib/python",       "<built-in",
	                                     "nn.Module:",     "<string>",         "mindspore/",
	                                     "importlib",      "multiprocessing/", "threading.py(",
	                                     "contextlib.py(", "runpy.py(",        "tqdm/",
	                                     "apex/",          "<frozen"};

	if (!strstr(name, "): "))
		return false;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strstr(name, others[i]))
			return false;
	return true;
}

static bool is_user(struct place *p, size_t event)
{
	uint32_t id = p->t->name[event];
	uint8_t *known = &p->frame_of_text[id < p->text_count ? id : p->text_count];

	if (!*known)
		*known = is_user_frame(trace_text(p->t, id, NULL)) ? 2 : 1;
	return *known == 2;
}

static int64_t end_of(const struct trace *t, uint32_t event)
{
	return interval_end(t->start_ns[event], t->dur_ns[event]);
}

/* Is `a` further in than `b`? */
static bool is_inner(const struct trace *t, uint32_t a, uint32_t b)
{
	if (b == CALL_SITE_NONE)
		return true;
	if (t->start_ns[a] != t->start_ns[b])
		return t->start_ns[a] > t->start_ns[b];
	if (t->dur_ns[a] != t->dur_ns[b])
		return t->dur_ns[a] < t->dur_ns[b];
	return a > b;
}

static void take_frame(struct place *p, struct call_site *s, uint32_t event)
{
	if (is_inner(p->t, event, s->inner))
		s->inner = event;
	if (!is_user(p, event))
		return;
	if (is_inner(p->t, event, s->frames[0])) {
		s->frames[1] = s->frames[0];
		s->frames[0] = event;
	} else if (is_inner(p->t, event, s->frames[1])) {
		s->frames[1] = event;
	}
}

static void take_operator(struct place *p, struct call_site *s, uint32_t event)
{
	const struct event_detail *d = trace_detail(p->t, event);
	bool first = p->t->kind[s->op] != EVENT_HOST_OP;

	if (d && d->type != 0 && (s->stack == 0 || is_inner(p->t, event, s->stack_op))) {
		s->stack = d->type;
		s->stack_op = event;
	}
	if (strncmp(trace_text(p->t, p->t->name[event], NULL), "aten::", 6) != 0)
		return;
	/* the outermost operator is the one that the user wrote */
	if (first || is_inner(p->t, s->op, event))
		s->op = event;
}

/* One thread has a lane for Python's frames and operators, and on Ascend another for its calls of CANN. */
static bool same_thread(const struct place *p, uint32_t outer, uint32_t inner, bool frame)
{
	const struct trace *t = p->t;
	uint32_t a = t->lane[outer], b = t->lane[inner];

	if (a == b)
		return true;
	if (a >= t->lane_count || b >= t->lane_count)
		return false;
	return (t->lanes[a].thread != 0 && t->lanes[a].thread == t->lanes[b].thread) ||
	       (frame && a == p->python_lane);
}

/* The first site that starts at `time` or later. */
static size_t first_at(const struct place *p, int64_t time)
{
	return SB_BISECT(i, 0, p->count, p->t->start_ns[p->sites[i].event] < time);
}

static void look(struct place *p, uint32_t event)
{
	const struct trace *t = p->t;
	bool frame = t->kind[event] == EVENT_HOST_PYTHON;
	int64_t end = end_of(t, event);

	for (size_t i = first_at(p, t->start_ns[event]); i < p->count; i++) {
		struct call_site *s = &p->sites[i];

		if (t->start_ns[s->event] > end)
			return;
		if (end_of(t, s->event) > end || !same_thread(p, event, s->event, frame))
			continue;
		if (frame)
			take_frame(p, s, event);
		else
			take_operator(p, s, event);
	}
}

/* Kineto numbers Python's threads for itself: their lane is none of the calls'. The main thread has most
 * frames. */
static int find_python_lane(struct place *p)
{
	const struct trace *t = p->t;
	size_t *frames = calloc(t->lane_count + 1, sizeof(*frames));
	uint32_t best = CALL_SITE_NONE;

	if (!frames)
		return SB_ENOMEM;
	for (size_t i = 0; i < t->count; i++)
		if (t->kind[i] == EVENT_HOST_PYTHON && t->lane[i] < t->lane_count)
			frames[t->lane[i]]++;
	for (size_t i = 0; i < t->lane_count; i++)
		if (frames[i] > 0 && (best == CALL_SITE_NONE || frames[i] > frames[best]))
			best = (uint32_t)i;
	/* where calls have frames on lanes of their own none is to be guessed */
	for (size_t i = 0; best != CALL_SITE_NONE && i < t->count; i++)
		if (t->lane[i] == best && t->kind[i] != EVENT_HOST_PYTHON)
			best = CALL_SITE_NONE;
	p->python_lane = best;
	free(frames);
	return SB_OK;
}

struct by_start {
	int64_t start;
	struct call_site site;
};

static int by_start(const void *a, const void *b)
{
	const struct by_start *x = a, *y = b;

	return sb_compare((const int64_t[]){x->start, x->site.event},
	                  (const int64_t[]){y->start, y->site.event}, 2);
}

static int sort_sites(const struct trace *t, struct call_site *sites, size_t count)
{
	struct by_start *items = calloc(count + 1, sizeof(*items));

	if (!items)
		return SB_ENOMEM;
	for (size_t i = 0; i < count; i++)
		items[i] = (struct by_start){t->start_ns[sites[i].event],
		                             {.event = sites[i].event,
		                              .op = sites[i].event,
		                              .frames = {CALL_SITE_NONE, CALL_SITE_NONE},
		                              .inner = CALL_SITE_NONE}};
	qsort(items, count, sizeof(*items), by_start);
	for (size_t i = 0; i < count; i++)
		sites[i] = items[i].site;
	free(items);
	return SB_OK;
}

int call_sites_find(const struct trace *t, struct call_site *sites, size_t count)
{
	struct place p = {.t = t, .sites = sites, .count = count, .text_count = sb_strings_count(t->strings)};
	int rc = sort_sites(t, sites, count);

	if (rc == SB_OK)
		rc = find_python_lane(&p);
	if (rc != SB_OK)
		return rc;
	p.frame_of_text = calloc(p.text_count + 1, 1);
	if (!p.frame_of_text)
		return SB_ENOMEM;
	for (size_t i = 0; i < t->count; i++)
		if (t->kind[i] == EVENT_HOST_PYTHON || t->kind[i] == EVENT_HOST_OP)
			look(&p, (uint32_t)i);
	free(p.frame_of_text);
	return SB_OK;
}

/* Appends "a < b" without directories, as far as there is room; never half a character. */
static void append(char *out, size_t *len, const char *text, size_t n)
{
	size_t room = CALL_SITE_TEXT_MAX - 1 - *len;
	const char *paren = memchr(text, '(', n);
	size_t path = paren ? (size_t)(paren - text) : 0;

	for (size_t i = path; i > 0; i--) {
		if (text[i - 1] == '/' || text[i - 1] == '\\') {
			text += i;
			n -= i;
			break;
		}
	}
	if (*len > 0) {
		if (room < 4)
			return;
		for (size_t i = 0; i < 3; i++)
			out[*len + i] = " < "[i];
		*len += 3;
		room -= 3;
	}
	if (n > room) {
		n = room;
		while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80)
			n--;
	}
	memcpy(out + *len, text, n);
	*len += n;
}

/* The frames of a stack as written stand innermost first, divided by ';' and line breaks. */
static void append_stack(char *out, size_t *len, const char *stack)
{
	size_t taken = 0;

	while (*stack && taken < CALL_SITE_FRAMES) {
		size_t n = strcspn(stack, ";\r\n");
		char frame[512];

		snprintf(frame, sizeof(frame), "%.*s", (int)(n < sizeof(frame) ? n : sizeof(frame) - 1),
		         stack);
		if (is_user_frame(frame)) {
			append(out, len, frame, strlen(frame));
			taken++;
		}
		stack += n;
		stack += strspn(stack, ";\r\n ");
	}
}

static void append_name(const struct trace *t, uint32_t event, char *out, size_t *len)
{
	size_t n;
	const char *name = trace_text(t, t->name[event], &n);

	append(out, len, name, n);
}

void call_site_text(const struct trace *t, const struct call_site *s, char out[CALL_SITE_TEXT_MAX])
{
	size_t len = 0;

	append_name(t, s->op, out, &len);
	for (size_t i = 0; i < CALL_SITE_FRAMES && s->frames[i] != CALL_SITE_NONE; i++)
		append_name(t, s->frames[i], out, &len);
	if (s->frames[0] == CALL_SITE_NONE && s->stack != 0)
		append_stack(out, &len, trace_text(t, s->stack, NULL));
	else if (s->frames[0] == CALL_SITE_NONE && s->inner != CALL_SITE_NONE)
		append_name(t, s->inner, out, &len);
	out[len] = '\0';
}
