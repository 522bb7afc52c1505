#ifndef SB_TESTS_UNIT_STORAGE_HELPER_H
#define SB_TESTS_UNIT_STORAGE_HELPER_H
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/store.h"

/* A fresh directory for one test; removed by drop_dir(). */
struct place {
	char dir[64];
	char data[80]; /* the store's directory inside it */
};

static inline void make_dir(struct place *p)
{
	*p = (struct place){0};
	snprintf(p->dir, sizeof(p->dir), "/tmp/signalbox-test-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->data, sizeof(p->data), "%s/data", p->dir);
}

static inline int drop_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline void drop_dir(struct place *p)
{
	nftw(p->dir, drop_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static inline struct store *must_open(const struct place *p)
{
	struct sb_error err = {0};
	struct store *s = NULL;
	int rc = store_open(p->data, &s, &err);

	if (rc != SB_OK)
		print_error("store_open: %s\n", err.text);
	assert_int_equal(rc, SB_OK);
	return s;
}

/* A profile of one file. */
static inline void must_create(struct store *s, const char *path, const char *bytes,
                               struct store_profile *out)
{
	struct upload *up = NULL;

	assert_int_equal(upload_begin(s, 1 << 20, 0, &up, NULL), SB_OK);
	assert_int_equal(upload_file(up, path, NULL), SB_OK);
	assert_int_equal(upload_append(up, bytes, strlen(bytes), NULL), SB_OK);
	assert_int_equal(store_profile_create(s, &up, path, out, NULL), SB_OK);
	assert_null(up);
}

static inline bool is_there(const struct place *p, const char *path)
{
	char full[320];

	snprintf(full, sizeof(full), "%s/%s", p->data, path);
	return access(full, F_OK) == 0;
}

/* Runs SQL in the closed database, as another program would. */
static inline void in_database(const struct place *p, const char *sql)
{
	char path[128];
	sqlite3 *db = NULL;

	snprintf(path, sizeof(path), "%s/signalbox.db", p->data);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}
#endif
