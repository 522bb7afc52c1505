#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "base/num.h"
#include "profiler/read/csv.h"
#include "tests/unit/profiler/made_text.h"

/* Our CSV reader against a second one, which has the whole text in memory and goes from byte to byte: RFC
 * 4180 with the rules of csv.h. */

#define DOCUMENTS 20000

/* Records as text: "line|field|field;", so that two readings can be compared and printed. */
struct second {
	const char *text;
	size_t len, at;
	bool cr; /* CR ends a record (LF else) */
	long line, began;
	struct sb_buf out, record;
	size_t fields, bytes; /* of the present record */
	bool truncated;
};

static char peek(const struct second *s, size_t ahead)
{
	return (char)(s->at + ahead < s->len ? s->text[s->at + ahead] : '\0');
}

static bool at_end(const struct second *s)
{
	return s->at >= s->len;
}

/* How long is the line break that stands here? 0: none. A CR that is the file's last byte is one. */
static size_t line_break(const struct second *s)
{
	if (s->cr)
		return peek(s, 0) == '\r' ? 1 : 0;
	if (peek(s, 0) == '\n')
		return 1;
	if (peek(s, 0) != '\r')
		return 0;
	return s->at + 1 == s->len ? 1 : peek(s, 1) == '\n' ? 2 : 0;
}

static void add(struct second *s, char c)
{
	(void)sb_buf_add(&s->record, &c, 1);
	s->bytes++;
}

static void quoted(struct second *s)
{
	for (s->at++; !at_end(s); s->at++) {
		char c = peek(s, 0);

		if (c == '"') {
			s->at++;
			if (peek(s, 0) != '"' || at_end(s))
				return;
		}
		if (c == '\n')
			s->line++;
		add(s, c);
	}
	s->truncated = true;
}

static void field(struct second *s)
{
	(void)sb_buf_adds(&s->record, "|");
	s->fields++;
	if (!at_end(s) && peek(s, 0) == '"')
		quoted(s);
	while (!at_end(s) && peek(s, 0) != ',' && !line_break(s)) {
		add(s, peek(s, 0));
		s->at++;
	}
}

static void record(struct second *s)
{
	s->record.len = 0;
	s->fields = s->bytes = 0;
	s->began = s->line;
	field(s);
	while (!at_end(s) && peek(s, 0) == ',') {
		s->at++;
		field(s);
	}
	if (!at_end(s)) {
		s->at += line_break(s);
		s->line++;
	}
	/* an empty line is no record, and one that ends inside quotes is dropped */
	if (s->truncated || (s->fields == 1 && s->bytes == 0))
		return;
	(void)sb_buf_addf(&s->out, "%ld", s->began);
	(void)sb_buf_add(&s->out, s->record.data, s->record.len);
	(void)sb_buf_adds(&s->out, ";");
}

/* The first line break outside quotes decides for the whole file. */
static bool ends_with_cr(const char *text, size_t len)
{
	bool inside = false, start = true;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (inside && c == '"' && i + 1 < len && text[i + 1] == '"') {
			i++;
			continue;
		}
		if (c == '"' && (inside || start))
			inside = !inside;
		else if (!inside && c == '\n')
			return false;
		else if (!inside && c == '\r')
			return i + 1 < len && text[i + 1] != '\n';
		start = !inside && c == ',';
	}
	return false;
}

static void read_second(const char *text, size_t len, struct second *s)
{
	size_t mark = len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;

	*s = (struct second){.text = text + mark, .len = len - mark, .line = 1};
	s->cr = ends_with_cr(s->text, s->len);
	sb_buf_init(&s->out, MADE_TEXT_MAX * 8);
	sb_buf_init(&s->record, MADE_TEXT_MAX);
	while (!at_end(s) && !s->truncated)
		record(s);
}

/* SB_OK, or the error that ended it. */
static int read_ours(const char *text, size_t len, size_t block, struct sb_buf *out)
{
	struct memory_stream m;
	CSV_AUTO c = NULL;
	bool more = true;
	int rc;

	memory_stream_init(&m, "a.csv", text, len, block);
	assert_int_equal(csv_new(&m.base, &c), SB_OK);
	while ((rc = csv_next(c, &more, NULL)) == SB_OK && more) {
		(void)sb_buf_addf(out, "%ld", (long)csv_line(c));
		for (size_t i = 0; i < csv_count(c); i++) {
			size_t n;
			const char *f = csv_field(c, i, &n);

			assert_int_equal(f[n], '\0');
			(void)sb_buf_adds(out, "|");
			(void)sb_buf_add(out, f, n);
		}
		(void)sb_buf_adds(out, ";");
	}
	return rc;
}

static void make_table(struct random *r, struct sb_buf *b)
{
	static const char *const ENDS[] = {"\n", "\r\n", "\r"};
	static const char *const FIELDS[] = {"",
	                                     "a",
	                                     "Name",
	                                     "1736408883704643.212\t",
	                                     "\"\"\"32,3;64\"\"\"",
	                                     "\"\"",
	                                     "\"two\nlines\"",
	                                     "\"a\rb\"",
	                                     "\"a,b\" ",
	                                     "N/A",
	                                     " x \"y\" z",
	                                     "a much longer field than one block of sixteen bytes",
	                                     "\"quoted and also longer than sixteen bytes\""};
	const char *end = MADE_PICK(r, ENDS);

	if (made_below(r, 8) == 0)
		(void)sb_buf_adds(b, "\xEF\xBB\xBF");
	for (size_t rows = made_below(r, 6); rows > 0; rows--) {
		for (size_t n = made_below(r, 6); n > 0; n--) {
			(void)sb_buf_adds(b, MADE_PICK(r, FIELDS));
			if (n > 1)
				(void)sb_buf_adds(b, ",");
		}
		(void)sb_buf_adds(b, made_below(r, 12) == 0 ? MADE_PICK(r, ENDS) : end);
	}
}

