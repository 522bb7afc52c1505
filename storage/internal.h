#ifndef SB_STORAGE_INTERNAL_H
#define SB_STORAGE_INTERNAL_H
#include <dirent.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>

#include "storage/store.h"

/* Shared inside storage/ only. */

/* Free bytes that uploads and side files leave alone, so that rows can still be written and deleted. */
#define RESERVE_BYTES (INT64_C(64) << 20)
/* A file that is given up when the disk is full, so that a delete still fits. */
#define BALLAST_BYTES (INT64_C(16) << 20)

/* ---- connections (sqlite.c) ---- */

/* One SQLite connection and its prepared statements. Used by one thread at a time. */
struct conn;
enum conn_kind { CONN_WRITER, CONN_READER };
/* Opens with every setting of the project: the writer creates the file. SB_EIO "corrupt", SB_EREADONLY, … */
int conn_open(const char *path, enum conn_kind kind, struct conn **out, struct sb_error *err);
/* NULL-safe. */
void conn_close(struct conn **c);
sqlite3 *conn_db(struct conn *c);
/* Turns the write-ahead log on (it stays on in the file). Only once the database is known to be ours. */
int conn_use_wal(struct conn *c, struct sb_error *err);
/* Runs statements without results. */
int conn_exec(struct conn *c, const char *sql, struct sb_error *err);
/* The statement of a text, prepared once a connection. sql must be static: it is known by its address. Give
 * it back with STMT_AUTO: a statement that is not reset is an open read transaction. */
int conn_prepare(struct conn *c, const char *sql, sqlite3_stmt **out, struct sb_error *err);
/* Steps: *out_row tells whether there is a row. Readers are cut off after two seconds (SB_EBUSY). */
int conn_step(struct conn *c, sqlite3_stmt *st, bool *out_row, struct sb_error *err);
/* Steps a statement that has no rows to the end. */
int conn_run(struct conn *c, sqlite3_stmt *st, struct sb_error *err);
/* The last SQLite error of the connection as ours. */
int conn_fail(struct conn *c, struct sb_error *err);
/* One integer from a statement without parameters. */
int conn_int(struct conn *c, const char *sql, int64_t *out, struct sb_error *err);
void stmt_reset(sqlite3_stmt **st);
#define STMT_AUTO __attribute__((cleanup(stmt_reset))) sqlite3_stmt *
/* Binds a NUL-terminated text that outlives the step; NULL binds null. */
void bind_text(sqlite3_stmt *st, int at, const char *text);
/* A column as a fresh text; *out NULL for null. len may be NULL. SB_ENOMEM. */
int column_dup(sqlite3_stmt *st, int at, char **out, size_t *out_len);
/* A column into a fixed field, cut to fit. */
void column_copy(sqlite3_stmt *st, int at, char *out, size_t size);

/* ---- schema (schema.c) ---- */

/* Brings the database to the present schema in one transaction. *out_new: it was empty before. SB_ECONFLICT
 * when it is newer than this program or somebody else's; nothing is written then. dir: where the copy goes
 * that is made before an old schema is changed. */
int schema_migrate(struct conn *c, const char *dir, bool *out_new, struct sb_error *err);
/* quick_check and foreign_key_check. SB_EIO "corrupt" with the first complaint. */
int schema_check(struct conn *c, struct sb_error *err);

/* ---- the writer (writer.c) ---- */

/* A change of the database: runs on the writer thread inside a savepoint, perhaps twice (after a full disk
 * was relieved): it must set its results anew each time. */
typedef int (*mutation_fn)(struct conn *c, void *arg, struct sb_error *err);
struct writer;
/* Takes the connection over. */
int writer_start(struct store *s, struct conn *c, struct writer **out, struct sb_error *err);
/* Ends after all queued mutations; checkpoints and closes the connection. NULL-safe. */
void writer_stop(struct writer **w);
/* Runs a change and returns once it is committed and on disk. */
int writer_do(struct writer *w, mutation_fn fn, void *arg, struct sb_error *err);
/* Refuses every write from now on, for this reason. */
void writer_refuse(struct writer *w, const struct sb_error *why);
/* What the last attempt to write met: SB_OK, or why writes fail. */
int writer_health(struct writer *w, struct sb_error *err);
/* Row counts as of about a second ago, and how often a commit was made. */
void writer_counts(struct writer *w, int64_t *out_profiles, int64_t *out_plans);

/* ---- readers (readers.c) ---- */

#define READERS_MAX 12
struct readers {
	pthread_mutex_t lock;
	pthread_cond_t free;
	struct conn *idle[READERS_MAX];
	size_t idle_count, open_count;
};
struct reader {
	struct store *store;
	struct conn *c;
};
/* Lends a read-only connection. Hold it for one query, never over slow work. */
int reader_take(struct store *s, struct reader *out, struct sb_error *err);
void reader_give(struct reader *r); /* NULL-safe */

