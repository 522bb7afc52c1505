#include "tests/generate/ascend_db.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* TASK and the tables that say what a task was. */

#define NO_VALUE INT64_C(4294967295)

struct device {
	struct ascend_db *db;
	sqlite3_stmt *task, *compute, *counter, *transfer, *collective;
};

static void create(struct ascend_db *db)
{
	static const char *const blocks[] = {"blockDim", "block_dim", "blockNum", "blockDim"};
	bool old = db->o->layout == ASCEND_OLD;
	bool new = db->o->layout == ASCEND_NEW;
	char sql[1024];

	ascend_db_run(
	    db, "CREATE TABLE TASK (startNs INTEGER,endNs INTEGER,deviceId INTEGER,connectionId INTEGER,"
	        "globalTaskId INTEGER,globalPid INTEGER,taskType INTEGER,contextId INTEGER,streamId INTEGER,"
	        "taskId INTEGER,modelId INTEGER)");
	snprintf(
	    sql, sizeof(sql),
	    "CREATE TABLE COMPUTE_TASK_INFO (name INTEGER,globalTaskId INTEGER PRIMARY KEY,%s INTEGER,"
	    "mixBlockDim INTEGER,taskType INTEGER,opType INTEGER,inputFormats INTEGER,inputDataTypes INTEGER,"
	    "inputShapes INTEGER,outputFormats INTEGER,outputDataTypes INTEGER,outputShapes INTEGER,"
	    "attrInfo INTEGER%s)",
	    blocks[db->o->layout], new ? ",opState INTEGER" : "");
	ascend_db_run(db, sql);
	ascend_db_run(
	    db, "CREATE TABLE COMMUNICATION_TASK_INFO (name INTEGER,globalTaskId INTEGER,taskType INTEGER,"
	        "planeId INTEGER,groupName INTEGER,notifyId INTEGER,rdmaType INTEGER,srcRank INTEGER,"
	        "dstRank INTEGER,transportType INTEGER,size INTEGER,dataType INTEGER,linkType INTEGER,"
	        "opId INTEGER);"
	        "CREATE INDEX CommunicationTaskIndex ON COMMUNICATION_TASK_INFO (globalTaskId)");
	snprintf(sql, sizeof(sql),
	         "CREATE TABLE COMMUNICATION_OP (opName INTEGER,startNs INTEGER,endNs INTEGER,connectionId "
	         "INTEGER,"
	         "groupName INTEGER,opId INTEGER PRIMARY KEY,relay INTEGER,retry INTEGER,dataType INTEGER,"
	         "algType INTEGER,count NUMERIC%s%s)",
	         old ? "" : ",opType INTEGER", new ? ",deviceId INTEGER" : "");
	ascend_db_run(db, sql);
	if (db->o->level > 0)
		ascend_db_run(db,
		              "CREATE TABLE TASK_PMU_INFO (globalTaskId INTEGER,name INTEGER,value NUMERIC)");
}

static int64_t task(struct device *d, int64_t start, int64_t dur, int64_t stream, int64_t connection,
                    const char *type)
{
	struct ascend_db *db = d->db;

	ascend_db_row(db, d->task, "iiiiiisiiii", start, start + dur, db->r->rank % 8, connection, db->tasks,
	              INT64_C(3100412), type, NO_VALUE, stream, 11000 + db->tasks % 50000, NO_VALUE);
	return db->tasks++;
}

static void counters(struct device *d, const struct ascend_kernel *k, int64_t id)
{
	static const char *const cube_names[] = {"aic_mac_ratio", "aic_scalar_ratio", "aic_mte1_ratio",
	                                         "aic_mte2_ratio", "aic_fixpipe_ratio"};
	static const char *const vector_names[] = {"aiv_vec_ratio", "aiv_scalar_ratio", "aiv_mte2_ratio",
	                                           "aiv_mte3_ratio"};
	int cube[5];
	int vector[4];

	ascend_pipe_ratios(d->db->o, k, cube, vector);
	for (int i = 0; i < 5; i++)
		ascend_db_row(d->db, d->counter, "isd", id, cube_names[i], cube[i] / 1000.0);
	for (int i = 0; i < 4; i++)
		ascend_db_row(d->db, d->counter, "isd", id, vector_names[i], vector[i] / 1000.0);
	ascend_db_row(d->db, d->counter, "isd", id, "aiv_icache_miss_rate", 0.006);
	ascend_db_row(d->db, d->counter, "isd", id, "aic_total_cycles", (double)k->dur * 1.8);
}

