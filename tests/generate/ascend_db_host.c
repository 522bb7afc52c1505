#include "tests/generate/ascend_db.h"
#include "tests/generate/stack.h"
#include <inttypes.h>
#include <stdio.h>

/* CANN_API and PYTORCH_API. The framework writes its times as text. */

enum { HOST_PID = 3100412, DEQUEUE_TID = 3100955 };
enum { CHAIN_ANY, CHAIN_METRIC, CHAIN_LOSS };
enum { RUNTIME = 5000, HCCL = 5500, NODE = 10000, ACL = 20000, OP = 50001, QUEUE = 50002 };

struct host {
	struct ascend_db *db;
	sqlite3_stmt *cann, *framework;
	int64_t connection;
	const char *dims; /* of the operator that is being written, or NULL */
	int64_t chain;    /* number of its call stack */
};

static int64_t thread(int64_t tid)
{
	return (int64_t)HOST_PID << 32 | tid;
}

static void cann(struct host *h, int64_t type, const char *name, int64_t id, int64_t tid, int64_t start,
                 int64_t dur)
{
	ascend_db_row(h->db, h->cann, "iiiiis", start, start + dur, type, thread(tid), id, name);
}

static void framework(struct host *h, int64_t type, const char *name, int64_t tid, int64_t start, int64_t dur)
{
	if (type == QUEUE)
		ascend_db_row(h->db, h->framework, "TTiisnnnnni", start, start + dur, thread(tid),
		              h->connection++, name, type);
	else
		ascend_db_row(h->db, h->framework, "TTinsiinsii", start, start + dur, thread(tid), name,
		              INT64_C(-1), INT64_C(0), h->dims ? h->dims : "", h->chain, type);
}

static void kernel(struct host *h, int64_t index)
{
	const struct ascend_options *o = h->db->o;
	const struct ascend_kernel *k = &h->db->r->kernels[index];
	const char *op = ascend_works[k->work].op;
	int64_t id = 900 + index;
	char name[80], dims[500];

	ascend_dims(o, k, "\r\n", dims, sizeof(dims));
	h->dims = dims;
	framework(h, OP, k->first && o->name ? o->name : op, HOST_PID, k->op, k->op_dur);
	h->dims = NULL;
	framework(h, QUEUE, "Enqueue", HOST_PID, k->op + 1000, 1500);
	snprintf(name, sizeof(name), "Dequeue@%.60s", op);
	framework(h, QUEUE, name, DEQUEUE_TID, k->task, k->task_dur);
	cann(h, NODE, "launch", id, DEQUEUE_TID, k->launch, k->launch_dur);
	if (o->level == 2)
		cann(h, RUNTIME, "KernelLaunch", id + 200000000, DEQUEUE_TID, k->launch, k->launch_dur);
	if (!k->sync)
		return;
	cann(h, ACL, "aclrtSynchronizeStreamWithTimeout", id + 100000000, HOST_PID, k->sync_start, k->sync);
	h->chain = k->loss ? CHAIN_LOSS : CHAIN_METRIC;
	framework(h, OP, "aten::item", HOST_PID, k->sync_start, k->sync);
	h->chain = CHAIN_ANY;
}

static void link(struct host *h, int64_t index)
{
	const struct ascend_link *l = &h->db->r->links[index];

	framework(h, OP, ascend_link_op(l), HOST_PID, l->launch, l->launch_dur);
	/* api_statistic.csv of this generator calls all of them so */
	cann(h, HCCL, "hcom_allReduce_", 500000000 + index, DEQUEUE_TID, l->launch, l->launch_dur);
}

static void others(struct host *h)
{
	const struct ascend_rank *r = h->db->r;
	sqlite3_stmt *s = NULL;

	if (h->db->o->faults.given[FAULT_GARBAGE_COLLECTION]) {
		ascend_db_run(h->db,
		              "CREATE TABLE GC_RECORD (startNs INTEGER,endNs INTEGER,globalTid INTEGER)");
		s = ascend_db_insert(h->db, "INSERT INTO GC_RECORD VALUES (?,?,?)");
	}
	for (int64_t i = 0; i < r->call_count; i++) {
		const struct ascend_call *c = &r->calls[i];

		if (c->kind == CALL_GARBAGE)
			ascend_db_row(h->db, s, "iii", c->start, c->start + c->dur, thread(HOST_PID));
		else
			cann(h, ACL, ascend_call_name(c), 700000000 + i,
			     c->kind == CALL_COMPILE ? DEQUEUE_TID : HOST_PID, c->start, c->dur);
	}
	sqlite3_finalize(s);
	for (int64_t i = 0; i < r->copy_count; i++)
		cann(h, ACL, "aclrtMemcpyAsync", 600000000 + i, HOST_PID, r->copies[i].launch,
		     r->copies[i].launch_dur);
}

/* A row a frame, the innermost at depth 0; the exporter's rows have no order. */
static void stacks(struct host *h)
{
	sqlite3_stmt *s;

	ascend_db_run(h->db,
	              "CREATE TABLE PYTORCH_CALLCHAINS (id INTEGER, stack INTEGER, stackDepth INTEGER)");
	s = ascend_db_insert(h->db, "INSERT INTO PYTORCH_CALLCHAINS VALUES (?,?,?)");
	ascend_db_row(h->db, s, "isi", (int64_t)CHAIN_ANY, "train.py(57): <module>", INT64_C(0));
	for (int64_t depth = STACK_FRAMES - 1; depth >= 0; depth--) {
		ascend_db_row(h->db, s, "isi", (int64_t)CHAIN_LOSS, stack_frames(true)[depth], depth);
		ascend_db_row(h->db, s, "isi", (int64_t)CHAIN_METRIC, stack_frames(false)[depth], depth);
	}
	sqlite3_finalize(s);
}

void ascend_db_host(struct ascend_db *db)
{
	struct host h = {.db = db};
	char name[40];

	ascend_db_run(
	    db,
	    "CREATE TABLE CANN_API (startNs INTEGER,endNs INTEGER,type INTEGER,globalTid INTEGER,"
	    "connectionId INTEGER PRIMARY KEY,name INTEGER);"
	    "CREATE TABLE PYTORCH_API (startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, "
	    "name INTEGER, sequenceNumber INTEGER, fwdThreadId INTEGER, inputDtypes INTEGER, "
	    "inputShapes INTEGER, callchainId INTEGER, type INTEGER)");
	h.cann = ascend_db_insert(db, "INSERT INTO CANN_API VALUES (?,?,?,?,?,?)");
	h.framework = ascend_db_insert(db, "INSERT INTO PYTORCH_API VALUES (?,?,?,?,?,?,?,?,?,?,?)");
	for (int64_t i = 0; i < db->r->kernel_count; i++)
		kernel(&h, i);
	for (int64_t i = 0; i < db->r->link_count; i++)
		link(&h, i);
	others(&h);
	stacks(&h);
	for (int64_t i = 0; i < db->o->steps; i++) {
		const struct ascend_step *s = &db->r->steps[i];

		snprintf(name, sizeof(name), "ProfilerStep#%" PRId64, ASCEND_FIRST_STEP + i);
		framework(&h, OP, name, HOST_PID, s->start, s->end - s->start);
		framework(&h, OP, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", HOST_PID,
		          s->start + 2000, s->load);
	}
	sqlite3_finalize(h.cann);
	sqlite3_finalize(h.framework);
}
