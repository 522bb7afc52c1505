#include "profiler/profile.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
const char *capture_format_name(enum capture_format f)
{
	switch (f) {
	case FORMAT_KINETO: return "kineto";
	case FORMAT_ASCEND_TEXT: return "ascend-pytorch-text";
	case FORMAT_COUNT: break;
	}
	return "unknown";
}

static struct warning *find(struct warnings *w, const char *code, const char *file)
{
	for (size_t i = 0; i < w->count; i++) {
		struct warning *x = &w->items[i];

		if (strncmp(x->code, code, sizeof(x->code) - 1) == 0 &&
		    strncmp(x->file, file, sizeof(x->file) - 1) == 0)
			return x;
	}
	return NULL;
}

void warnings_add(struct warnings *w, const char *code, const char *file, int64_t line, int64_t offset,
                  const char *fmt, ...)
{
	struct warning *x;
	va_list ap;

	if (!file)
		file = "";
	x = find(w, code, file);
	if (x) {
		x->count++;
		return;
	}
	if (w->count == WARNINGS_MAX || sb_grow(&w->items, w->count, sizeof(*x)) != SB_OK) {
		w->dropped++;
		return;
	}
	x = &w->items[w->count++];
	memset(x, 0, sizeof(*x));
	snprintf(x->code, sizeof(x->code), "%s", code);
	snprintf(x->file, sizeof(x->file), "%s", file);
	x->line = line;
	x->offset = offset;
	x->count = 1;
	va_start(ap, fmt);
	vsnprintf(x->detail, sizeof(x->detail), fmt, ap);
	va_end(ap);
}

void warnings_repeat(struct warnings *w, const char *code, const char *file, uint64_t more)
{
	struct warning *x = find(w, code, file ? file : "");

	if (x)
		x->count += more;
}

void capture_free(struct capture *c)
{
	for (size_t i = 0; i < c->communication_count; i++) {
		struct communication_op *op = &c->communications[i];

		for (size_t k = 0; k < op->link_count; k++)
			free(op->links[k].packets);
	}
	free(c->communications);
	free(c->source);
	free(c->steps);
	free(c->kernels);
	free(c->step_traces);
	free(c->apis);
	free(c->op_statistics);
	trace_free(&c->trace);
	*c = (struct capture){.rank = SB_NULL, .world_size = SB_NULL};
}

void profile_free(struct profile *p)
{
	for (size_t i = 0; i < p->count; i++)
		capture_free(&p->captures[i]);
	free(p->captures);
	free(p->warnings.items);
	free(p->left_out);
	*p = (struct profile){0};
}
