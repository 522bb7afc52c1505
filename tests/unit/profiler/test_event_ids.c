/* The ids of events in the formats that have them: what the readers keep is enough to pair waits and records.
 */
#include "tests/unit/profiler/made_nsys.h"
#include "tests/unit/profiler/waited.h"

/* The pairs of a capture that was read: of the second kernel behind the first, and nothing else. */
static void reads_one_pair(const struct profile *p, const char *waits, const char *behind)
{
	EVENT_WAITS_AUTO w = {0};
	const struct capture *c = &p->captures[0];
	size_t pairs = 0;

	assert_int_equal(p->count, 1);
	find_waits(c, &w);
	for (size_t i = 0; i < w.count; i++) {
		if (w.items[i].behind == EVENT_WAIT_NOTHING)
			continue;
		pairs++;
		assert_string_equal(trace_text(&c->trace, c->trace.name[w.items[i].event], NULL), waits);
		assert_string_equal(trace_text(&c->trace, c->trace.name[w.items[i].behind], NULL), behind);
	}
	assert_int_equal(pairs, 1);
}

#define SPAN(cat, name, tid, ts, dur, args)                                                                  \
	"{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":0,\"tid\":" #tid ",\"ts\":" #ts     \
	",\"dur\":" #dur ",\"args\":{" args "}}"
#define CALL(name, ts, correlation) SPAN("cuda_runtime", name, 99, ts, 1, "\"correlation\":" #correlation)
#define WORK(name, stream, ts, dur, correlation)                                                             \
	SPAN("kernel", name, stream, ts, dur,                                                                \
	     "\"device\":0,\"stream\":" #stream ",\"correlation\":" #correlation)

/* The name of the stream comes behind the wait; 2^63 and other nonsense name no record; -1 as the stream,
 * where the event's own row tells it. */
static void kinetos_ids_are_kept(void **state)
{
	static const char *const streams[] = {"7", "\"7\"", "-1"};

	(void)state;
	for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
		PROFILE_AUTO p = {0};
		struct sb_error err = {0};
		char text[4000];
		struct text_file file = {"a.json", text, 0};

		snprintf(
		    text, sizeof(text),
		    "{\"schemaVersion\":1,\"traceEvents\":[" CALL("cudaLaunchKernel", 0, 1) "," WORK("a", 7, 5, 95, 1) "," CALL(
		        "cudaEventRecord", 3,
		        2) "," CALL("cudaStreamWaitEvent", 5,
		                    3) "," SPAN("cuda_sync", "Stream Wait Event", 20, 5, 1,
		                                "\"wait_on_stream\":%s,\"wait_on_cuda_event_"
		                                "record_corr_id\":2,"
		                                "\"stream\":20,\"device\":0,\"correlation\":"
		                                "3") "," SPAN("cuda_sync", "Stream Wait Event", 20, 5, 1,
		                                              "\"wait_on_stream\":7,\"wait_"
		                                              "on_cuda_event_record_corr_"
		                                              "id\":9223372036854775808,"
		                                              "\"device\":0,\"correlation\":"
		                                              "3") "," SPAN("cuda_sync",
		                                                            "Stream Wait "
		                                                            "Event",
		                                                            20, 5, 1,
		                                                            "\"wait_on_"
		                                                            "stream\":[7],"
		                                                            "\"wait_on_cuda_"
		                                                            "event_record_"
		                                                            "corr_id\":null,"
		                                                            "\"device\":0") "%s," CALL("cudaL"
		                                                                                       "aunch"
		                                                                                       "Kerne"
		                                                                                       "l",
		                                                                                       7,
		                                                                                       4) "," WORK("b",
		                                                                                                   20,
		                                                                                                   101,
		                                                                                                   9,
		                                                                                                   4) ","
		                                                                                                      "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":0,\"tid\":7,"
		                                                                                                      "\"args\":{\"name\":\"stream 7 \"}}]}",
		    streams[i],
		    i == 2 ? "," SPAN("cuda_event", "cudaEventRecord", 7, 100, 0,
		                      "\"device\":0,\"stream\":7,\"correlation\":2")
		           : "");
		file.len = strlen(text);
		assert_int_equal(read_texts(&file, 1, &p, &err), SB_OK);
		reads_one_pair(&p, "b", "a");
	}
}

#define SYNC_TABLE                                                                                           \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER, "   \
	"contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER, "  \
	"eventId INTEGER, eventSyncId INTEGER);"
#define EVENT_TABLE                                                                                          \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId INTEGER, contextId INTEGER, streamId "        \
	"INTEGER, "                                                                                          \
	"correlationId INTEGER, globalPid INTEGER, eventId INTEGER, eventSyncId INTEGER);"

