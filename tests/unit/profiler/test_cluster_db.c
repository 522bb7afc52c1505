#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "tests/unit/profiler/made_database.h"
#include "tests/unit/profiler/made_profile.h"

/* Columns as msprof-analyze writes them. */
#define STEPS                                                                                                \
	"CREATE TABLE ClusterStepTraceTime (step TEXT,type TEXT,\"index\" "                                  \
	"TEXT,computing,communication_not_overlapped,"                                                       \
	"overlapped,communication,free,stage,bubble,communication_not_overlapped_and_exclude_receive,"       \
	"preparing);"
#define TIMES                                                                                                \
	"CREATE TABLE ClusterCommunicationTime (step TEXT,rank_id INTEGER,hccl_op_name TEXT,group_name "     \
	"TEXT,"                                                                                              \
	"start_timestamp,elapsed_time,transit_time,wait_time,synchronization_time,idle_time);"
#define LINKS                                                                                                \
	"CREATE TABLE ClusterCommunicationBandwidth (step TEXT,rank_id INTEGER,hccl_op_name "                \
	"TEXT,group_name TEXT,"                                                                              \
	"band_type "                                                                                         \
	"TEXT,transit_size,transit_time,bandwidth,large_packet_ratio,package_size,count,total_duration);"
#define GROUPS                                                                                               \
	"CREATE TABLE CommunicationGroupMapping (type TEXT,rank_set TEXT,group_name TEXT,group_id "          \
	"TEXT,pg_name TEXT);"

#define STEP_ROWS                                                                                            \
	"INSERT INTO ClusterStepTraceTime VALUES ('2','rank','2',10,1,2,3,4,15,0,1,0.5),"                    \
	"('2','rank','0',20,1.5,2,3.5,4,25.5,0,1,0.5),('2','rank','1',11,1,2,3,4,16,0,1,0.5),"               \
	"('2','stage','(2,)',10,1,2,3,4,15,0,1,0.5),('2','stage','(0, 1)',20,1.5,2,3.5,4,25.5,0,1,0.5);"

static void read_good(const char *path, const char *sql, struct profile *out)
{
	MADE_AUTO db = made_database(sql);
	const struct text_file file = {path, db.data, db.len};
	struct sb_error err;

	if (read_texts(&file, 1, out, &err) != SB_OK)
		fail_msg("%s: %s", err.word, err.text);
}

/* Each rank has a capture; the rows of the stages are maxima and only tell which ranks make one up. */
static void ranks_and_stages(void **state)
{
	static const int64_t computing[] = {20000, 11000, 10000}, stages[] = {0, 0, 1};
	PROFILE_AUTO p = {0};

	(void)state;
	read_good("cluster_analysis_output/cluster_analysis.db", STEPS STEP_ROWS, &p);
	assert_int_equal(p.count, 3);
	assert_int_equal(p.warnings.count, 0);
	for (size_t i = 0; i < 3; i++) {
		const struct capture *c = &p.captures[i];

		assert_true(c->format == FORMAT_CLUSTER_ANALYSIS && c->rank == (int64_t)i &&
		            c->stage == stages[i]);
		assert_int_equal(c->step_trace_count, 1);
		assert_true(c->step_traces[0].step == 2 && c->step_traces[0].computing == computing[i]);
	}
	assert_true(p.captures[0].step_traces[0].exposed == 1500 &&
	            p.captures[0].step_traces[0].stage == 25500);
}

static void operators_of_all_ranks(void **state)
{
	PROFILE_AUTO p = {0};
	const struct communication_op *op;

	(void)state;
	read_good("cluster_analysis.db",
	          STEPS STEP_ROWS TIMES LINKS GROUPS
	          "INSERT INTO CommunicationGroupMapping VALUES ('collective','(0,1)','71','x','dp'),"
	          "('p2p','(1,2)','72','y','pp');"
	          "INSERT INTO ClusterCommunicationTime VALUES "
	          "('step2',0,'hcom_allReduce__1_0','71',1,2.5,0.5,1,0.25,1),"
	          "('step2',1,'hcom_allReduce__1_0','71',1,2.25,0.5,1,0.25,1),('step2',1,'Total Op "
	          "Info','71',1,9,9,9,9,9),"
	          "('step2',1,'hcom_send__2_0','72',1,0.5,0.5,0,0,0);"
	          "INSERT INTO ClusterCommunicationBandwidth VALUES"
	          "('step2',0,'hcom_allReduce__1_0','71','HCCS',3,0.2,15,0,1,2,0.15),"
	          "('step2',1,'hcom_allReduce__1_0','71','HCCS',3,0.3,10,0,1,2,0.25),"
	          "('step2',0,'hcom_allReduce__1_0','71','HCCS',3,0.2,15,0,0.5,2,0.05),"
	          "('step2',0,'Total Op Info','71','HCCS',30,2,15,0,1,2,0.15);",
	          &p);
	assert_int_equal(p.warnings.count, 0);
	assert_int_equal(p.captures[0].communication_count, 1);
	assert_int_equal(p.captures[1].communication_count, 2);
	assert_int_equal(p.captures[2].communication_count, 0);
	op = p.captures[0].communications;
	assert_true(op->step == 2 && op->elapse_us == 2500 && op->transit_us == 500 && !op->point_to_point);
	/* a group is called by its ranks, as in cluster_communication.json */
	assert_string_equal(text_of(&p.captures[0], op->group), "(0, 1)");
	assert_int_equal(op->links[0].packet_count, 2);
	assert_true(op->links[0].bytes == 3000000 && op->links[0].packets[1].bytes == 500000);
	op = &p.captures[1].communications[0];
	assert_true(op->elapse_us == 2250 && fabs(op->links[0].transit_us - 300) < 1e-9);
	op = &p.captures[1].communications[1];
	assert_string_equal(text_of(&p.captures[1], op->group), "p2p");
	assert_true(op->point_to_point);
}

