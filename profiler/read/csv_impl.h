#ifndef SB_PROFILER_READ_CSV_IMPL_H
#define SB_PROFILER_READ_CSV_IMPL_H
#include "base/buf.h"
#include "profiler/read/csv.h"

/* Shared by csv.c, which knows every rule, and csv_fast.c, which knows the common case. */

/* How records end in this file: the first line break that is met decides, because a lone CR is a line break
 * in some files and a stray byte in others. */
enum ending { ENDING_UNKNOWN, ENDING_LF, ENDING_CR };

/* Where the scanner stands between two bytes. */
enum place {
	PLACE_START,   /* before the first byte of a field */
	PLACE_PLAIN,   /* inside an unquoted field */
	PLACE_QUOTED,  /* between the quotes */
	PLACE_QUOTE,   /* a quote inside quotes: the end, or half of a doubled one */
	PLACE_AFTER_CR /* a CR that may be the first half of CR LF */
};

struct fields {
	struct sb_buf text;                 /* every field, each followed by a NUL */
	uint32_t start[CSV_FIELDS_MAX + 1]; /* start[count] is where the next field begins */
	size_t count;
};

struct csv {
	struct stream *in;
	const char *block;
	size_t len, at;
	struct fields record, header;
	enum place place;
	enum ending ending;
	int64_t line, record_line;
	int64_t offset; /* of block[0] in the file */
	size_t mark;    /* bytes of the byte order mark seen so far */
	bool begun, at_end;
	bool cut;
	bool open_end; /* nothing ended the present record but the file */
};

/* Takes fields without quotes, up to and including the line feed of the present record when it gets there;
 * true then. Stops before what it cannot judge (a quote that opens a field, a CR, a bound, the last bytes of
 * a block) with `place` set for the slow path, which takes at least the next byte. For files whose records
 * end with LF, between fields or inside an unquoted one. */
bool csv_fast(struct csv *c);
#endif
