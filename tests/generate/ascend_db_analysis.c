#include "tests/generate/ascend_db.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* analysis.db: us in StepTraceTime, ms and MB elsewhere; one row a packet size. */

static double us(int64_t ns)
{
	return (double)ns / 1000;
}

static double millionths(int64_t value)
{
	return (double)value / 1e6;
}

static void steps(struct ascend_db *db)
{
	bool new = db->o->layout == ASCEND_NEW;
	sqlite3_stmt *s;
	char sql[512];

	snprintf(sql, sizeof(sql),
	         "CREATE TABLE StepTraceTime (%sstep TEXT, computing NUMERIC, communication_not_overlapped "
	         "NUMERIC, "
	         "overlapped NUMERIC, communication NUMERIC, free NUMERIC, stage NUMERIC, bubble NUMERIC, "
	         "communication_not_overlapped_and_exclude_receive NUMERIC, preparing NUMERIC)",
	         new ? "deviceId INTEGER, " : "");
	ascend_db_run(db, sql);
	s = ascend_db_insert(db, new ? "INSERT INTO StepTraceTime VALUES (?,?,?,?,?,?,?,?,?,?,?)"
	                             : "INSERT INTO StepTraceTime VALUES (?,?,?,?,?,?,?,?,?,?)");
	for (int64_t i = 0; i < db->o->steps; i++) {
		/* the profiler takes this table from the kernels, not from the lane: no gap to the next step
		 */
		const struct truth_row *t = &db->r->steps[i].kernels;
		int64_t number = ASCEND_FIRST_STEP + i;
		int64_t rest = t->communication_exposed_ns - t->bubble_ns;

		if (new)
			ascend_db_row(db, s, "iTddddddddd", db->r->rank % 8, number, us(t->compute_ns),
			              us(t->communication_exposed_ns), us(t->overlap_ns),
			              us(t->communication_ns), us(t->free_ns), us(t->span_ns),
			              us(t->bubble_ns), us(rest), us(t->preparing_ns));
		else
			ascend_db_row(db, s, "Tddddddddd", number, us(t->compute_ns),
			              us(t->communication_exposed_ns), us(t->overlap_ns),
			              us(t->communication_ns), us(t->free_ns), us(t->span_ns),
			              us(t->bubble_ns), us(rest), us(t->preparing_ns));
	}
	sqlite3_finalize(s);
}

static void link_row(struct ascend_db *db, sqlite3_stmt *s, const struct ascend_link *l, const char *kind,
                     const struct ascend_packets *p, const char *step)
{
	int64_t bytes = 0;
	int64_t ns = 0;

	for (int i = 0; i < l->packet_kinds; i++) {
		bytes += l->packets[i].bytes * l->packets[i].count;
		ns += l->packets[i].ns;
	}
	ascend_db_row(db, s,
	              "tttdddidid"
	              "tt",
	              l->text, ascend_link_group(db->o, db->r, l), kind, millionths(bytes), millionths(ns),
	              (double)bytes / (double)ns, INT64_C(0), p ? millionths(p->bytes) : 0.0,
	              p ? p->count : INT64_C(0), p ? millionths(p->ns) : 0.0, step,
	              l->kind[0] == 'r' ? "p2p" : "collective");
}

static void operator_rows(struct ascend_db *db, sqlite3_stmt *times, sqlite3_stmt *links,
                          const struct ascend_link *l)
{
	char step[32];

	snprintf(step, sizeof(step), "step%" PRId64, ASCEND_FIRST_STEP + l->step);
	ascend_db_row(db, times, "ttddddddtt", l->text, ascend_link_group(db->o, db->r, l), us(l->start),
	              millionths(l->dur), millionths(l->transit), millionths(l->wait), millionths(l->arrival),
	              millionths(l->dur - l->transit - l->wait), step,
	              l->kind[0] == 'r' ? "p2p" : "collective");
	/* packets of one size share a row, however long each took */
	for (int p = 0; p < l->packet_kinds; p++) {
		struct ascend_packets sum = l->packets[p];

		if (p > 0 && sum.bytes == l->packets[p - 1].bytes)
			continue;
		for (int k = p + 1; k < l->packet_kinds && sum.bytes == l->packets[k].bytes; k++) {
			sum.count += l->packets[k].count;
			sum.ns += l->packets[k].ns;
		}
		link_row(db, links, l, l->rdma ? "RDMA" : "HCCS", &sum, step);
	}
	if (!l->rdma)
		link_row(db, links, l, "SDMA", NULL, step);
}

static void communication(struct ascend_db *db)
{
	sqlite3_stmt *times;
	sqlite3_stmt *links;

	ascend_db_run(
	    db,
	    "CREATE TABLE CommAnalyzerTime (hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC, "
	    "elapse_time NUMERIC, transit_time NUMERIC, wait_time NUMERIC, synchronization_time NUMERIC, "
	    "idle_time NUMERIC, step TEXT, type TEXT);"
	    "CREATE TABLE CommAnalyzerBandwidth (hccl_op_name TEXT, group_name TEXT, transport_type TEXT, "
	    "transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC, large_packet_ratio NUMERIC, "
	    "package_size NUMERIC, count NUMERIC, total_duration NUMERIC, step TEXT, type TEXT)");
	times = ascend_db_insert(db, "INSERT INTO CommAnalyzerTime VALUES (?,?,?,?,?,?,?,?,?,?)");
	links = ascend_db_insert(db, "INSERT INTO CommAnalyzerBandwidth VALUES (?,?,?,?,?,?,?,?,?,?,?,?)");
	for (int64_t step = 0; step < db->o->steps; step++)
		for (int collective = 0; collective < 2; collective++)
			for (int64_t i = 0; i < db->r->link_count; i++)
				if (db->r->links[i].step == step &&
				    (db->r->links[i].kind[0] != 'r') == collective)
					operator_rows(db, times, links, &db->r->links[i]);
	if (db->o->layout == ASCEND_OLD)
		ascend_db_row(db, times, "ttddddddtt", "Total Op Info", ascend_group_name(db->o, db->r), 0.0,
		              1.0, 1.0, 1.0, 1.0, 1.0, "step10", "collective");
	sqlite3_finalize(times);
	sqlite3_finalize(links);
}

void ascend_db_analysis(const struct ascend_options *o, const struct ascend_rank *r)
{
	struct ascend_db db;

	ascend_db_open(&db, o, r, "analysis.db");
	steps(&db);
	if (o->level > 0)
		communication(&db);
	ascend_db_close(&db);
}
