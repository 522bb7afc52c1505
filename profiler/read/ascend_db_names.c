#include <string.h>

#include "profiler/read/ascend_db.h"

/* Texts that stand as numbers in the tables. */

static const char *const TABLES[NAMES_COUNT][3] = {
    [NAMES_STRING] = {"STRING_IDS", "value", "SELECT id, value FROM STRING_IDS"},
    [NAMES_API] = {"ENUM_API_TYPE", "name", "SELECT id, name FROM ENUM_API_TYPE"},
    [NAMES_DATA_TYPE] = {"ENUM_HCCL_DATA_TYPE", "name", "SELECT id, name FROM ENUM_HCCL_DATA_TYPE"},
    [NAMES_TRANSPORT] = {"ENUM_HCCL_TRANSPORT_TYPE", "name", "SELECT id, name FROM ENUM_HCCL_TRANSPORT_TYPE"},
    [NAMES_LINK] = {"ENUM_HCCL_LINK_TYPE", "name", "SELECT id, name FROM ENUM_HCCL_LINK_TYPE"},
    [NAMES_MEMCPY] = {"ENUM_MEMCPY_OPERATION", "name", "SELECT id, name FROM ENUM_MEMCPY_OPERATION"},
};

struct id_key db_key(int64_t id, unsigned map)
{
	uint64_t v = (uint64_t)id;

	return (struct id_key){(uint32_t)(v >> 32), (uint32_t)v, map};
}

static bool is(const char *text, size_t len, const char *word)
{
	return len == strlen(word) && memcmp(text, word, len) == 0;
}

static int add(struct ascend_db *r, enum db_names names, int64_t id, const char *text, size_t len)
{
	uint32_t string, before;
	int rc;

	sb_trim(&text, &len);
	if (len >= 2 && text[0] == '"' && text[len - 1] == '"') {
		text++;
		len -= 2;
	}
	if (id == SB_NULL || is(text, len, "N/A") || is(text, len, "INVALID_TYPE"))
		return SB_OK;
	/* of two texts with one number the first counts */
	if (id_map_get(&r->ids, db_key(id, names), &before))
		return SB_OK;
	rc = sb_strings_add(r->cap->trace.strings, text, len, &string);
	return rc == SB_OK ? id_map_put(&r->ids, db_key(id, names), string) : rc;
}

static int load(struct ascend_db *r, enum db_names names)
{
	DATABASE_ROWS_AUTO rows = NULL;
	bool more = true;
	int rc = database_query(r->db, &rows, r->err, "%s", TABLES[names][2]);

	if (rc != SB_OK)
		return rc;
	r->named[names] = true;
	while ((rc = database_next(rows, &more, r->err)) == SB_OK && more) {
		size_t len;
		const char *text = database_text(rows, 1, &len);

		rc = add(r, names, database_int(rows, 0), text, len);
		if (rc != SB_OK)
			return db_fail(r, rc);
	}
	return rc;
}

int db_names_load(struct ascend_db *r)
{
	int rc = SB_OK;

	for (size_t i = 0; rc == SB_OK && i < NAMES_COUNT; i++) {
		if (database_has_column(r->db, TABLES[i][0], TABLES[i][1]) &&
		    database_has_column(r->db, TABLES[i][0], "id"))
			rc = load(r, (enum db_names)i);
	}
	return rc;
}

uint32_t db_name(const struct ascend_db *r, enum db_names names, int64_t id)
{
	uint32_t string;

	if (!r->named[names])
		names = NAMES_STRING;
	return id != SB_NULL && id_map_get(&r->ids, db_key(id, names), &string) ? string : 0;
}

const char *db_text(const struct ascend_db *r, enum db_names names, int64_t id)
{
	return sb_strings_get(r->cap->trace.strings, db_name(r, names, id), NULL);
}

int db_add_text(struct ascend_db *r, const char *text, uint32_t *out_id)
{
	int rc = sb_strings_add(r->cap->trace.strings, text, strlen(text), out_id);

	return rc == SB_OK ? SB_OK : db_fail(r, rc);
}
