#include <stdlib.h>
#include <string.h>

#include "profiler/profile.h"
#include "profiler/timeline.h"

/* A capture may be nothing but a table of kernels. Its rows become a trace of their own, with its own texts:
 * what was read stays as it is. */

struct building {
	const struct capture *c;
	struct trace trace;
	uint32_t *texts; /* id in the capture → id in the trace + 1 */
	uint32_t *lanes; /* id of a core in the capture → lane + 1; one more for all communication */
	size_t text_count;
};

static int text_of(struct building *b, uint32_t id, uint32_t *out)
{
	size_t len;
	const char *text;
	int rc;

	if (id >= b->text_count)
		id = 0;
	if (b->texts[id]) {
		*out = b->texts[id] - 1;
		return SB_OK;
	}
	text = trace_text(&b->c->trace, id, &len);
	rc = sb_strings_add(b->trace.strings, text, len, out);
	if (rc == SB_OK)
		b->texts[id] = *out + 1;
	return rc;
}

static int lane_of(struct building *b, const struct kernel *k, uint32_t *out)
{
	const char *process = k->communication ? "Communication" : "Kernels";
	uint32_t core = k->core < b->text_count ? k->core : 0;
	uint32_t *known = &b->lanes[k->communication ? b->text_count : core];
	struct lane lane = {.device = -1};
	int rc = SB_OK;

	if (*known) {
		*out = *known - 1;
		return SB_OK;
	}
	rc = sb_strings_add(b->trace.strings, process, strlen(process), &lane.process);
	if (rc == SB_OK && !k->communication)
		rc = text_of(b, core, &lane.thread);
	if (rc == SB_OK)
		rc = trace_add_lane(&b->trace, &lane, out);
	if (rc == SB_OK)
		*known = *out + 1;
	return rc;
}

static int add_kernel(struct building *b, const struct kernel *k)
{
	struct event e = {.start_ns = k->start_ns,
	                  .dur_ns = k->dur_ns,
	                  .link = -1,
	                  .kind = k->communication ? EVENT_COMMUNICATION : EVENT_KERNEL};
	int rc;

	if (k->start_ns == SB_NULL || k->dur_ns < 0)
		return SB_OK;
	rc = text_of(b, k->name, &e.name);
	if (rc == SB_OK)
		rc = lane_of(b, k, &e.lane);
	return rc == SB_OK ? trace_append(&b->trace, &e) : rc;
}

static int build(struct building *b)
{
	int rc = trace_init(&b->trace);

	b->text_count = sb_strings_count(b->c->trace.strings);
	b->texts = calloc(b->text_count + 1, sizeof(*b->texts));
	b->lanes = calloc(b->text_count + 1, sizeof(*b->lanes));
	if (!b->texts || !b->lanes)
		return SB_ENOMEM;
	for (size_t i = 0; rc == SB_OK && i < b->c->kernel_count; i++)
		rc = add_kernel(b, &b->c->kernels[i]);
	return rc;
}

int timeline_add_capture(struct timeline_writer *w, const struct capture *c, struct sb_error *err)
{
	struct building b = {.c = c};
	int rc;

	if (c->trace.count > 0 || c->kernel_count == 0)
		return timeline_add(w, &c->trace, c->rank, c->source, err);
	rc = build(&b);
	if (rc == SB_OK)
		rc = timeline_add(w, &b.trace, c->rank, c->source, err);
	else
		rc = sb_fail(err, rc, "side_file", "The table of kernels cannot become a timeline: %s.",
		             sb_strerror(rc));
	trace_free(&b.trace);
	free(b.texts);
	free(b.lanes);
	return rc;
}