static void older_names_and_hostile_rows(void **state)
{
	PROFILE_AUTO p = {0};

	(void)state;
	read_good("cluster_analysis.db",
	          "CREATE TABLE ClusterCommAnalyzerTime "
	          "(rank_set,step,rank_id,hccl_op_name,group_name,elapse_time);"
	          "INSERT INTO ClusterCommAnalyzerTime VALUES "
	          "('(0,1)','step2',0,'a','g',2.5),('(0,1)','step2',-1,'a','g',2.5),"
	          "('(0,1)','step2',NULL,'a','g',2.5),('(0,1)',x'00',0,'b','g',2.5),('(0,1)','stepx',0,'c','"
	          "g',2.5),"
	          "('(0,1)','step2',99999999999,'a','g',2.5),('(0,1)','step2',0,NULL,'g',2.5),"
	          "('(0,1)','step2',0,'d',NULL,'much');"
	          "CREATE TABLE ClusterStepTraceTime (step,type,\"index\",computing);"
	          "INSERT INTO ClusterStepTraceTime VALUES (2,'rank',0,1),(2,'rank',-4,1),(2,'rock',0,1),"
	          "(2,'rank',0,-1),(2,'stage',NULL,NULL),(NULL,NULL,NULL,NULL);",
	          &p);
	assert_int_equal(p.count, 1);
	assert_true(p.captures[0].rank == 0 && p.captures[0].step_trace_count == 1);
	/* a, b without a step, d without a time */
	assert_int_equal(p.captures[0].communication_count, 3);
	assert_true(p.captures[0].communications[0].elapse_us == 2500);
	assert_true(isnan(p.captures[0].communications[1].elapse_us));
	assert_true(p.captures[0].communications[2].step == SB_NULL);
	assert_true(warning_of(&p, "bad_value") && warning_of(&p, "bad_value")->count == 9);
}

/* Newer tables name the stage of a rank; a set of ranks may come in any order, and a stage is counted by its
 * lowest rank. */
static void stages_are_named_or_counted(void **state)
{
	PROFILE_AUTO p = {0}, q = {0};
	const struct step_trace *t;

	(void)state;
	read_good("cluster_analysis.db",
	          "CREATE TABLE ClusterStepTraceTime (step TEXT,type TEXT,\"index\" TEXT,computing,"
	          "communication_not_overlapped,overlapped,communication,free,stage,bubble,"
	          "communication_not_overlapped_and_exclude_receive,preparing,dp_index,pp_index,tp_index);"
	          "INSERT INTO ClusterStepTraceTime VALUES "
	          "('','rank','5',10,20.5,5,25.5,30,50.5,10,10.5,1.25,0,3,1);",
	          &p);
	assert_true(p.captures[0].rank == 5 && p.captures[0].stage == 3);
	t = p.captures[0].step_traces;
	assert_true(t->step == SB_NULL && t->computing == 10000 && t->exposed == 20500 &&
	            t->overlapped == 5000 && t->communication == 25500 && t->free == 30000);
	assert_true(t->stage == 50500 && t->bubble == 10000 && t->preparing == 1250);
	read_good("cluster_analysis.db",
	          STEPS "INSERT INTO ClusterStepTraceTime VALUES "
	                "('2','stage','(3, 2)',9,9,9,9,9,9,9,9,9),('2','stage','(1, 0)',9,9,9,9,9,9,9,9,9),"
	                "('2','rank','3',1,1,1,1,1,1,0,1,1),('2','rank','0',1,1,1,1,1,1,0,1,1);",
	          &q);
	assert_int_equal(q.count, 2);
	assert_true(q.captures[0].stage == 0 && q.captures[1].stage == 1);
}

/* Operators name their group by its number or by HCCL's own name; the mapping had another name once. What is
 * listed under p2p is a pair, whatever it is called. */