/* ---- statements with their values (query.c) ---- */

/* A value to bind: text must outlive the statement's run; NULL is null. */
struct value {
	const char *text;
	size_t len; /* of text; 0 = up to its NUL */
	int64_t number;
	bool is_number;
};
#define TEXT(t) ((struct value){.text = (t)})
#define NUMBER(n) ((struct value){.number = (n), .is_number = true})
/* The values ?1, ?2, … of a statement and their count: two arguments. */
#define VALUES(...)                                                                                          \
	(const struct value[]){__VA_ARGS__},                                                                 \
	    sizeof((const struct value[]){__VA_ARGS__}) / sizeof(struct value)

/* Runs a statement without rows on the writer's connection. out_changes (NULL is fine): rows it touched. */
int conn_change(struct conn *c, const char *sql, const struct value *values, size_t count, int *out_changes,
                struct sb_error *err);

/* A query under way on a reader of its own. */
struct query {
	struct reader reader;
	sqlite3_stmt *st;
};
void query_end(struct query *q);
#define QUERY_AUTO __attribute__((cleanup(query_end))) struct query
/* *out must be zero; it is ended by QUERY_AUTO even when this fails. */
int query_begin(struct store *s, const char *sql, const struct value *values, size_t count, struct query *out,
                struct sb_error *err);
int query_row(struct query *q, bool *out_row, struct sb_error *err);
/* Takes the row at hand into *item. */
typedef int (*row_fn)(sqlite3_stmt *st, void *item, struct sb_error *err);
/* All rows as an array of items of so many bytes; *out_items (a pointer to the items' type) is never NULL
 * then, and the caller frees it. clear (NULL: nothing to do) empties an item when a later row fails. */
int query_list(struct query *q, size_t size, row_fn read, void (*clear)(void *item), void *out_items,
               size_t *out_count, struct sb_error *err);

/* ---- texts read lately (cache.c) ---- */

#define CACHE_SLOTS 128
struct cache_slot {
	char key[112];
	uint64_t commits; /* of store.commits, when its query began */
	struct store_plan plan;
	size_t len;
};
struct cache {
	pthread_mutex_t lock;
	struct cache_slot slots[CACHE_SLOTS];
};
/* A document is kept as a plan of which only the text counts. True: *out is a copy, owned by the caller. */
bool cache_get(struct store *s, const char *key, struct store_plan *out, size_t *out_len);
/* commits: of the store, read before the query began. A text that is too long is not kept. */
void cache_put(struct store *s, const char *key, uint64_t commits, const struct store_plan *plan, size_t len);
void cache_clear(struct store *s);

/* ---- the store ---- */

struct store {
	char *dir;             /* absolute */
	char *database;        /* path of signalbox.db */
	int dir_fd;            /* the data directory */
	int profiles_fd;       /* DIR/profiles */
	int lock_fd;           /* DIR/lock, locked; holds text while the store is open */
	bool unnamed;          /* the file system can link unnamed files */
	atomic_llong promised; /* bytes that running uploads still expect to write */
	struct writer *writer;
	struct readers readers;
	atomic_ullong commits; /* grows before anybody is told of a change */
	struct cache cache;
};

/* ---- files (files.c) ---- */

/* Fills *err from errno: SB_ENOSPC, SB_EREADONLY or SB_EIO. */
int file_fail(struct sb_error *err, const char *what);
/* The next name of a directory that the caller alone uses, NULL at the end. */
const char *dir_next(DIR *d);
/* Free bytes of the data directory's file system. */
int64_t files_free(const struct store *s);
/* Is there room for `bytes` more, the reserve and what other uploads still expect? */
int files_room(struct store *s, int64_t bytes, struct sb_error *err);
/* Makes (full) or gives up the ballast. */
int ballast_make(const struct store *s, struct sb_error *err);
bool ballast_drop(const struct store *s);
/* Can the file system link an unnamed file? */
bool files_probe_unnamed(int dir_fd);
/* Removes profiles/<name> with what it holds. A missing directory is fine. */
void files_remove(const struct store *s, const char *name);
/* The same for a profile: it disappears at once, its bytes a little later. */
void files_remove_profile(const struct store *s, const char *id);

/* What an interrupted run left: files without a row go, rows without a file fail, half-read profiles are
 * queued again. unclean: the last run did not close the store. */
int sweep(struct store *s, struct conn *c, bool unclean, struct sb_error *err);

/* Seconds of a clock that never jumps. */
double now_seconds(void);
#endif
