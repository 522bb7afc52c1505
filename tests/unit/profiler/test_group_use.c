#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "profiler/communication.h"
#include "profiler/read/group_use.h"
#include "tests/unit/profiler/made_database.h"
#include "tests/unit/profiler/made_profile.h"

/* What communication groups are for (research page ascend-formats 1.11 and 4): from the file to the answer.
 */

static void read_good(const struct text_file *files, size_t count, struct profile *out)
{
	struct sb_error err;

	if (read_texts(files, count, out, &err) != SB_OK)
		fail_msg("%s: %s", err.word, err.text);
}

/* The use of a group; NULL when it is not known. */
static const char *use_of(const struct communication_report *r, const char *group)
{
	for (size_t i = 0; i < r->domain_count; i++)
		if (strcmp(sb_strings_get(r->strings, r->domains[i].group, NULL), group) == 0)
			return r->domains[i].parallelism != 0
			           ? sb_strings_get(r->strings, r->domains[i].parallelism, NULL)
			           : NULL;
	fail_msg("no domain %s", group);
	return NULL;
}

/* By hand: 29 * 97 + 98 = 2911, 131 * 97 + 98 = 12805, and 2911 * 2^32 + 12805. */
static void hash_of_two_bytes(void **state)
{
	char hash[GROUP_HASH_MAX];

	(void)state;
	group_hash("ab", 2, hash);
	assert_string_equal(hash, "12502649811461");
	group_hash("", 0, hash);
	assert_string_equal(hash, "0");
}

#define TIMES(us)                                                                                            \
	"{\"Communication Time Info\": {\"Elapse Time(ms)\": 1, \"Transit Time(ms)\": 0." us                 \
	"}, \"Communication Bandwidth Info\": {}}"
/* The text files call the group by its hash, the metadata by HCCL's own name. */
static void metadata_names_the_groups_of_text_files(void **state)
{
#define DIR "h_0_20250109084453123_ascend_pt/"
	static const struct text_file FILES[] = {
	    {DIR "profiler_info_0.json", "{\"rank_id\": 0, \"common_config\": {}}", 0},
	    {DIR "profiler_metadata.json",
	     "{\"parallel_group_info\": {\"ab\": {\"group_name\": \"tp\", \"group_rank\": 0, "
	     "\"global_ranks\": [0, 1]}, \"ac\": {\"group_name\": \"dp_cp\", \"group_rank\": 0, "
	     "\"global_ranks\": [0, 2]}}}",
	     0},
	    {DIR "ASCEND_PROFILER_OUTPUT/communication.json",
	     "{\"step5\": {\"p2p\": {}, \"collective\": {\"hcom_allReduce__461_0_1@12502649811461\": " TIMES(
	         "5") ", \"hcom_allReduce__1_0_1@77\": " TIMES("5") "}}}",
	     0},
	    {DIR "ASCEND_PROFILER_OUTPUT/kernel_details.csv",
	     "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us)\n5,a,Add,AI_CORE,1,2\n", 0},
	};
	PROFILE_AUTO p = {0};
	COMMUNICATION_AUTO r = {0};

	(void)state;
	read_good(FILES, 4, &p);
	assert_int_equal(p.captures[0].communication_count, 2);
	assert_int_equal(communication_compute(&p, 0.2, &r, NULL), SB_OK);
	assert_string_equal(use_of(&r, "12502649811461"), "tp");
	assert_null(use_of(&r, "77"));
}

#define BODY "\"0\": " TIMES("5") ", \"1\": " TIMES("5")

