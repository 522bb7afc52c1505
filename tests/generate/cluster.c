#include "tests/generate/msprof.h"
#include "tests/generate/out.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct out *open_file(const struct ascend_options *o, const char *name)
{
	char path[4096];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", o->path, name) >= sizeof(path))
		out_die("a path is too long");
	return out_open(path, false);
}

/* The largest of each column: what a stage row holds. */
static void widen(struct truth_row *to, const struct truth_row *t)
{
	int64_t *const most[] = {&to->compute_ns, &to->communication_exposed_ns,
	                         &to->overlap_ns, &to->communication_ns,
	                         &to->free_ns,    &to->span_ns,
	                         &to->bubble_ns};
	const int64_t from[] = {t->compute_ns, t->communication_exposed_ns,
	                        t->overlap_ns, t->communication_ns,
	                        t->free_ns,    t->span_ns,
	                        t->bubble_ns};

	for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++)
		*most[i] = from[i] > *most[i] ? from[i] : *most[i];
}

/* "(0, 1, 2)", the group of a rank. */
static void group_text(struct out *out, const struct ascend_options *o, const struct ascend_rank *r)
{
	int64_t first = ascend_group_first(o, r), end = ascend_group_end(o, r);

	for (int64_t i = first; i < end; i++)
		out_fmt(out, "%s%" PRId64, i > first ? ", " : "(", i);
	out_text(out, end == first + 1 ? ",)" : ")");
}

static void steps(const struct ascend_options *o, const struct ascend_rank *ranks)
{
	OUT_AUTO out = open_file(o, "cluster_step_trace_time.csv");

	out_text(out, "Step,Type,Index,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,"
	              "Stage,Bubble,Communication(Not Overlapped and Exclude Receive)\n");
	for (int64_t step = 0; step < o->steps; step++) {
		for (int64_t i = 0; i < o->ranks; i++) {
			out_fmt(out, "%" PRId64 ",rank,%" PRId64, ASCEND_FIRST_STEP + step, i);
			ascend_step_cells(out, &ranks[i].steps[step].lane);
			out_text(out, "\n");
		}
		for (int64_t i = 0; i < o->ranks; i = ascend_group_end(o, &ranks[i])) {
			struct truth_row most = {0};

			for (int64_t k = i; k < ascend_group_end(o, &ranks[i]); k++)
				widen(&most, &ranks[k].steps[step].lane);
			out_fmt(out, "%" PRId64 ",stage,\"", ASCEND_FIRST_STEP + step);
			group_text(out, o, &ranks[i]);
			out_text(out, "\"");
			ascend_step_cells(out, &most);
			out_text(out, "\n");
		}
	}
}

/* The operators of one step of a group of ranks: name → rank → body. The ranks of a group have the same. */
static void operators(struct out *out, const struct ascend_options *o, const struct ascend_rank *ranks,
                      int64_t first, int64_t step)
{
	const struct ascend_rank *r = &ranks[first];
	bool any = false;

	for (int64_t i = 0; i < r->link_count; i++) {
		if (r->links[i].step != step || r->links[i].kind[0] == 'r')
			continue;
		out_fmt(out, "%s\"%s@%s\": {", any ? ", " : "", r->links[i].text,
		        ascend_link_group(o, r, &r->links[i]));
		for (int64_t k = first; k < ascend_group_end(o, r); k++) {
			out_fmt(out, "%s\"%" PRId64 "\": ", k > first ? ", " : "", k);
			ascend_write_body(out, &ranks[k].links[i]);
		}
		out_text(out, "}");
		any = true;
	}
}

static void communication(const struct ascend_options *o, const struct ascend_rank *ranks)
{
	OUT_AUTO out = open_file(o, "cluster_communication.json");

	out_text(out, "{");
	for (int64_t i = 0; i < o->ranks; i = ascend_group_end(o, &ranks[i])) {
		out_text(out, i ? ", \"" : "\"");
		group_text(out, o, &ranks[i]);
		out_text(out, "\": {");
		for (int64_t step = 0; step < o->steps; step++) {
			out_fmt(out, "%s\"step%" PRId64 "\": {", step ? ", " : "", ASCEND_FIRST_STEP + step);
			operators(out, o, ranks, i, step);
			out_text(out, "}");
		}
		out_text(out, "}");
	}
	out_text(out, "}");
}

static void group(struct out *out, const struct ascend_options *o, const struct ascend_rank *r, bool experts)
{
	const struct ascend_link l = {.experts = experts};
	int64_t first = ascend_group_first(o, r), end = ascend_group_end(o, r);

	out_text(out, "{\"type\": \"collective\", \"rank_set\": [");
	for (int64_t i = first; i < end; i++)
		out_fmt(out, "%s%" PRId64, i > first ? ", " : "", i);
	out_fmt(out, "], \"group_name\": \"%s\", \"group_id\": \"\", \"pg_name\": \"%s\"}",
	        ascend_link_group(o, r, &l), experts ? "exp" : "dp");
}

/* What the groups are for, as Megatron calls them. */
static void groups(const struct ascend_options *o, const struct ascend_rank *ranks)
{
	OUT_AUTO out = open_file(o, "communication_group.json");

	out_text(out, "{\"comm_group_parallel_info\": [");
	for (int64_t i = 0; i < o->ranks; i = ascend_group_end(o, &ranks[i])) {
		out_text(out, i ? ", " : "");
		group(out, o, &ranks[i], false);
		if (o->shape == ASCEND_EXPERTS) {
			out_text(out, ", ");
			group(out, o, &ranks[i], true);
		}
	}
	out_text(out, "]}");
}

static int run(int argc, char **argv)
{
	struct ascend_options o = ASCEND_OPTIONS;
	struct ascend_rank *ranks;

	o.steps = 1;
	o.ranks = 8;
	o.uneven = true;
	msprof_options(argc, argv, IN_CLUSTER, "ksrdftp", &o);
	ranks = msprof_play(&o);
	if (o.path) {
		steps(&o, ranks);
		communication(&o, ranks);
		groups(&o, ranks);
	}
	if (o.truth)
		ascend_write_truth(&o, ranks, "ascend-cluster-analysis");
	msprof_free(&o, ranks);
	return 0;
}

const struct dialect CLUSTER_DIALECT = {
    .name = "cluster",
    .usage =
        "generate cluster [options] DIR               the output of a cluster analysis of all ranks (8)\n"
        "  --kernels N a step (160); --shape pipeline makes two stages\n",
    .run = run,
};
