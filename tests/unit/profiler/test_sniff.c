#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "profiler/read/ascend.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct look {
	const char *path, *head;
	size_t len; /* 0: strlen(head) */
	const char *want;
};

static struct sniff sniff_of(const struct look *l)
{
	return (struct sniff){
	    .path = l->path, .head = l->head, .len = l->len ? l->len : strlen(l->head), .whole = true};
}

static void other_files_get_a_helping_sentence(void **state)
{
	static const struct look looks[] = {
	    {"a.json", "\x89PNG\r\n\x1a\n", 0, "PNG"},
	    {"a", "\xFF\xD8\xFF\xE0", 0, "JPEG"},
	    {"a", "%PDF-1.7", 0, "PDF"},
	    {"a",
	     "\x7F"
	     "ELF\2\1\1",
	     0, "ELF"},
	    {"snap.pickle", "\x80\x04\x95", 0, "pickle"},
	    {"t.pftrace", "\n\x10\0\1", 4, "Perfetto"},
	    {"a.db-shm", "\x18\xe2\x2d\0\0\0\0\0", 8, "database"},
	    {"r.nsys-rep", "\1\2\3\0\5", 5, "nsys"},
	    {"a.bin", "\1\2\0\4", 4, "binary"},
	    {"a.xz",
	     "\xFD"
	     "7zXZ\0",
	     6, "xz"},
	    {"t.raw", "[[-1, 1, 37888, 7], [-1, 1, 512, 7]", 0, "memory timeline"},
	    {"et.json", "{\"schema\": \"1.1.1-chakra.0.0.4\", \"nodes\": [", 0, "Chakra"},
	    {"et.json", "{\"schema\": \"1\", \"pid\": 1, \"nodes\": []}", 0, "Chakra"},
	    {"t.json", "\n<!DOCTYPE HTML><html>502", 0, "HTML"},
	    {"t.json", "<html><body>", 0, "HTML"},
	    {"t.xml", "<?xml version=\"1.0\"?>", 0, "XML"},
	    {"a.json", "{\"steps\": {\"columns\": []}}", 0, "JSON"},
	    {"a.json", "[[1, 2, 3], [4]]", 0, "JSON"},
	    {"a.csv", "1,2,3,x\n", 0, "without a header"},
	    {"gpu.csv", "Time (%),Total Time (ns),Instances,Avg (ns),Name\n12.0,5,1,5.0,k\n", 0,
	     "nsys export"},
	    {"gpu.csv", "Processing [r.sqlite] with [...]\n\nTime (%),Total Time (ns),Instances\n", 0,
	     "sums only"},
	    {"gpu.csv",
	     "Time(%),Total Time (ns),Instances,Average,Minimum,Maximum,Name\n12.0,5,1,5.0,5,5,k\n", 0,
	     "nsys export"},
	    {"r.json",
	     "{\"Type\": 80, \"CudaEvent\": {\"eventClass\": 3, \"startNs\": \"5\"}}\n{\"Type\": 48}\n", 0,
	     "nsys export"},
	    {"r.json", "{\"Type\": 48, \"NvtxEvent\": {\"Type\": 59}}\n", 0, "nsys export"},
	    {"r.arrow", "ARROW1\0\0\1\2", 10, "Arrow"},
	    {"r.parquet", "PAR1\x15\0", 6, "Parquet"},
	    {"a.txt", "hello\n", 0, "text"},
	    {"a", " \n\t ", 0, "blanks"},
	};
	const struct sniff empty = {.path = "a", .head = "", .whole = true};

	(void)state;
	for (size_t i = 0; i < COUNT(looks); i++) {
		struct sniff s = sniff_of(&looks[i]);
		const char *hint = sniff_hint(&s);

		assert_non_null(hint);
		if (!strstr(hint, looks[i].want))
			fail_msg("%zu: %s", i, hint);
	}
	assert_string_equal(sniff_hint(&empty), "The file is empty.");
}