/* cluster_communication.json knows sets of ranks only: one with two uses is told for neither. */
static void cluster_groups_are_named_by_their_ranks(void **state)
{
	static const struct text_file FILES[] = {
	    {"cluster_analysis_output/cluster_communication.json",
	     "{\"(0, 1)\": {\"step2\": {\"hcom_allReduce__1_0_1@77\": {" BODY
	     "}}}, \"(0, 11)\": {\"step2\": {\"hcom_allReduce__2_0_1@78\": {" BODY "}}}}",
	     0},
	    {"cluster_analysis_output/communication_group.json",
	     "{\"collective\": [[0, 1]], \"p2p\": [], \"comm_group_parallel_info\": ["
	     "{\"type\": \"collective\", \"rank_set\": [1, 0], \"group_name\": \"77\", \"group_id\": \"ip\", "
	     "\"pg_name\": \"tp\"}, {\"rank_set\": [0, 11], \"pg_name\": \"pp\"}, "
	     "{\"rank_set\": [0, 11], \"pg_name\": \"embd\"}]}",
	     0},
	};
	PROFILE_AUTO p = {0};
	COMMUNICATION_AUTO r = {0};

	(void)state;
	read_good(FILES, 2, &p);
	assert_int_equal(communication_compute(&p, 0.2, &r, NULL), SB_OK);
	assert_int_equal(r.domain_count, 2);
	assert_string_equal(use_of(&r, "(0, 1)"), "tp");
	assert_null(use_of(&r, "(0, 11)"));
}

static void cluster_database_names_its_groups(void **state)
{
	MADE_AUTO db = made_database(
	    "CREATE TABLE CommunicationGroupMapping (type,rank_set,group_name,group_id,pg_name);"
	    "INSERT INTO CommunicationGroupMapping VALUES ('collective','(0,1)','71','x','dp'),"
	    "('p2p','(0,1)','72','y','pp');"
	    "CREATE TABLE ClusterStepTraceTime (step,type,\"index\",computing);"
	    "INSERT INTO ClusterStepTraceTime VALUES (2,'rank',0,1),(2,'rank',1,1);"
	    "CREATE TABLE ClusterCommunicationTime (step,rank_id,hccl_op_name,group_name,elapsed_time,"
	    "transit_time,wait_time,synchronization_time,idle_time);"
	    "INSERT INTO ClusterCommunicationTime VALUES ('step2',0,'hcom_allReduce__1_0','71',2,1,1,1,0),"
	    "('step2',1,'hcom_allReduce__1_0','71',2,1,1,1,0);");
	const struct text_file file = {"cluster_analysis.db", db.data, db.len};
	PROFILE_AUTO p = {0};
	COMMUNICATION_AUTO r = {0};

	(void)state;
	read_good(&file, 1, &p);
	assert_int_equal(communication_compute(&p, 0.2, &r, NULL), SB_OK);
	assert_string_equal(use_of(&r, "(0, 1)"), "dp");
}

/* What a capture that is not used knew goes over to the one that is. */
static void uses_are_lent(void **state)
{
	struct capture a = {0}, b = {0};

	(void)state;
	assert_int_equal(trace_init(&a.trace), SB_OK);
	assert_int_equal(trace_init(&b.trace), SB_OK);
	assert_int_equal(group_use_add_id(&a, "ab", 2, "tp", 2), SB_OK);
	assert_int_equal(group_use_add_id(&a, "", 0, "tp", 2), SB_OK);
	assert_int_equal(group_use_add(&a, "x", 1, "", 0), SB_OK);
	assert_int_equal(a.group_use_count, 2);
	assert_int_equal(group_use_lend(&b, &a), SB_OK);
	assert_int_equal(b.group_use_count, 2);
	assert_string_equal(trace_text(&b.trace, b.group_uses[0].group, NULL), "ab");
	assert_string_equal(trace_text(&b.trace, b.group_uses[1].group, NULL), "12502649811461");
	assert_string_equal(trace_text(&b.trace, b.group_uses[1].use, NULL), "tp");
	capture_free(&a);
	capture_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(hash_of_two_bytes),
	    cmocka_unit_test(metadata_names_the_groups_of_text_files),
	    cmocka_unit_test(cluster_groups_are_named_by_their_ranks),
	    cmocka_unit_test(cluster_database_names_its_groups),
	    cmocka_unit_test(uses_are_lent),
	};

	return cmocka_run_group_tests_name("uses of groups", tests, NULL, NULL);
}