static void compute(struct device *d, const struct ascend_kernel *k, int64_t id, const char *name)
{
	const struct ascend_work *w = &ascend_works[k->work];
	bool known = d->db->o->level > 0;
	char shapes[400], output[80];
	size_t at;

	/* quoted, as the CSV has them */
	snprintf(output, sizeof(output), "\"%s\"", w->output);
	ascend_shapes(d->db->o, k, shapes + 1, (int64_t)sizeof(shapes) - 2);
	shapes[0] = '"';
	at = strlen(shapes);
	shapes[at] = '"';
	shapes[at + 1] = '\0';
	ascend_db_row(d->db, d->compute, d->db->o->layout == ASCEND_NEW ? "siiissssssssss" : "siiisssssssss",
	              name, id, (int64_t)(known ? w->blocks : 0), INT64_C(0), known ? w->core : "N/A",
	              known ? w->type : "N/A", known ? w->in_formats : "N/A",
	              known ? "DT_BF16;DT_BF16" : "N/A", known ? shapes : "N/A",
	              known ? w->out_formats : "N/A", known ? "DT_BF16" : "N/A", known ? output : "N/A",
	              "N/A", "dynamic");
}

static const char *task_type(const struct ascend_work *w)
{
	if (strcmp(w->core, "AI_VECTOR_CORE") == 0)
		return "KERNEL_AIVEC";
	return strcmp(w->core, "AI_CORE") == 0 ? "KERNEL_AICORE" : w->core;
}

static void kernel(struct device *d, int64_t index)
{
	const struct ascend_kernel *k = &d->db->r->kernels[index];
	char name[600];
	int64_t id = task(d, k->start, k->dur, ASCEND_STREAM, 900 + index, task_type(&ascend_works[k->work]));

	ascend_kernel_name(d->db->o, d->db->r, index, name, sizeof(name));
	compute(d, k, id, name);
	if (d->db->o->level > 0)
		counters(d, k, id);
	/* the frame around a mixed kernel: no row of its own, its time must not count twice */
	if (k->first)
		task(d, k->start - 100, k->dur + 200, ASCEND_STREAM, 900 + index, "KERNEL_AICORE");
	if (index % 16 == 0)
		task(d, k->start + k->dur, 20, ASCEND_STREAM, NO_VALUE, "EVENT_RECORD");
}

static const char *group_text(const struct ascend_link *l)
{
	return l->experts ? "127.0.0.1%eth0_60000_1_1738454400" : "127.0.0.1%eth0_60000_0_1738454400";
}

static void transfer(struct device *d, const struct ascend_link *l, int64_t op, const char *name,
                     const char *hardware, int64_t plane, int64_t start, int64_t dur, int64_t bytes)
{
	struct ascend_db *db = d->db;
	bool old = db->o->layout == ASCEND_OLD;
	int64_t id = task(d, start, dur, ASCEND_LINK_STREAM + l->experts * ASCEND_LINK_LANES + plane,
	                  NO_VALUE, hardware);
	int64_t transport = !bytes ? 2 : l->rdma ? 1 : 0;
	int64_t link = !bytes ? 65535 : l->rdma ? 3 : 1;

	if (old) {
		transport = ascend_db_text(db, !bytes ? "LOCAL" : l->rdma ? "RDMA" : "SDMA");
		link = ascend_db_text(db, !bytes ? "INVALID_TYPE" : l->rdma ? "ROCE" : "HCCS");
	}
	ascend_db_row(db, d->transfer, "sisisiiiiiiiii", l->text, id, name, plane, group_text(l),
	              INT64_C(9223372036854775807), INT64_C(65535), db->r->rank,
	              (db->r->rank + 1 + plane) % 8, transport, bytes, INT64_C(65535), link, op);
}