static void groups_are_found_by_both_names(void **state)
{
	static const char *const tables[] = {"CommunicationGroupMapping", "CommunicationGroup"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char sql[2000];
		PROFILE_AUTO p = {0};
		const struct capture *c;

		(void)snprintf(
		    sql, sizeof(sql),
		    "%sCREATE TABLE %s (type TEXT,rank_set TEXT,group_name TEXT,group_id TEXT,pg_name TEXT);"
		    "INSERT INTO %s VALUES ('collective','(0,1)','71','ip%%1','dp'),"
		    "('p2p','(1,2)','72','ip%%2','pp');"
		    "INSERT INTO ClusterCommunicationTime VALUES "
		    "('step2',0,'a','ip%%1',1,2.5,0.5,1,0.25,1.5),('step2',0,'b','ip%%2',1,1,1,0,0,0),"
		    "('step2',0,'c','73',1,1,1,0,0,0);"
		    "INSERT INTO ClusterCommunicationBandwidth VALUES"
		    "('step2',0,'a','ip%%1','HCCS',3,0.2,15,0.5,1,2,0.15);",
		    TIMES LINKS, tables[i], tables[i]);
		read_good("cluster_analysis.db", sql, &p);
		c = &p.captures[0];
		assert_int_equal(c->communication_count, 3);
		assert_string_equal(text_of(c, c->communications[0].group), "(0, 1)");
		assert_string_equal(text_of(c, c->communications[1].group), "p2p");
		assert_true(!c->communications[0].point_to_point && c->communications[1].point_to_point);
		/* one that the mapping does not know keeps its name */
		assert_string_equal(text_of(c, c->communications[2].group), "73");
		assert_true(c->communications[0].wait_us == 1000 &&
		            c->communications[0].synchronization_us == 250 &&
		            c->communications[0].idle_us == 1500);
		assert_true(c->communications[0].links[0].large_packet_ratio == 0.5 &&
		            c->communications[0].links[0].packets[0].count == 2 &&
		            fabs(c->communications[0].links[0].packets[0].total_us - 150) < 1e-9);
	}
}

/* The older table of the links calls a link by its way of transport. */
static void older_links(void **state)
{
	PROFILE_AUTO p = {0};
	const struct communication_op *op;

	(void)state;
	read_good("cluster_analysis.db",
	          "CREATE TABLE ClusterCommAnalyzerBandwidth (rank_set,step,rank_id,hccl_op_name,group_name,"
	          "transport_type,transit_size,transit_time,bandwidth,large_packet_ratio,package_size,count,"
	          "total_duration);"
	          "INSERT INTO ClusterCommAnalyzerBandwidth VALUES "
	          "('(0,1)','step2',1,'a','g','SIO',3,0.2,15,0,1.5,2,0.2);",
	          &p);
	assert_true(p.count == 1 && p.captures[0].rank == 1);
	op = p.captures[0].communications;
	assert_int_equal(op->link_count, 1);
	assert_string_equal(op->links[0].name, "SIO");
	assert_true(op->links[0].bytes == 3000000 && op->links[0].packets[0].bytes == 1500000);
}

/* Tables of the hosts, of the links, and one of each recipe stand beside, and are nobody's. */
static void other_tables_of_a_cluster_change_nothing(void **state)
{
	PROFILE_AUTO p = {0};

	(void)state;
	read_good(
	    "cluster_analysis.db",
	    STEPS STEP_ROWS
	    "CREATE TABLE HostInfo (hostUid,hostName); INSERT INTO HostInfo VALUES ('1','h');"
	    "CREATE TABLE RankDeviceMap (rankId,deviceId,hostUid); INSERT INTO RankDeviceMap VALUES "
	    "(7,0,'1');"
	    "CREATE TABLE ClusterCommunicationMatrix (step,hccl_op_name,group_name,src_rank,dst_rank,"
	    "transport_type,transit_size,transit_time,bandwidth);"
	    "INSERT INTO ClusterCommunicationMatrix VALUES ('step2','a','71',0,1,'HCCS',3,0.2,15);"
	    "CREATE TABLE ComputeOpAllRankStats (OpType,Count); INSERT INTO ComputeOpAllRankStats VALUES "
	    "('Add',3);",
	    &p);
	assert_int_equal(p.count, 3);
	assert_int_equal(p.warnings.count, 0);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(p.captures[i].communication_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ranks_and_stages),
	    cmocka_unit_test(operators_of_all_ranks),
	    cmocka_unit_test(stages_are_named_or_counted),
	    cmocka_unit_test(groups_are_found_by_both_names),
	    cmocka_unit_test(other_tables_of_a_cluster_change_nothing),
	    cmocka_unit_test(older_links),
	    cmocka_unit_test(older_names_and_hostile_rows),
	};

	return cmocka_run_group_tests_name("cluster databases", tests, NULL, NULL);
}
