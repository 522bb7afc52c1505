#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "profiler/read/mindinsight.h"
#include "profiler/read/queues.h"

/* Texts of numbers without a header.
 * device_queue_profiling_{id}.txt and, where data is not sunk to the device,
 * dataset_iterator_profiling_{id}.txt: four lines a batch, "0 part step milliseconds stamp" with part 0 =
 * get, 1 = push, 2 = both, and "1 capacity step size stamp". minddata_aicpu_{id}.txt: "GetNext_dequeue_wait
 * start end size", in us of the device's clock. */

#define FIELDS_MAX 8
#define GET_NEXT "GetNext"

struct words {
	const char *text[FIELDS_MAX];
	size_t len[FIELDS_MAX];
	size_t count; /* may be more than FIELDS_MAX */
};

static void split(const char *line, size_t len, struct words *w)
{
	size_t at = 0;

	w->count = 0;
	while (at < len) {
		size_t from;

		while (at < len && (line[at] == ' ' || line[at] == '\t' || line[at] == '\r'))
			at++;
		from = at;
		while (at < len && line[at] != ' ' && line[at] != '\t' && line[at] != '\r')
			at++;
		if (at == from)
			break;
		if (w->count < FIELDS_MAX) {
			w->text[w->count] = line + from;
			w->len[w->count] = at - from;
		}
		w->count++;
	}
}

static int64_t whole(const struct words *w, size_t i)
{
	int64_t v;

	return i < w->count && i < FIELDS_MAX && sb_parse_int(w->text[i], w->len[i], &v) == SB_OK && v >= 0
	           ? v
	           : SB_NULL;
}

/* One line of a queue's file: type 0 is a time of a part, type 1 a size. */
struct entry {
	int64_t type, part, step; /* part: the capacity, for a size */
	int64_t value;            /* ns, or elements */
	size_t at;
};

static bool read_entry(const struct words *w, struct entry *out)
{
	*out = (struct entry){.type = whole(w, 0), .part = whole(w, 1), .step = whole(w, 2)};
	if (w->count < 4 || w->count > 5 || (out->type != 0 && out->type != 1) || out->part == SB_NULL ||
	    out->step == SB_NULL)
		return false;
	if (out->type == 0 && out->part > 2)
		return false;
	out->value = out->type == 0 ? mindinsight_ms(w->text[3], w->len[3]) : whole(w, 3);
	return out->value != SB_NULL;
}

/* Every whole line of the head is an entry, and among them are times and sizes; in a file with the name most
 * lines need be entries. */
static int sniff_queue(const struct sniff *s)
{
	bool named = path_is(s->path, "device_queue_profiling_", "") ||
	             path_is(s->path, "dataset_iterator_profiling_", "");
	const char *at = s->head, *end = s->head + s->len;
	size_t times = 0, sizes = 0, others = 0;

	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		struct words w;
		struct entry e;

		/* the last line may be cut */
		if (!line_end && !s->whole)
			break;
		split(at, (size_t)((line_end ? line_end : end) - at), &w);
		if (w.count > 0 && read_entry(&w, &e)) {
			times += e.type == 0;
			sizes += e.type == 1;
		} else {
			others += w.count > 0;
		}
		at = line_end ? line_end + 1 : end;
	}
	if (times + sizes <= others || (others > 0 && !named))
		return SNIFF_NO;
	if (named)
		return SNIFF_SURE;
	/* three times and a size a batch: the last batch may be cut */
	return times >= 3 && sizes > 0 && times + 3 >= 3 * sizes && 3 * sizes + 3 >= times ? SNIFF_CONTENT
	                                                                                   : SNIFF_NO;
}

static int sniff_get_next(const struct sniff *s)
{
	static const char mark[] = "GetNext_dequeue_wait ";
	size_t n = sizeof(mark) - 1;

	if (s->len >= n && memcmp(s->head, mark, n) == 0)
		return SNIFF_SURE;
	return path_is(s->path, "minddata_aicpu_", "") && s->len > strlen(GET_NEXT) &&
	               memcmp(s->head, GET_NEXT, strlen(GET_NEXT)) == 0
	           ? SNIFF_CONTENT
	           : SNIFF_NO;
}

/* Lines of a file: the CSV reader's records of one field or more, put together again. */
struct lines {
	struct read_context *ctx;
	struct stream *in;
	struct csv *csv;
	struct words words;
};

static void lines_free(struct lines *l)
{
	csv_free(&l->csv);
}

static int next_line(struct lines *l, bool *out_more, struct sb_error *err)
{
	struct sb_error got = {.offset = -1};
	int rc = csv_next(l->csv, out_more, &got);
	size_t len;
	const char *text;

	if (rc == SB_EFORMAT) {
		warnings_add(&l->ctx->profile->warnings, got.word, l->in->path, csv_line(l->csv), got.offset,
		             "The file is used up to here only: %s.", got.text);
		*out_more = false;
		return SB_OK;
	}
	if (rc != SB_OK) {
		if (err)
			*err = got;
		return rc;
	}
	if (!*out_more)
		return SB_OK;
	text = csv_field(l->csv, 0, &len);
	split(text, csv_count(l->csv) == 1 ? len : 0, &l->words);
	return SB_OK;
}