/* The event 6 is recorded twice on stream 7, by calls 2 (behind a) and 5 (behind later), which comes behind
 * the wait of call 3; and in another context on stream 9. By the synchronisation id 41 the record is told at
 * once. */
static void nsights_ids_are_kept(void **state)
{
	(void)state;
	for (int exact = 0; exact < 2; exact++) {
		PROFILE_AUTO p = {0};
		struct sb_error err = {0};
		char sql[4000];

		snprintf(sql, sizeof(sql),
		         STRINGS KERNELS CALLS SYNC_TABLE EVENT_TABLE
		         "INSERT INTO StringIds VALUES (1, 'a'), (2, 'b'), (3, 'later'), (4, 'other'),"
		         "(5, 'cudaLaunchKernel'), (6, 'cudaEventRecord'), (7, 'cudaStreamWaitEvent');"
		         "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (0, 1, " T70 ", 1, 5), (3, 4, " T70
		         ", 2, 6), (5, 6, " T70 ", 3, 7), (7, 8, " T70 ", 4, 5), (9, 10, " T70
		         ", 5, 6), (1, 2, " T70 ", 6, 5), (8, 9, " T70 ", 7, 5);"
		         "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5, 100, 0, 1, 7, 1, " P7 ", 1, 1),"
		         "(101, 110, 0, 1, 20, 4, " P7 ", 2, 2), (100, 130, 0, 1, 7, 7, " P7 ", 3, 3),"
		         "(5, 100, 0, 2, 9, 6, " P7 ", 4, 4);"
		         "INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0, 1, 7, 2, " P7 ", 6, %s),"
		         "(0, 1, 7, 5, " P7 ", 6, %s), (0, 2, 9, 2, " P7 ", 6, %s);"
		         "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (5, 6, 0, 1, 20, 3, " P7
		         ", 2, %s, %s), (6, 7, 0, 1, 20, 3, " P7
		         ", 2, 4294967295, 4294967295), (6, 7, 0, 1, 20, "
		         "3, " P7 ", 2, 9223372036854775807, -5);",
		         exact ? "41" : "NULL", exact ? "42" : "NULL", exact ? "43" : "4294967295",
		         exact ? "77" : "6", exact ? "41" : "4294967295");
		assert_int_equal(read_sql("x.sqlite", sql, &p, &err), SB_OK);
		reads_one_pair(&p, "b", "a");
	}
}

/* In our own format the record's event on the device tells the stream. */
static void our_own_ids_are_kept(void **state)
{
	static const char text[] =
	    "{\"signalbox_profile\":1,\"lanes\":[{\"id\":0,\"thread\":\"m\"},{\"id\":1,\"thread\":\"7\","
	    "\"device\":0},"
	    "{\"id\":2,\"thread\":\"20\",\"device\":0}],\"events\":["
	    "{\"lane\":0,\"kind\":\"host_call\",\"name\":\"launch\",\"start_ns\":0,\"duration_ns\":1,"
	    "\"link\":1},"
	    "{\"lane\":1,\"kind\":\"kernel\",\"name\":\"a\",\"start_ns\":5,\"duration_ns\":95,\"link\":1},"
	    "{\"lane\":0,\"kind\":\"host_call\",\"name\":\"record\",\"start_ns\":2,\"duration_ns\":1,"
	    "\"link\":0},"
	    "{\"lane\":1,\"kind\":\"device_other\",\"name\":\"record\",\"start_ns\":100,\"duration_ns\":0,"
	    "\"link\":0},"
	    "{\"lane\":0,\"kind\":\"host_call\",\"name\":\"wait\",\"start_ns\":4,\"duration_ns\":1,\"link\":"
	    "3},"
	    "{\"lane\":2,\"kind\":\"wait\",\"name\":\"wait\",\"start_ns\":4,\"duration_ns\":96,\"link\":3,"
	    "\"record\":0,"
	    "\"group\":\"20\",\"sequence\":1},"
	    "{\"lane\":0,\"kind\":\"host_call\",\"name\":\"launch\",\"start_ns\":6,\"duration_ns\":1,"
	    "\"link\":4},"
	    "{\"lane\":2,\"kind\":\"kernel\",\"name\":\"b\",\"start_ns\":101,\"duration_ns\":9,\"link\":4}]}";
	PROFILE_AUTO p = {0};
	struct sb_error err = {0};
	const struct text_file file = {"x.json", text, sizeof(text) - 1};

	(void)state;
	assert_int_equal(read_texts(&file, 1, &p, &err), SB_OK);
	assert_int_equal(p.warnings.count, 0);
	reads_one_pair(&p, "b", "a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(kinetos_ids_are_kept),
	    cmocka_unit_test(nsights_ids_are_kept),
	    cmocka_unit_test(our_own_ids_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
