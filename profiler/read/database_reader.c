#include <string.h>

#include "profiler/read/database.h"

static int sniff_database(const struct sniff *s)
{
	return s->len >= 16 && memcmp(s->head, "SQLite format 3", 16) == 0 ? 100 : 0;
}

/* What a database is that no reader knows. */
static const char *hint(struct database *db)
{
	static const struct {
		const char *table, *text;
	} KNOWN[] = {
	    {"CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
	     "This is a capture of nvprof (.nvvp), which is not read: profile with Nsight Systems."},
	    {"CUPTI_ACTIVITY_KIND_DRIVER",
	     "This is a capture of nvprof (.nvvp), which is not read: profile with Nsight Systems."},
	    {"rocpd_api", "This is a database of rocprof (rocpd), which is not read: send a JSON trace."},
	    {"rocpd_metadata",
	     "This is a database of rocprof (rocpd), which is not read: send a JSON trace."},
	    {"android_metadata", "This is a database of an application, not a profile."},
	    {"moz_places", "This is a database of an application, not a profile."},
	    {"alembic_version", "This is a database of an application, not a profile."},
	    {"django_migrations", "This is a database of an application, not a profile."},
	};

	for (size_t i = 0; i < sizeof(KNOWN) / sizeof(KNOWN[0]); i++) {
		if (database_has(db, KNOWN[i].table))
			return KNOWN[i].text;
	}
	return "This is a SQLite database without the tables of a profiler that is known.";
}

static int read_database(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	DATABASE_AUTO db = NULL;
	const struct database_format *best = NULL;
	int best_score = 0;
	int rc = database_open(ctx, in, &db, err);

	if (rc != SB_OK)
		return rc;
	for (size_t i = 0; DATABASE_FORMATS[i]; i++) {
		int score = DATABASE_FORMATS[i]->recognise(db);

		if (score > best_score) {
			best = DATABASE_FORMATS[i];
			best_score = score;
		}
	}
	if (!best)
		return sb_fail_at(err, SB_EFORMAT, "unknown_database", in->path, 0, -1, "%s", hint(db));
	return best->read(ctx, db, err);
}

const struct format_reader DATABASE_READER = {
    .name = "database", .format = FORMAT_NSYS, .sniff = sniff_database, .read = read_database};

/* The log or journal of a database, which would be rolled into it by who opens it to write. */
static int sniff_log(const struct sniff *s)
{
	static const char *const MAGICS[] = {"\x37\x7f\x06\x82", "\x37\x7f\x06\x83", "\xd9\xd5\x05\xf9"};

	for (size_t i = 0; s->len >= 4 && i < sizeof(MAGICS) / sizeof(MAGICS[0]); i++) {
		if (memcmp(s->head, MAGICS[i], 4) == 0)
			return 100;
	}
	return 0;
}

static int read_log(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	warnings_add(&ctx->profile->warnings, "database_log", in->path, 0, -1,
	             "This file belongs to a database and may hold rows that are newer than those in the "
	             "database itself, which is read without them. Close the program that wrote it, or open "
	             "and close the database once, and send it again.");
	return sb_fail_at(err, SB_EFORMAT, "unknown_database", in->path, 0, -1,
	                  "log or journal of a database: not read, the database itself is");
}

const struct format_reader DATABASE_LOG_READER = {
    .name = "log of a database", .format = FORMAT_NSYS, .sniff = sniff_log, .read = read_log};
