#include "profiler/path_file.h"

#include <stdlib.h>
#include <string.h>

/* Change the version whenever a part changes its meaning. */
static const char MAGIC[8] = {'S', 'B', 'P', 'A', 'T', 'H', 'S', '\n'};
#define VERSION 1
#define BATCH 1024

/* The directory at the root of the file. */
struct directory {
	uint64_t sections, section_count, sources, source_count, starts, text_count, texts, text_bytes;
};

struct writing {
	const struct profile *p;
	const struct critical_paths *paths;
	struct chunkfile_writer file;
	struct path_section *sections;
	struct path_source *sources;
	struct directory directory;
	struct sb_error *err;
};

static int add_pieces(struct writing *w, const struct critical_path *path, int64_t origin, uint64_t *out_at)
{
	struct path_piece batch[BATCH] = {{0}};
	int rc = chunkfile_place(&w->file, out_at, w->err);

	for (size_t i = 0; i < path->count && rc == SB_OK; i += BATCH) {
		size_t n = path->count - i < BATCH ? path->count - i : BATCH;

		for (size_t k = 0; k < n; k++) {
			const struct path_piece *from = &path->pieces[i + k];

			/* member by member: the padding stays zero */
			batch[k].start_ns =
			    from->start_ns -
			    (path == &w->paths->across ? w->sources[from->capture].origin_ns : origin);
			batch[k].dur_ns = from->dur_ns;
			batch[k].name = from->name;
			batch[k].capture = from->capture;
			batch[k].part = from->part;
		}
		rc = chunkfile_add(&w->file, batch, n * sizeof(*batch), w->err);
	}
	return rc;
}

static int add_section(struct writing *w, const struct critical_path *path)
{
	bool across = path == &w->paths->across;
	const struct path_source *source = &w->sources[path->capture];
	struct path_section *s = &w->sections[w->directory.section_count];
	int64_t origin = across ? 0 : source->origin_ns;
	int64_t first = across ? 0 : path->pieces[0].start_ns - origin;

	*s = (struct path_section){.rank = across ? SB_NULL : source->rank,
	                           .device = path->device,
	                           .origin_ns = origin,
	                           .first_ns = first,
	                           .end_ns = first + path->span_ns,
	                           .works = path->works,
	                           .count = path->count,
	                           .source = path->capture,
	                           .across = across};
	w->directory.section_count++;
	return add_pieces(w, path, origin, &s->pieces);
}

/* Where the timeline of a capture begins, as timeline_add_capture() has it. */
static int64_t origin_of(const struct capture *c)
{
	int64_t first = INT64_MAX;

	for (size_t i = 0; i < c->trace.count; i++)
		first = c->trace.start_ns[i] < first ? c->trace.start_ns[i] : first;
	for (size_t i = 0; i < c->kernel_count && c->trace.count == 0; i++) {
		const struct kernel *k = &c->kernels[i];

		if (k->start_ns != SB_NULL && k->dur_ns >= 0 && k->start_ns < first)
			first = k->start_ns;
	}
	return first == INT64_MAX ? 0 : first;
}

static int add_sources(struct writing *w)
{
	for (size_t i = 0; i < w->p->count; i++) {
		const struct capture *c = &w->p->captures[i];
		struct path_source *s = &w->sources[i];
		int rc = chunkfile_place(&w->file, &s->text, w->err);

		s->rank = c->rank;
		s->origin_ns = origin_of(c);
		s->bytes = strlen(c->source);
		if (rc == SB_OK)
			rc = chunkfile_add(&w->file, c->source, s->bytes, w->err);
		if (rc != SB_OK)
			return rc;
	}
	return SB_OK;
}

static int add_texts(struct writing *w)
{
	struct directory *d = &w->directory;
	uint64_t end = 0;
	size_t len;
	int rc = chunkfile_place(&w->file, &d->starts, w->err);

	d->text_count = sb_strings_count(w->paths->texts);
	for (size_t i = 0; rc == SB_OK && i <= d->text_count; i++) {
		rc = chunkfile_add(&w->file, &end, sizeof(end), w->err);
		if (i == d->text_count)
			break;
		(void)sb_strings_get(w->paths->texts, (uint32_t)i, &len);
		end += len;
	}
	d->text_bytes = end;
	if (rc == SB_OK)
		rc = chunkfile_place(&w->file, &d->texts, w->err);
	for (size_t i = 0; rc == SB_OK && i < d->text_count; i++) {
		const char *text = sb_strings_get(w->paths->texts, (uint32_t)i, &len);

		rc = chunkfile_add(&w->file, text, len, w->err);
	}
	return rc;
}