static void collective(struct device *d, int64_t index)
{
	struct ascend_db *db = d->db;
	const struct ascend_link *l = &db->r->links[index];
	int planes = l->kind[0] == 'r' || l->rdma ? 1 : 7;
	int64_t late = l->wait - l->arrival;
	int64_t connection = 500000000 + index;
	int64_t type = db->o->layout == ASCEND_OLD ? ascend_db_text(db, "BFP16") : 11;
	char kind[80];

	snprintf(kind, sizeof(kind), "hcom_%s_", l->kind);
	ascend_db_row(db, d->collective, db->o->layout == ASCEND_OLD ? "siiisiiiisi" : "siiisiiiisisi",
	              l->text, l->start, l->start + l->dur, connection, group_text(l), index + 1, INT64_C(0),
	              INT64_C(0), type, "MESH-RING", INT64_C(20971520), db->o->level > 0 ? kind : "N/A",
	              db->r->rank % 8);
	if (l->arrival)
		transfer(d, l, index + 1, "Notify_Wait", "Notify Wait", 0, l->start, l->arrival, 0);
	if (late)
		transfer(d, l, index + 1, "Notify_Wait", "Notify Wait", 0, l->start + l->arrival + l->transit,
		         late, 0);
	for (int plane = 0; plane < planes; plane++) {
		int64_t at = l->start + l->arrival;

		for (int p = 0; p < l->packet_kinds; p++)
			for (int64_t i = 0; i < l->packets[p].count / planes; i++) {
				int64_t ns = l->packets[p].ns / l->packets[p].count;

				transfer(d, l, index + 1, l->rdma ? "RDMASend" : "Memcpy",
				         l->rdma ? "RDMA" : "SDMA", plane, at, ns, l->packets[p].bytes);
				at += ns;
			}
	}
}

static void copies(struct device *d)
{
	struct ascend_db *db = d->db;
	sqlite3_stmt *s;

	if (db->r->copy_count == 0)
		return;
	ascend_db_run(db, "CREATE TABLE MEMCPY_INFO (globalTaskId INTEGER PRIMARY KEY,size INTEGER,"
	                  "memcpyOperation INTEGER);"
	                  "CREATE TABLE ENUM_MEMCPY_OPERATION (id INTEGER PRIMARY KEY,name TEXT);"
	                  "INSERT INTO ENUM_MEMCPY_OPERATION VALUES (0,'host to host'),(1,'host to device')");
	s = ascend_db_insert(db, "INSERT INTO MEMCPY_INFO VALUES (?,?,?)");
	for (int64_t i = 0; i < db->r->copy_count; i++) {
		const struct ascend_copy *c = &db->r->copies[i];
		int64_t id = task(d, c->start, c->dur, ASCEND_STREAM, 600000000 + i, "MEMCPY_ASYNC");

		ascend_db_row(db, s, "iii", id, c->bytes, INT64_C(1));
	}
	sqlite3_finalize(s);
}

void ascend_db_device(struct ascend_db *db)
{
	static const char *const collectives[] = {
	    [ASCEND_PLAIN] = "INSERT INTO COMMUNICATION_OP VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
	    [ASCEND_OLD] = "INSERT INTO COMMUNICATION_OP VALUES (?,?,?,?,?,?,?,?,?,?,?)",
	    [ASCEND_NEW] = "INSERT INTO COMMUNICATION_OP VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
	    [ASCEND_INSIGHT] = "INSERT INTO COMMUNICATION_OP VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
	};
	struct device d = {.db = db};
	int64_t l = 0;

	create(db);
	d.task = ascend_db_insert(db, "INSERT INTO TASK VALUES (?,?,?,?,?,?,?,?,?,?,?)");
	d.compute =
	    ascend_db_insert(db, db->o->layout == ASCEND_NEW
	                             ? "INSERT INTO COMPUTE_TASK_INFO VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
	                             : "INSERT INTO COMPUTE_TASK_INFO VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)");
	if (db->o->level > 0)
		d.counter = ascend_db_insert(db, "INSERT INTO TASK_PMU_INFO VALUES (?,?,?)");
	d.transfer =
	    ascend_db_insert(db, "INSERT INTO COMMUNICATION_TASK_INFO VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
	d.collective = ascend_db_insert(db, collectives[db->o->layout]);
	for (int64_t i = 0; i < db->r->kernel_count; i++) {
		while (l < db->r->link_count && db->r->links[l].start < db->r->kernels[i].start)
			collective(&d, l++);
		kernel(&d, i);
	}
	while (l < db->r->link_count)
		collective(&d, l++);
	copies(&d);
	sqlite3_finalize(d.task);
	sqlite3_finalize(d.compute);
	sqlite3_finalize(d.counter);
	sqlite3_finalize(d.transfer);
	sqlite3_finalize(d.collective);
}
