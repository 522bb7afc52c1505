#include <stdlib.h>

#include "profiler/timeline_parts.h"

static void use(struct timeline_texts *x, uint32_t id)
{
	if (id < x->count)
		x->ids[id] = 1;
}

static void use_all(const struct trace *t, struct timeline_texts *x)
{
	for (size_t i = 0; i < t->count; i++)
		use(x, t->name[i]);
	for (size_t i = 0; i < t->lane_count; i++) {
		use(x, t->lanes[i].process);
		use(x, t->lanes[i].thread);
	}
	for (size_t i = 0; i < t->detail_count; i++) {
		use(x, t->details[i].type);
		use(x, t->details[i].group);
		use(x, t->details[i].ranks);
	}
}

int timeline_texts(const struct trace *t, struct timeline_texts *out)
{
	struct timeline_texts x = {.count = sb_strings_count(t->strings)};

	x.ids = calloc(x.count + 1, sizeof(*x.ids));
	if (!x.ids)
		return SB_ENOMEM;
	use_all(t, &x);
	/* 0 is the empty text, and any that is not used */
	x.ids[0] = 0;
	x.used = 1;
	for (size_t i = 1; i < x.count; i++)
		x.ids[i] = x.ids[i] ? x.used++ : 0;
	*out = x;
	return SB_OK;
}

static int add_starts(const struct trace *t, const struct timeline_texts *x, struct chunkfile_writer *file,
                      uint64_t *out_bytes, struct sb_error *err)
{
	uint64_t total = 0;
	uint32_t start = 0;
	int rc = chunkfile_add(file, &start, sizeof(start), err);

	for (size_t i = 0; rc == SB_OK && i < x->count; i++) {
		size_t len;

		if (i > 0 && x->ids[i] == 0)
			continue;
		trace_text(t, (uint32_t)i, &len);
		total += len;
		if (total > UINT32_MAX)
			return sb_fail(err, SB_ELIMIT, "side_file",
			               "The names of a capture take over 4 GiB.");
		start = (uint32_t)total;
		rc = chunkfile_add(file, &start, sizeof(start), err);
	}
	*out_bytes = total;
	return rc;
}

int timeline_texts_add(const struct trace *t, const struct timeline_texts *x, struct chunkfile_writer *file,
                       struct timeline_section *section, struct sb_error *err)
{
	int rc = chunkfile_place(file, &section->text_starts, err);

	section->text_count = x->used;
	if (rc == SB_OK)
		rc = add_starts(t, x, file, &section->text_bytes, err);
	if (rc == SB_OK)
		rc = chunkfile_place(file, &section->texts, err);
	for (size_t i = 1; rc == SB_OK && i < x->count; i++) {
		size_t len;
		const char *text = trace_text(t, (uint32_t)i, &len);

		if (x->ids[i] != 0)
			rc = chunkfile_add(file, text, len, err);
	}
	return rc;
}