static void bad_line(struct lines *l)
{
	warnings_add(&l->ctx->profile->warnings, "bad_value", l->in->path, csv_line(l->csv), -1,
	             "A line that is none of this file's is left out.");
}

static int by_step(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int64_t left[] = {x->step, (int64_t)x->at}, right[] = {y->step, (int64_t)y->at};

	return sb_compare(left, right, 2);
}

static int64_t *slot(struct queue_sample *s, const struct entry *e)
{
	if (e->type == 1)
		return &s->size;
	return e->part == 0 ? &s->get_ns : e->part == 1 ? &s->push_ns : &s->total_ns;
}

/* The lines of one step make one sample; where steps are counted anew, a value that is there already begins
 * the next. */
static int make_samples(struct queue *q, struct entry *entries, size_t count)
{
	struct queue_sample s = QUEUE_SAMPLE_UNKNOWN;

	if (count > 0)
		qsort(entries, count, sizeof(*entries), by_step);
	for (size_t i = 0; i < count; i++) {
		const struct entry *e = &entries[i];

		if (s.step != SB_NULL && (s.step != e->step || *slot(&s, e) != SB_NULL)) {
			if (queue_add_sample(q, &s) != SB_OK)
				return SB_ENOMEM;
			s = QUEUE_SAMPLE_UNKNOWN;
		}
		s.step = e->step;
		*slot(&s, e) = e->value;
		if (e->type == 1 && (q->capacity == SB_NULL || e->part > q->capacity))
			q->capacity = e->part;
	}
	return count > 0 ? queue_add_sample(q, &s) : SB_OK;
}

static int read_entries(struct lines *l, struct entry **entries, size_t *count, struct sb_error *err)
{
	bool more = true;
	int rc = SB_OK;

	while (rc == SB_OK && more) {
		struct entry e;

		rc = next_line(l, &more, err);
		if (rc != SB_OK || !more)
			break;
		if (!read_entry(&l->words, &e)) {
			bad_line(l);
			continue;
		}
		e.at = *count;
		if (sb_grow(entries, *count, sizeof(e)) != SB_OK)
			return sb_no_memory(err);
		(*entries)[(*count)++] = e;
	}
	return rc;
}

static int read_queue(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	__attribute__((cleanup(lines_free))) struct lines l = {.ctx = ctx, .in = in};
	struct queue q = QUEUE_UNKNOWN, *added;
	struct entry *entries = NULL;
	struct capture *cap;
	size_t count = 0;
	bool iterator = path_is(in->path, "dataset_iterator_profiling_", "");
	int rc = mindinsight_capture(ctx, in, &cap, err);

	if (rc != SB_OK)
		return rc;
	if (csv_new(in, &l.csv) != SB_OK)
		return sb_no_memory(err);
	rc = read_entries(&l, &entries, &count, err);
	q.kind = QUEUE_HOST;
	if (rc == SB_OK) {
		rc = make_samples(&q, entries, count);
		if (rc == SB_OK)
			rc = queue_add(cap, in->path, iterator ? "dataset_iterator" : "device_queue", &q,
			               &added);
		if (rc != SB_OK)
			sb_fail(err, rc, "no_memory", "out of memory");
	}
	free(entries);
	if (rc != SB_OK)
		free(q.samples);
	return rc;
}

static int read_get_next(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	__attribute__((cleanup(lines_free))) struct lines l = {.ctx = ctx, .in = in};
	struct capture *cap;
	bool more = true;
	int rc = mindinsight_capture(ctx, in, &cap, err);

	if (rc != SB_OK)
		return rc;
	if (csv_new(in, &l.csv) != SB_OK)
		return sb_no_memory(err);
	while (more) {
		const struct words *w = &l.words;
		int64_t start, end, us;

		rc = next_line(&l, &more, err);
		if (rc != SB_OK || !more)
			return rc;
		start = whole(w, 1);
		end = whole(w, 2);
		us = start != SB_NULL && end >= start ? end - start : SB_NULL;
		if (w->count < 4 || strncmp(w->text[0], GET_NEXT, strlen(GET_NEXT)) != 0 || us == SB_NULL) {
			bad_line(&l);
			continue;
		}
		if (queue_add_get_next(cap, in->path, us > INT64_MAX / 1000 ? SB_NULL : us * 1000,
		                       whole(w, 3)) != SB_OK)
			return sb_no_memory(err);
	}
	return SB_OK;
}

const struct format_reader MINDINSIGHT_QUEUE_READER = {.name = "device_queue_profiling_*.txt",
                                                       .format = FORMAT_MINDINSIGHT,
                                                       .sniff = sniff_queue,
                                                       .read = read_queue};
const struct format_reader MINDINSIGHT_GET_NEXT_READER = {.name = "minddata_aicpu_*.txt",
                                                          .format = FORMAT_MINDINSIGHT,
                                                          .sniff = sniff_get_next,
                                                          .read = read_get_next};
