#include <stdio.h>
#include <string.h>

#include "profiler/read/collect.h"

/* Why nothing of an upload could be used, as well as it can be told. */

/* What to call the capture without events: one at the root of the upload has no name but that of its file. */
static const char *empty_name(const struct partials *p, const struct gathering *g)
{
	/* a file sent alone is better known to the user than the capture that was made of it */
	for (size_t i = 0; (strcmp(g->empty, ".") == 0 || p->count == 1) && i < p->count; i++) {
		const struct partial *n = p->items[i];

		if (n->file && !n->unknown && !n->left_out && !n->failed)
			return n->path;
	}
	return g->empty;
}

/* A capture without events, and a file beside it that might have had some. */
static int no_events(const struct partials *partials, const struct gathering *g, struct sb_error *err)
{
	const struct profile *p = &g->profile;
	const char *name = empty_name(partials, g);

	for (size_t i = 0; i < p->left_out_count; i++) {
		const struct left_out *l = &p->left_out[i];

		if (strcmp(l->file, g->empty) != 0)
			return sb_fail_at(
			    err, SB_EFORMAT, "no_events", name, 0, -1,
			    "The capture holds no events. Left out, for example, is %.120s: %s.", l->file,
			    l->reason);
	}
	if (p->warnings.count > 0)
		return sb_fail_at(err, SB_EFORMAT, "no_events", name, p->warnings.items[0].line, -1,
		                  "The capture holds no events. The first flaw: %.200s",
		                  p->warnings.items[0].detail);
	return sb_fail_at(err, SB_EFORMAT, "no_events", name, 0, -1, "The capture holds no events%s.",
	                  g->sums_only ? ": op_statistic.csv has sums only, send trace_view.json or "
	                                 "kernel_details.csv with it"
	                               : ": what was sent only describes it. Send the whole directory that "
	                                 "the profiler wrote");
}

/* Whose files are read, each writer once. */
static void what_is_read(char *out, size_t size)
{
	size_t n = 0;

	for (int f = 0; f < FORMAT_COUNT && n < size; f++) {
		const char *writer = capture_format_facts(f)->writer;

		if (f == 0 || strcmp(writer, capture_format_facts(f - 1)->writer) != 0)
			n += (size_t)snprintf(out + n, size - n, "%s%s", f > 0 ? ", " : "", writer);
	}
}

static const struct partial *first_unknown(const struct partials *p)
{
	const struct partial *found = NULL;

	for (size_t i = 0; i < p->count; i++) {
		const struct partial *n = p->items[i];

		/* a database is what a capture without text files holds */
		if (n->unknown && (!found || (n->database && !found->database)))
			found = n;
	}
	return found;
}

static const struct partial *first_failed(const struct partials *p)
{
	for (size_t i = 0; i < p->count; i++) {
		if (p->items[i]->failed)
			return p->items[i];
	}
	return NULL;
}

int nothing_used(const struct partials *p, const struct gathering *g, struct sb_error *err)
{
	const struct partial *failed = first_failed(p), *unknown = first_unknown(p);
	char formats[240] = "";

	if (failed) {
		if (err)
			*err = *failed->failed;
		return failed->failed->code == SB_ELIMIT ? SB_EFORMAT : failed->failed->code;
	}
	if (g->empty[0] != '\0' && !(unknown && unknown->database))
		return no_events(p, g, err);
	what_is_read(formats, sizeof(formats));
	if (unknown)
		return sb_fail_at(
		    err, SB_EFORMAT, "unknown_format", unknown->path, 0, -1,
		    "%.150s Signalbox reads what these write: %s; as files, directories, gzip, zip or tar.",
		    unknown->left_out, formats);
	if (g->profile.left_out_count > 0)
		return sb_fail_at(err, SB_EFORMAT, "no_profile", g->profile.left_out[0].file, 0, -1,
		                  "None of the files can be used: %s.", g->profile.left_out[0].reason);
	/* groups of ranks, say, that belong to nothing */
	for (size_t i = 0; i < p->count; i++)
		if (p->items[i]->file)
			return sb_fail_at(
			    err, SB_EFORMAT, "no_events", p->items[i]->path, 0, -1,
			    "The file only describes a capture. Send the whole directory that the "
			    "profiler wrote.");
	return sb_fail(err, SB_EFORMAT, "empty", "The upload holds no file.");
}
