#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "profiler/read/msprof.h"
#include "profiler/read/queues.h"

/* aicpu_mi (research page ascend-formats 3): each call of GetNext, and how many elements it found in the
 * queue of the device. */

static const char *const MARKS[] = {"Node Name", "Start Time(us)", "End Time(us)", "Queue Size", NULL};

static int sniff(const struct sniff *s)
{
	bool named = path_is(s->path, "aicpu_mi", ".csv");

	if (!sniff_columns(s, MARKS))
		return SNIFF_NO;
	return named ? SNIFF_SURE : SNIFF_CONTENT;
}

static int read_row(struct read_context *ctx, struct capture *cap, const struct csv *c,
                    const struct stream *in)
{
	size_t len;
	const char *name = csv_trimmed(c, csv_column(c, "Node Name"), &len);
	int64_t start, end, size;

	if (len < 7 || strncasecmp(name, "GetNext", 7) != 0)
		return SB_OK;
	if (!ascend_time(ctx, c, in, csv_column(c, "Start Time(us)"), "Start Time(us)", &start) ||
	    !ascend_time(ctx, c, in, csv_column(c, "End Time(us)"), "End Time(us)", &end))
		return SB_OK;
	if (csv_int(c, csv_column(c, "Queue Size"), &size) != SB_OK || size < 0 || end < start || start < 0) {
		ascend_bad_value(ctx, c, in, "Queue Size", "the row is left out");
		return SB_OK;
	}
	return queue_add_get_next(cap, in->path, end - start, size);
}

static int read_queue(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	return msprof_rows(ctx, in, MARKS, read_row, err);
}

const struct format_reader MSPROF_QUEUE_READER = {
    .name = "aicpu_mi", .format = FORMAT_MSPROF_TEXT, .sniff = sniff, .read = read_queue};
