#ifndef SB_TESTS_UNIT_PROFILER_ASCEND_SQL_H
#define SB_TESTS_UNIT_PROFILER_ASCEND_SQL_H
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/unit/profiler/made_database.h"
#include "tests/unit/profiler/made_profile.h"

/* Small databases of Ascend captures, as SQL. */

/* Two kernels and a collective of 100 ns units, with everything that names them. */
#define NAMES                                                                                                \
	"CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY,value TEXT);"                                       \
	"INSERT INTO STRING_IDS VALUES (1,'MatMul_1'),(2,'MatMul'),(3,'AI_CORE'),(4,'Add_1'),(5,'Add'),"     \
	"(6,'AI_VECTOR_CORE'),(7,'KERNEL_AICORE'),(8,'hcom_allReduce__586_0_1'),(9,'hcom_allReduce_'),"      \
	"(10,'group'),(11,'\"2,3;3,4\"'),(12,'N/"                                                            \
	"A'),(13,'aic_mac_ratio'),(14,'aiv_vec_ratio'),(15,'launch'),"                                       \
	"(16,'Notify Wait'),(17,'Memcpy'),(18,'aten::add'),(19,'SDMA'),(20,'ProfilerStep#7');"
#define TASK                                                                                                 \
	"CREATE TABLE TASK "                                                                                 \
	"(startNs,endNs,deviceId,connectionId,globalTaskId,globalPid,taskType,contextId,streamId,"           \
	"taskId,modelId);"
#define COMPUTE                                                                                              \
	"CREATE TABLE COMPUTE_TASK_INFO "                                                                    \
	"(name,globalTaskId,blockDim,mixBlockDim,taskType,opType,inputFormats,"                              \
	"inputDataTypes,inputShapes,outputFormats,outputDataTypes,outputShapes,attrInfo);"
#define COLLECTIVE                                                                                           \
	"CREATE TABLE COMMUNICATION_OP "                                                                     \
	"(opName,startNs,endNs,connectionId,groupName,opId,relay,retry,dataType,"                            \
	"algType,count,opType);"
#define TRANSFER                                                                                             \
	"CREATE TABLE COMMUNICATION_TASK_INFO "                                                              \
	"(name,globalTaskId,taskType,planeId,groupName,notifyId,rdmaType,srcRank,"                           \
	"dstRank,transportType,size,dataType,linkType,opId);"
#define TWO_KERNELS                                                                                          \
	"INSERT INTO TASK VALUES (1000,1600,3,900,11,1,7,0,2,1,0),(2000,2100,3,901,12,1,7,0,2,2,0);"         \
	"INSERT INTO COMPUTE_TASK_INFO VALUES (1,11,24,0,3,2,12,12,11,12,12,11,12),"                         \
	"(4,12,8,0,6,5,12,12,11,12,12,11,12);"
#define ONE_COLLECTIVE "INSERT INTO COMMUNICATION_OP VALUES (8,1500,2500,950,10,1,0,0,11,12,100,9);"

#define STEPS                                                                                                \
	"CREATE TABLE StepTraceTime (step "                                                                  \
	"TEXT,computing,communication_not_overlapped,overlapped,communication,free,"                         \
	"stage,bubble,communication_not_overlapped_and_exclude_receive,preparing);"
#define TIMES                                                                                                \
	"CREATE TABLE CommAnalyzerTime "                                                                     \
	"(hccl_op_name,group_name,start_timestamp,elapse_time,transit_time,wait_time,"                       \
	"synchronization_time,idle_time,step,type);"
#define LINKS                                                                                                \
	"CREATE TABLE CommAnalyzerBandwidth "                                                                \
	"(hccl_op_name,group_name,transport_type,transit_size,transit_time,"                                 \
	"bandwidth,large_packet_ratio,package_size,count,total_duration,step,type);"

/* Reads one as a file of its own. */
static inline int read_sql(const char *path, const char *sql, struct profile *out, struct sb_error *err)
{
	MADE_AUTO db = made_database(sql);
	const struct text_file file = {path, db.data, db.len};

	return read_texts(&file, 1, out, err);
}

static inline void read_good(const char *path, const char *sql, struct profile *out)
{
	struct sb_error err;

	if (read_sql(path, sql, out, &err) != SB_OK)
		fail_msg("%s: %s", err.word, err.text);
}
#endif
