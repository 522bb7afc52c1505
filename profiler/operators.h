#ifndef SB_PROFILER_OPERATORS_H
#define SB_PROFILER_OPERATORS_H
#include "profiler/profile.h"

/* Operators, summed by rank, step, name, type and unit. Texts are ids of the table's own string set. */
enum operator_class {
	OPERATOR_COMPUTE,
	OPERATOR_COMMUNICATION,
	OPERATOR_COPY,
	OPERATOR_HOST,
	OPERATOR_CLASS_COUNT
};

struct operator_row {
	int64_t rank, step;        /* SB_NULL = unknown / none */
	uint32_t name, type, unit; /* type 0 = not known; unit: the Accelerator Core, "gpu" or "cpu" */
	enum operator_class klass;
	int64_t count, total_ns;
	int64_t min_ns, max_ns; /* SB_NULL = the source has sums only */
	/* of these, the calls that one launch of a whole graph (cudaGraphLaunch, hipGraphLaunch) started,
	 * which no operator of the host stands for; SB_NULL = the source does not know launches */
	int64_t graph_count, graph_ns;
};

struct operator_table {
	struct operator_row *rows; /* by rank, step, class, name, type, unit */
	size_t count;
	struct sb_strings *strings;
};

enum operator_sort {
	OPERATOR_BY_TOTAL,
	OPERATOR_BY_COUNT,
	OPERATOR_BY_MEAN,
	OPERATOR_BY_MAX,
	OPERATOR_BY_NAME
};

struct operator_query {
	int64_t rank, step;      /* SB_NULL = all */
	bool by_name;            /* else by type; an operator without a type stands under its name */
	enum operator_sort sort; /* numbers descending, name ascending; ties by name, type, unit */
	size_t limit;            /* 0 = all */
};

/* One line of an answer. share = total / total of its class among the selected rows. */
struct operator_line {
	struct operator_row row; /* rank and step SB_NULL when several were merged */
	double share;
};

/* From the events themselves (kernel_details rows or device events; host operators only where a capture has
 * no device events); from sums where a capture has no events, or none of kernels: these have no least and no
 * longest call (SB_NULL). *out is to be freed by operators_free(). SB_ENOMEM; SB_ELIMIT past 2^30 rows. */
int operators_collect(const struct profile *p, struct operator_table *out, struct sb_error *err);
/* Answers a query: *out_lines is owned by the caller (free()). SB_ENOMEM. */
int operators_select(const struct operator_table *t, const struct operator_query *q,
                     struct operator_line **out_lines, size_t *out_count);
/* What graph launches started, over all rows that the query selects (its limit aside). */
struct operator_graphs {
	int64_t count, total_ns; /* SB_NULL = the sources do not know launches */
	double share;            /* of the time of all selected device work */
};
struct operator_graphs operators_graphs(const struct operator_table *t, const struct operator_query *q);
void operators_free(struct operator_table *t);
/* The table as a side file (blockfile.h), so that requests need
 * not touch the trace. SB_EIO, SB_ENOSPC, SB_ENOMEM. */
int operators_write(const struct operator_table *t, int fd, struct sb_error *err);
/* Reads such a file; the table is owned by the caller. SB_EFORMAT when it is damaged, SB_EIO, SB_ENOMEM. */
int operators_load(int fd, struct operator_table *out, struct sb_error *err);
#define OPERATORS_AUTO __attribute__((cleanup(operators_free))) struct operator_table
#endif
