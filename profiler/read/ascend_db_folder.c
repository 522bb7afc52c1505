#include <stdlib.h>
#include <string.h>

#include "profiler/read/ascend_db.h"

/* Outside of *_ascend_pt and ASCEND_PROFILER_OUTPUT the databases of many ranks may lie side by side, so each
 * is a capture of its own. One that lies alone belongs to the files beside it: analysis.db,
 * profiler_info.json, the text files. */

struct folders {
	struct sb_strings *texts; /* folders that hold a database of events, and folders that are captures */
	struct folder {
		size_t databases;
		bool capture;
	} * items; /* by text id */
	size_t count;
};

static void folders_free(struct folders *f)
{
	sb_strings_free(&f->texts);
	free(f->items);
}

/* The length of the folder's path; SIZE_MAX when the capture is no database of events that lies by itself. */
static size_t folder_of(const struct capture *c)
{
	const char *base = path_base(c->source);
	bool database = c->format == FORMAT_ASCEND_DB || c->format == FORMAT_MINDSPORE_DB;

	if (!database || (!path_is(base, "ascend_pytorch_profiler", ".db") &&
	                  !path_is(base, "ascend_mindspore_profiler", ".db")))
		return SIZE_MAX;
	return base == c->source ? 0 : (size_t)(base - c->source) - 1;
}

static int find(struct folders *f, const char *text, size_t len, struct folder **out)
{
	uint32_t id;
	int rc = len == 0 ? sb_strings_add(f->texts, ".", 1, &id) : sb_strings_add(f->texts, text, len, &id);

	if (rc != SB_OK)
		return rc;
	while (f->count <= id) {
		if (sb_grow(&f->items, f->count, sizeof(*f->items)) != SB_OK)
			return SB_ENOMEM;
		f->items[f->count++] = (struct folder){0};
	}
	*out = &f->items[id];
	return SB_OK;
}

static int adopt(struct folders *f, struct capture *c)
{
	size_t len = folder_of(c);
	struct folder *folder;
	char *source;
	int rc;

	if (len == SIZE_MAX)
		return SB_OK;
	rc = find(f, c->source, len, &folder);
	if (rc != SB_OK || folder->databases != 1 || !folder->capture)
		return rc;
	source = len == 0 ? strdup(".") : strndup(c->source, len);
	if (!source)
		return SB_ENOMEM;
	free(c->source);
	c->source = source;
	return SB_OK;
}

int db_adopt_folders(struct capture **captures, size_t count)
{
	__attribute__((cleanup(folders_free))) struct folders f = {0};
	int rc = sb_strings_new(&f.texts);

	for (size_t i = 0; rc == SB_OK && i < count; i++) {
		size_t len = folder_of(captures[i]);
		struct folder *folder;

		rc = find(&f, captures[i]->source, len == SIZE_MAX ? strlen(captures[i]->source) : len,
		          &folder);
		if (rc == SB_OK && len == SIZE_MAX)
			folder->capture = true;
		else if (rc == SB_OK)
			folder->databases++;
	}
	for (size_t i = 0; rc == SB_OK && i < count; i++)
		rc = adopt(&f, captures[i]);
	return rc;
}