static void mutate(struct random *r, struct sb_buf *b)
{
	static const char *const PIECES[] = {"\"",   "\"\"",         ",", "\n", "\r", "\r\n",
	                                     "\xEF", "\xEF\xBB\xBF", "a"};
	const char *piece = MADE_PICK(r, PIECES);
	size_t at = made_below(r, b->len + 1), n = made_below(r, 3);

	if (made_below(r, 5) == 0)
		b->len = at;
	else
		made_replace(b, at, n < b->len - at ? n : b->len - at, piece, strlen(piece));
}

static void compare(const char *text, size_t len, size_t block)
{
	struct second s;
	SB_BUF_AUTO ours = {0};
	int rc;

	read_second(text, len, &s);
	sb_buf_init(&ours, MADE_TEXT_MAX * 8);
	rc = read_ours(text, len, block, &ours);
	if (rc != (s.truncated ? SB_EFORMAT : SB_OK) || ours.len != s.out.len ||
	    (ours.len > 0 && memcmp(ours.data, s.out.data, ours.len) != 0))
		fail_msg("blocks of %zu, result %d:\n[%.*s]\nours   %s\nsecond %s", block, rc, (int)len, text,
		         ours.len ? ours.data : "", s.out.len ? s.out.data : "");
	sb_buf_free(&s.out);
	sb_buf_free(&s.record);
}

static void test_tables(void **state)
{
	struct random r = {.state = made_seed()};

	(void)state;
	for (int i = 0; i < DOCUMENTS; i++) {
		SB_BUF_AUTO b = {0};

		sb_buf_init(&b, MADE_TEXT_MAX);
		(void)sb_buf_adds(&b, "");
		make_table(&r, &b);
		for (size_t n = made_below(&r, 4); n > 0; n--)
			mutate(&r, &b);
		compare(b.data ? b.data : "", b.len, 0);
		compare(b.data ? b.data : "", b.len, 1);
		compare(b.data ? b.data : "", b.len, 2 + made_below(&r, 60));
	}
}

static void make_number(struct random *r, struct sb_buf *b)
{
	static const char *const PARTS[] = {"0",
	                                    "1",
	                                    "9",
	                                    "12345",
	                                    "1736408884703643",
	                                    ".",
	                                    ".212",
	                                    "922337203685477580",
	                                    "\t",
	                                    " ",
	                                    "-",
	                                    "+",
	                                    "e5",
	                                    "E+15",
	                                    "N/A",
	                                    "000",
	                                    "5",
	                                    ".25",
	                                    "x",
	                                    "9007199254740993"};

	for (size_t n = 1 + made_below(r, 4); n > 0; n--)
		(void)sb_buf_adds(b, MADE_PICK(r, PARTS));
}

/* "3.00" is the integer 3: the length up to the point when all behind it are zeros. */
static size_t without_zeros(const char *text, size_t len)
{
	const char *point = memchr(text, '.', len);
	size_t at = point ? (size_t)(point - text) : len;

	return point && at > 0 && at + 1 < len && strspn(point + 1, "0") == len - at - 1 ? at : len;
}

static void compare_number(const struct csv *c)
{
	size_t len;
	const char *text = csv_trimmed(c, 0, &len);
	int64_t got = 0, want = 0;
	double x = 0, y = 0;
	int rc = csv_us(c, 0, &got), missing = csv_missing(text, len) ? SB_ENOENT : SB_OK;
	int wanted = missing ? missing : sb_parse_us(text, len, &want) == SB_OK ? SB_OK : SB_EINVAL;

	if (rc != wanted || got != want)
		fail_msg("csv_us of [%s]: %d %lld, not %d %lld", text, rc, (long long)got, wanted,
		         (long long)want);
	got = want = 0;
	rc = csv_int(c, 0, &got);
	wanted = missing ? missing : sb_parse_int(text, without_zeros(text, len), &want);
	if (rc != wanted || got != want)
		fail_msg("csv_int of [%s]: %d %lld", text, rc, (long long)got);
	rc = csv_double(c, 0, &x);
	wanted = missing ? missing : sb_parse_double(text, len, &y);
	if (rc != wanted || x < y || x > y || signbit(x) != signbit(y))
		fail_msg("csv_double of [%s]: %d %.17g, not %.17g", text, rc, x, y);
}

/* The getters take a short cut for plain numbers: the parsers they stand for must say the same. */
static void test_numbers(void **state)
{
	struct random r = {.state = made_seed()};

	(void)state;
	for (int i = 0; i < DOCUMENTS; i++) {
		SB_BUF_AUTO b = {0};
		struct memory_stream m;
		CSV_AUTO c = NULL;
		bool more = false;

		sb_buf_init(&b, MADE_TEXT_MAX);
		make_number(&r, &b);
		memory_stream_init(&m, "a.csv", b.data, b.len, 0);
		assert_int_equal(csv_new(&m.base, &c), SB_OK);
		assert_int_equal(csv_next(c, &more, NULL), SB_OK);
		if (more)
			compare_number(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_tables), cmocka_unit_test(test_numbers)};

	return cmocka_run_group_tests_name("csv against a second reader", tests, NULL, NULL);
}