static int add_directory(struct writing *w)
{
	struct directory *d = &w->directory;
	uint64_t root = 0;
	int rc = chunkfile_place(&w->file, &d->sections, w->err);

	if (rc == SB_OK)
		rc = chunkfile_add(&w->file, w->sections, d->section_count * sizeof(*w->sections), w->err);
	if (rc == SB_OK)
		rc = chunkfile_place(&w->file, &d->sources, w->err);
	d->source_count = w->p->count;
	if (rc == SB_OK)
		rc = chunkfile_add(&w->file, w->sources, w->p->count * sizeof(*w->sources), w->err);
	if (rc == SB_OK)
		rc = chunkfile_place(&w->file, &root, w->err);
	if (rc == SB_OK)
		rc = chunkfile_add(&w->file, d, sizeof(*d), w->err);
	return rc == SB_OK ? chunkfile_end(&w->file, root, 1, w->err) : rc;
}

static int write_all(struct writing *w)
{
	int rc = add_sources(w);

	for (size_t i = 0; i < w->paths->count && rc == SB_OK; i++)
		if (w->paths->items[i].count > 0)
			rc = add_section(w, &w->paths->items[i]);
	if (rc == SB_OK && w->paths->across.count > 0)
		rc = add_section(w, &w->paths->across);
	if (rc == SB_OK)
		rc = add_texts(w);
	return rc == SB_OK ? add_directory(w) : rc;
}

int path_file_write(const struct profile *p, const struct critical_paths *paths, int fd, struct sb_error *err)
{
	struct writing w = {.p = p, .paths = paths, .err = err};
	int rc = chunkfile_begin(&w.file, fd, MAGIC, VERSION, err);

	w.sections = calloc(paths->count + 1, sizeof(*w.sections));
	w.sources = calloc(p->count + 1, sizeof(*w.sources));
	if (rc == SB_OK && (!w.sections || !w.sources))
		rc = sb_fail(err, SB_ENOMEM, "side_file", "No memory to write the critical paths.");
	if (rc == SB_OK)
		rc = write_all(&w);
	free(w.sections);
	free(w.sources);
	chunkfile_drop(&w.file);
	return rc;
}

static int damaged(struct sb_error *err)
{
	return sb_fail(err, SB_EFORMAT, "bad_side_file", "The side file of the critical paths is damaged.");
}

/* A table of the file, or NULL when it lies outside, or where no table can. */
static const void *table(const struct chunkfile *f, uint64_t at, uint64_t bytes)
{
	return at % 8 == 0 ? chunkfile_get(f, at, bytes) : NULL;
}

int path_file_open(int fd, struct path_file *out, struct sb_error *err)
{
	struct path_file f = {0};
	const struct directory *d;
	int rc = chunkfile_map(fd, MAGIC, VERSION, &f.file, err);

	if (rc != SB_OK)
		return rc;
	d = table(&f.file, f.file.root, sizeof(*d));
	if (d && d->section_count < SIZE_MAX / sizeof(*f.sections) &&
	    d->source_count < SIZE_MAX / sizeof(*f.sources) && d->text_count < UINT32_MAX) {
		f.count = d->section_count;
		f.sections = table(&f.file, d->sections, f.count * sizeof(*f.sections));
		f.source_count = d->source_count;
		f.sources = table(&f.file, d->sources, f.source_count * sizeof(*f.sources));
		f.text_count = d->text_count;
		f.starts = table(&f.file, d->starts, (f.text_count + 1) * sizeof(*f.starts));
		f.texts = chunkfile_get(&f.file, d->texts, d->text_bytes);
	}
	if (!f.sections || !f.sources || !f.starts || !f.texts || f.starts[f.text_count] != d->text_bytes) {
		chunkfile_unmap(&f.file);
		return damaged(err);
	}
	*out = f;
	return SB_OK;
}

void path_file_close(struct path_file *f)
{
	chunkfile_unmap(&f->file);
	*f = (struct path_file){0};
}

const char *path_file_text(const struct path_file *f, uint32_t id, size_t *out_len)
{
	*out_len = 0;
	if (id == 0 || id >= f->text_count || f->starts[id] > f->starts[id + 1] ||
	    f->starts[id + 1] > f->starts[f->text_count])
		return NULL;
	*out_len = f->starts[id + 1] - f->starts[id];
	return f->texts + f->starts[id];
}

const char *path_file_source(const struct path_file *f, uint64_t source, size_t *out_len)
{
	if (source >= f->source_count)
		return NULL;
	*out_len = f->sources[source].bytes;
	return chunkfile_get(&f->file, f->sources[source].text, f->sources[source].bytes);
}
