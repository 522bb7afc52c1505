#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "profiler/read/mindinsight.h"
#include "profiler/read/queues.h"

/* minddata_pipeline_raw_{id}.csv: the operators of the data pipeline and the sizes of the queues behind them,
 * as lists inside quoted fields. The first operator, the root, may have no queue. */

static const char *const MARKS[] = {"op_id", "op_type", "output_queue_size", NULL};

static int sniff(const struct sniff *s)
{
	return sniff_columns(s, MARKS) ? SNIFF_SURE : SNIFF_NO;
}

/* A number that may be missing. */
static int64_t number(const struct csv *c, const char *column)
{
	int64_t v;

	return csv_int(c, csv_column(c, column), &v) == SB_OK && v >= 0 ? v : SB_NULL;
}

/* "[10, 20, 30]", three looks at the queue; what is no number counts in *out_bad. */
static int read_sizes(struct queue *q, const char *text, size_t len, size_t *out_bad)
{
	const char *end = text + len;

	*out_bad = 0;
	while (text < end) {
		struct queue_sample s = QUEUE_SAMPLE_UNKNOWN;
		const char *comma = memchr(text, ',', (size_t)(end - text));
		const char *item = text;
		size_t n = (size_t)((comma ? comma : end) - text);

		text += n + 1;
		while (n > 0 && (*item == '[' || *item == ' ')) {
			item++;
			n--;
		}
		while (n > 0 && (item[n - 1] == ']' || item[n - 1] == ' '))
			n--;
		if (n == 0)
			continue;
		if (sb_parse_int(item, n, &s.size) != SB_OK || s.size < 0)
			++*out_bad;
		else if (queue_add_sample(q, &s) != SB_OK)
			return SB_ENOMEM;
	}
	return SB_OK;
}

static int add_operator(struct capture *cap, const struct stream *in, const struct csv *c, size_t *out_bad)
{
	struct queue q = QUEUE_UNKNOWN, *added;
	size_t len;
	const char *text = csv_trimmed(c, csv_column(c, "output_queue_size"), &len);
	const char *interval;
	int rc;

	q.kind = QUEUE_OPERATOR;
	q.operator_id = number(c, "op_id");
	q.parent_id = number(c, "parent_id");
	q.workers = number(c, "num_workers");
	q.capacity = number(c, "output_queue_length");
	rc = read_sizes(&q, text, len, out_bad);
	interval = csv_trimmed(c, csv_column(c, "sample_interval"), &len);
	q.interval_ns = mindinsight_ms(interval, len);
	text = csv_trimmed(c, csv_column(c, "op_type"), &len);
	if (rc == SB_OK)
		rc = queue_add(cap, in->path, text, &q, &added);
	if (rc != SB_OK)
		free(q.samples);
	return rc;
}

static int read_pipeline(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	CSV_AUTO c = NULL;
	struct capture *cap;
	bool more = true;
	int rc = ascend_csv_open(in, MARKS, &c, err);

	if (rc == SB_OK)
		rc = mindinsight_capture(ctx, in, &cap, err);
	while (rc == SB_OK && more) {
		size_t bad = 0;

		rc = ascend_csv_row(ctx, c, in, &more, err);
		if (rc != SB_OK || !more)
			break;
		if (number(c, "op_id") == SB_NULL) {
			ascend_bad_value(ctx, c, in, "op_id", "the row is left out");
			continue;
		}
		if (add_operator(cap, in, c, &bad) != SB_OK)
			return sb_no_memory(err);
		if (bad > 0)
			ascend_bad_value(ctx, c, in, "output_queue_size", "some of its sizes are left out");
	}
	return rc;
}

const struct format_reader MINDINSIGHT_PIPELINE_READER = {.name = "minddata_pipeline_raw_*.csv",
                                                          .format = FORMAT_MINDINSIGHT,
                                                          .sniff = sniff,
                                                          .read = read_pipeline};
