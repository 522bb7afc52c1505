#include <stdio.h>
#include <string.h>

#include "profiler/read/collect.h"
#include "profiler/read/database.h"

/* Why nothing of an upload could be used, as well as it can be told. */

/* What to call the capture without events: one at the root of the upload has no name but that of its file. */
static const char *empty_name(const struct partials *p, const struct gathering *g)
{
	for (size_t i = 0; strcmp(g->empty, ".") == 0 && i < p->count; i++) {
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
			return sb_fail_at(err, SB_EFORMAT, "no_events", name, 0, -1,
			                  "the profile holds no events; left out, for example, %.120s: %s",
			                  l->file, l->reason);
	}
	return sb_fail_at(err, SB_EFORMAT, "no_events", name, 0, -1, "the profile holds no events%s",
	                  g->sums_only ? ": op_statistic.csv has sums only, send trace_view.json or "
	                                 "kernel_details.csv with it"
	                               : "");
}

/* The formats of the table of readers, and the databases. */
static void what_is_read(char *out, size_t size)
{
	bool told[FORMAT_COUNT] = {false};
	size_t n = 0;

	for (size_t i = 0; FORMAT_READERS[i] && n < size; i++) {
		enum capture_format f = FORMAT_READERS[i]->format;

		if ((unsigned)f < FORMAT_COUNT && !told[f])
			n += (size_t)snprintf(out + n, size - n, "%s%s", n > 0 ? ", " : "",
			                      capture_format_name(f));
		if ((unsigned)f < FORMAT_COUNT)
			told[f] = true;
	}
	for (size_t i = 0; DATABASE_FORMATS[i] && n < size; i++)
		n +=
		    (size_t)snprintf(out + n, size - n, "%s%s", n > 0 ? ", " : "", DATABASE_FORMATS[i]->name);
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
		return sb_fail_at(err, SB_EFORMAT, "unknown_format", unknown->path, 0, -1,
		                  "%.130s Read are %s: files, directories, gzip, zip and tar.",
		                  unknown->left_out, formats);
	if (g->profile.left_out_count > 0)
		return sb_fail_at(err, SB_EFORMAT, "no_profile", g->profile.left_out[0].file, 0, -1,
		                  "none of the files can be used: %s", g->profile.left_out[0].reason);
	return sb_fail(err, SB_EFORMAT, "empty", "the upload holds no file");
}
