#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/num.h"
#include "base/search.h"
#include "profiler/intervals.h"
#include "profiler/kernel_name.h"
#include "profiler/layers/order.h"

/* What is read out of a name, once for each name. */
struct reading {
	uint64_t scope;
	uint32_t class;
	uint8_t phase;
	bool read, tells;
};

/* "nn.Module: BertLayer_3", or a user's range "layer 3", "decoder_block.3": the type, and its number. */
static int read_layer(const char *text, bool python, struct sb_strings *texts, struct reading *out)
{
	static const char module[] = "nn.Module: ";
	size_t len = strlen(text), stem;

	if (python && strncmp(text, module, sizeof(module) - 1) != 0)
		return SB_OK;
	if (!python && !name_has(text, "layer") && !name_has(text, "block"))
		return SB_OK;
	if (python)
		text += sizeof(module) - 1;
	len = stem = strlen(text);
	while (stem > 0 && text[stem - 1] >= '0' && text[stem - 1] <= '9')
		stem--;
	if (stem == len || stem == 0)
		return SB_OK;
	out->scope = token_of(TOKEN_START, text, len);
	while (stem > 0 && strchr(" _.:#[", text[stem - 1]))
		stem--;
	out->tells = true;
	return sb_strings_add(texts, text, stem, &out->class);
}

/* Names of PyTorch's profiler: its autograd engine wraps each node, its optimizers mark their step. */
static int read_name(const char *text, uint8_t kind, struct sb_strings *texts, struct reading *out)
{
	out->read = true;
	if (kind == EVENT_HOST_OP && (strncmp(text, "autograd::", 10) == 0 || strstr(text, "Backward")))
		out->phase = PHASE_BACKWARD;
	else if (strncmp(text, "Optimizer.", 10) == 0)
		out->phase = PHASE_OPTIMIZER;
	else if (kind != EVENT_HOST_OP)
		return read_layer(text, kind == EVENT_HOST_PYTHON, texts, out);
	out->tells = out->phase != PHASE_UNKNOWN;
	return SB_OK;
}

static int by_lane(const void *a, const void *b)
{
	const struct host_span *x = a, *y = b;

	return sb_compare((const int64_t[]){x->lane, x->start, -x->end, (int64_t)(x->scope >> 1)},
	                  (const int64_t[]){y->lane, y->start, -y->end, (int64_t)(y->scope >> 1)}, 4);
}

static int add_span(struct host_spans *s, const struct host_span *x)
{
	bool layer = x->phase == PHASE_UNKNOWN;
	struct host_span **list = layer ? &s->layers : &s->phases;
	size_t *count = layer ? &s->layer_count : &s->phase_count;

	if (sb_grow(list, *count, sizeof(**list)) != SB_OK)
		return SB_ENOMEM;
	(*list)[(*count)++] = *x;
	return SB_OK;
}

static void keep_outermost(struct host_spans *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->phase_count; i++)
		if (kept == 0 || s->phases[i].lane != s->phases[kept - 1].lane ||
		    s->phases[i].start >= s->phases[kept - 1].end)
			s->phases[kept++] = s->phases[i];
	s->phase_count = kept;
}

static bool may_tell(uint8_t kind)
{
	return kind == EVENT_HOST_OP || kind == EVENT_HOST_PYTHON || kind == EVENT_HOST_ANNOTATION;
}

static int list_spans(const struct trace *t, struct reading *readings, struct sb_strings *texts,
                      struct host_spans *s)
{
	int rc = SB_OK;

	for (size_t i = 0; i < t->count && rc == SB_OK; i++) {
		struct reading *r = &readings[t->name[i]];

		if (!may_tell(t->kind[i]))
			continue;
		s->operators |= t->kind[i] == EVENT_HOST_OP;
		if (!r->read)
			rc = read_name(trace_text(t, t->name[i], NULL), t->kind[i], texts, r);
		if (rc == SB_OK && r->tells)
			rc =
			    add_span(s, &(struct host_span){.start = interval_bound(t->start_ns[i]),
			                                    .end = interval_end(t->start_ns[i], t->dur_ns[i]),
			                                    .lane = t->lane[i],
			                                    .class = r->class,
			                                    .scope = r->scope,
			                                    .phase = r->phase});
	}
	return rc;
}

int host_spans_find(const struct trace *t, struct sb_strings *texts, struct host_spans *out)
{
	struct reading *readings = calloc(sb_strings_count(t->strings) + 1, sizeof(*readings));
	struct host_spans s = {0};
	int rc = readings ? list_spans(t, readings, texts, &s) : SB_ENOMEM;

	free(readings);
	if (rc != SB_OK) {
		host_spans_free(&s);
		return rc;
	}
	if (s.phase_count > 0)
		qsort(s.phases, s.phase_count, sizeof(*s.phases), by_lane);
	if (s.layer_count > 0)
		qsort(s.layers, s.layer_count, sizeof(*s.layers), by_lane);
	keep_outermost(&s);
	*out = s;
	return SB_OK;
}

void host_spans_free(struct host_spans *s)
{
	free(s->phases);
	free(s->layers);
	*s = (struct host_spans){0};
}

const struct host_span *host_span_before(const struct host_span *spans, size_t count, uint32_t lane,
                                         int64_t time)
{
	size_t at =
	    SB_BISECT(i, 0, count, spans[i].lane < lane || (spans[i].lane == lane && spans[i].start <= time));

	return at > 0 && spans[at - 1].lane == lane ? &spans[at - 1] : NULL;
}

const struct host_span *host_span_at(const struct host_span *spans, size_t count, uint32_t lane, int64_t time)
{
	const struct host_span *x = host_span_before(spans, count, lane, time);

	return x && time < x->end ? x : NULL;
}