static void known_files_find_their_reader(void **state)
{
	static const struct look looks[] = {
	    {"any.csv", "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us)\n", 0,
	     "kernel_details.csv"},
	    {"any.csv", "\xEF\xBB\xBFName,Accelerator Core,Start Time(us),Duration(us)\r\n", 0,
	     "kernel_details.csv"},
	    {"a/kernel_details.csv", "50,a,1,2,3\n", 0, "kernel_details.csv"},
	    {"any.csv", "Step,Computing,Communication,Free,Stage\n", 0, "step_trace_time.csv"},
	    {"any.csv", "OP Type,Core Type,Count,Total Time(us)\n", 0, "op_statistic.csv"},
	    {"any.csv", "Level,API Name,Time(us),Count\n", 0, "api_statistic.csv"},
	    {"any.csv", "1,2,3,4\n", 0, "table without a header"},
	    {"any.json", "{\"step50\": {\"p2p\": {}, \"collective\": {", 0, "communication.json"},
	    {"any.json", "{\"step\": {\"x\": {\"y\": {\"Communication Time Info\"", 0, "communication.json"},
	    {"x", "Step,Type,Index,Computing,Communication,Free,Stage\n", 0, "cluster_step_trace_time.csv"},
	    {"x", "{\"(0, 1)\": {\"step50\": {\"a\": {\"0\": {\"Communication Time Info\"", 0,
	     "cluster_communication.json"},
	    {"x", "{\n \"p2p\": {\"step50\": {\"a\": {\"0\": {\"Communication Time Info\"", 0,
	     "cluster_communication.json"},
	    {"x", "{\"collective\": [[0, 1]], \"p2p\": []}", 0, "communication_group.json"},
	    {"x", "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB)\n", 0, "memory_record.csv"},
	    {"x", "Device_id,Component,Timestamp(us),Total Reserved(MB),Device\n", 0, "npu_module_mem.csv"},
	    {"x", "Device_id,event,ddr(KB),hbm(KB),memory(KB),timestamp(us)\n", 0, "npu_mem.csv"},
	    {"x", "Name,Size(KB),Allocation Time(us)\n", 0, "operator_memory.csv"},
	    {"x", "Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us)\n", 0, "op_summary"},
	    {"x", "kernel_name,kernel_type,task_time(us),task_start(us)\n", 0, "task_time"},
	    {"x", "Device_id,OP Type,Count,Total Time(us),Ratio(%)\n", 0, "communication_statistic"},
	    {"x", "Iteration ID,FP Start(us),Iteration Time(us),FP to BP Time(us)\n", 0, "step_trace"},
	    {"info.json.0", "{\"DeviceInfo\": [{\"id\": 0", 0, "info.json"},
	    {"any.json", "{\"config\": {\"common_config\": {", 0, "profiler_info.json"},
	    {"profiler_info_1.json", "{\"rank_id\": 1}", 0, "profiler_info.json"},
	    {"any.json", "{\"ENV_VARIABLES\": {", 0, "profiler_metadata.json"},
	    {"any.json", "[{\"ph\": \"X\", \"name\": \"a\", \"ts\": \"1736408883688177.930\"", 0,
	     "trace_view.json"},
	    {"any.json", "{\"traceEvents\": [{\"ph\": \"M\", \"args\": {\"name\": \"Ascend Hardware\"}}", 0,
	     "trace_view.json"},
	    {"a/trace_view.json", "[{\"ph\": \"X\", \"name\": \"a\", \"ts\": 17364, \"cat\": \"cpu_op\"", 0,
	     "trace_view.json"},
	    {"any.json",
	     "{\"schemaVersion\": 1, \"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\", \"ts\": 5.1", 0,
	     "kineto trace"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(looks); i++) {
		struct sniff s = sniff_of(&looks[i]);
		const struct format_reader *best = NULL;
		int score = 0;

		assert_null(ascend_unused(&s));
		for (size_t k = 0; FORMAT_READERS[k]; k++) {
			int n = FORMAT_READERS[k]->sniff(&s);

			if (n > score) {
				best = FORMAT_READERS[k];
				score = n;
			}
		}
		if (!best || strcmp(best->name, looks[i].want) != 0)
			fail_msg("%zu: %s", i, best ? best->name : "nobody");
	}
}

static void known_files_that_are_not_used(void **state)
{
	static const struct look looks[] = {
	    {"x", "Name,Input Shapes,Call Stack,Host Self Duration(us)\n", 0, "host operators"},
	    {"x", "Device_id,Stream Id,Task Id,Hit Rate,Victim Rate,Op Name\n", 0, "L2 cache"},
	    {"x", "Device_id,Timestamp(us),Action,Source,Cached Buffer Size\n", 0, "dp"},
	    {"x", "Name,Input Shapes,Host Self Duration(us)\n", 0, "host operators"},
	    {"x", "Device_id,Op Name,Model Name,Graph ID,Node Index Start,Node Index End,Size(KB)\n", 0,
	     "static operators"},
	    /* msprof, with the device in front and, before, without it */
	    {"x", "Device_id,Model Name,Model ID,Fusion Op,Original Ops,Memory Input(KB)\n", 0, "fusion_op"},
	    {"x", "Device_id,Event,DDR(KB),HBM(KB),Memory(KB),Timestamp(us)\n", 0, "npu_mem"},
	    {"x", "Mode,Max,Min,Average\n", 0, "links or memory"},
	    {"x", "Mode,Min,Max,Avg\n", 0, "links or memory"},
	    {"x", "Metric,Read(MB/s),Write(MB/s)\n", 0, "links or memory"},
	    {"x",
	     "Device_id,Timestamp(us),Bandwidth(MB/s),Rx Bandwidth efficiency(%),rxPacket/s,rxError "
	     "rate(%),rxDropped rate(%)\n",
	     0, "nic, roce"},
	    {"x", "Device_id,Cpu Type,User(%),Sys(%),IoWait(%),Irq(%),Soft(%),Idle(%)\n", 0, "CPU"},
	    {"x", "PID,Name,CPU(%)\n", 0, "CPU"},
	    {"x", "Device_id,Total Cpu Numbers,Occupied Cpu Numbers,Recommend Cpu Numbers\n", 0, "CPU"},
	    {"x",
	     "Device_id,Peak Disk Read(KB/s),Recommend Disk Read(KB/s),Peak Disk Write(KB/s),Recommend Disk "
	     "Write(KB/s)\n",
	     0, "disk"},
	    {"x", "Device_id,Netcard Speed(KB/s),Peak Used Speed(KB/s),Recommend Speed(KB/s)\n", 0,
	     "network"},
	    {"c/cluster_communication_matrix.json", "{\"(0, 1)\": {}}", 0, "ranks in a cluster"},
	    {"x", "{\"step\": {\"collective\": {\"a-top1@1\": {\"0-1\": {\"Transport Type\": \"HCCS\"", 0,
	     "pairs of ranks: "},
	    {"x", "{\"(0, 1)\": {\"step50\": {\"a\": {\"0-1\": {\"Transport Type\": \"HCCS\"", 0,
	     "ranks in a cluster"},
	    {"r_ascend_pt/PROF_1/host/data/x", "{}", 0, "raw data"},
	    {"r_ascend_pt/FRAMEWORK/torch.op_range", "x", 0, "raw data"},
	    {"a/r_ascend_ms/logs/x.log", "x", 0, "raw data"},
	    {"p/gpu_timeline_display_0.json", "[{\"name\": \"Op\", \"ph\": \"X\", \"tid\": \"0\"}]", 0,
	     "MindInsight"},
	};
	static const struct look used[] = {
	    {"r_ascend_pt/profiler_info.json", "{}", 0, NULL},
	    {"r_ascend_pt/ASCEND_PROFILER_OUTPUT/a.txt", "x", 0, NULL},
	    {"logs/a.txt", "x", 0, NULL},
	    /* a trace may be called anything */
	    {"timeline_display_1.json", "[{\"ph\": \"X\", \"cat\": \"kernel\"}]", 0, NULL}};

	(void)state;
	for (size_t i = 0; i < COUNT(looks); i++) {
		struct sniff s = sniff_of(&looks[i]);
		const char *why = ascend_unused(&s);

		assert_non_null(why);
		if (!strstr(why, looks[i].want))
			fail_msg("%zu: %s", i, why);
	}
	for (size_t i = 0; i < COUNT(used); i++) {
		struct sniff s = sniff_of(&used[i]);

		assert_null(ascend_unused(&s));
	}
}

static void keys_of_captures(void **state)
{
	static const char *const keys[][2] = {
	    {"a/r_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv", "a/r_ascend_pt"},
	    {"r_ascend_pt/profiler_info_0.json", "r_ascend_pt"},
	    {"r_ascend_pt/ASCEND_PROFILER_OUTPUT/odd.csv", "r_ascend_pt"},
	    {"r_ascend_ms/x.json", "r_ascend_ms"},
	    {"o_ascend_pt/i_ascend_pt/x.json", "o_ascend_pt/i_ascend_pt"},
	    {"up/ASCEND_PROFILER_OUTPUT/trace_view.json", "up"},
	    {"up/profiler_info_12.json", "up"},
	    {"ASCEND_PROFILER_OUTPUT/trace_view.json", "."},
	    {"profiler_info.json", "."},
	    {"kernel_details.csv.gz", "."},
	    {"d/trace_view.json", "d"},
	    {"d/kernels_rank3.csv", "d/kernels_rank3.csv"},
	    {"x_ascend_pt", "x_ascend_pt"},
	};
	char key[64];

	(void)state;
	for (size_t i = 0; i < COUNT(keys); i++) {
		ascend_key(keys[i][0], key, sizeof(key));
		assert_string_equal(key, keys[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(other_files_get_a_helping_sentence),
	    cmocka_unit_test(known_files_find_their_reader),
	    cmocka_unit_test(known_files_that_are_not_used),
	    cmocka_unit_test(keys_of_captures),
	};

	return cmocka_run_group_tests_name("sniff", tests, NULL, NULL);
}
