#include "api/profiles/report_writer.h"

#include <stdint.h>
#include <string.h>

static const char STYLE[] =
    "body{font:15px/1.5 system-ui,sans-serif;color:#17202a;background:#fff;max-width:70rem;margin:2rem auto;"
    "padding:0 1rem}h1,h2,h3,h4{line-height:1.25;overflow-wrap:anywhere}h2{margin-top:2.2rem;border-bottom:"
    "1px solid #d9dfe5}table{border-collapse:collapse;margin:.6rem 0;display:block;overflow-x:auto}th,td{"
    "padding:.2rem .7rem .2rem 0;text-align:left;vertical-align:top;overflow-wrap:anywhere;border-bottom:1px "
    "solid #eef1f4}.r{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}code{font-family:"
    "ui-monospace,monospace;font-size:.88em;overflow-wrap:anywhere}svg{display:block;margin:.6rem "
    "0}.s{display:"
    "inline-block;margin:0 .4rem 0 0}@media print{h2{break-after:avoid}tr{break-inside:avoid}}";

/* Length of the character at p by its first byte; stored texts are valid UTF-8. */
static size_t character(const unsigned char *p, size_t len)
{
	size_t n = *p < 0x80 ? 1 : *p < 0xE0 ? 2 : *p < 0xF0 ? 3 : 4;

	return n < len ? n : len;
}

/* C1 controls, U+202A to U+202E, U+2066 to U+2069, U+2028 and U+2029. */
static bool is_unwanted(const unsigned char *p, size_t n)
{
	if (n == 2)
		return p[0] == 0xC2 && p[1] < 0xA0;
	return n == 3 && p[0] == 0xE2 &&
	       ((p[1] == 0x80 && p[2] >= 0xA8 && p[2] <= 0xAE) ||
	        (p[1] == 0x81 && p[2] >= 0xA6 && p[2] <= 0xA9));
}

static void put_html(struct sb_buf *b, char c)
{
	switch (c) {
	case '&': sb_buf_adds(b, "&amp;"); break;
	case '<': sb_buf_adds(b, "&lt;"); break;
	case '>': sb_buf_adds(b, "&gt;"); break;
	case '"': sb_buf_adds(b, "&quot;"); break;
	case '\'': sb_buf_adds(b, "&#39;"); break;
	default: sb_buf_add(b, &c, 1);
	}
}

/* Does a character at i, outside the marks that are always escaped, begin something at the start of a line: a
 * list, or the line under a heading? */
static bool begins_block(const char *text, size_t len, size_t i)
{
	char c = text[i];

	if (i == 0)
		return c == '-' || c == '+' || c == '=';
	return c == '.' && text[i - 1] >= '0' && text[i - 1] <= '9' && i + 1 < len && text[i + 1] == ' ';
}

/* Entities where a careless reader might see markup; a backslash where Markdown might. The colon and the at
 * sign would make links of addresses. */
static void put_markdown(struct sb_buf *b, const char *text, size_t len, size_t i)
{
	char c = text[i];

	if (c == '&' || c == '<' || c == '>' || c == '"') {
		put_html(b, c);
		return;
	}
	if (strchr("\\`*_{}[]()#!|~@$", c) || (c == ':' && i + 1 < len && text[i + 1] == '/') ||
	    begins_block(text, len, i))
		sb_buf_add(b, "\\", 1);
	sb_buf_add(b, &c, 1);
}

static void put_text(struct report_writer *w, const char *text, size_t len, bool plain)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t end = len < REPORT_TEXT_MAX ? len : REPORT_TEXT_MAX;

	for (size_t i = 0, n; i < end; i += n) {
		n = character(p + i, len - i);
		if (i + n > end)
			break;
		if (n > 1 && is_unwanted(p + i, n))
			sb_buf_adds(w->out, "\xEF\xBF\xBD");
		else if (n > 1)
			sb_buf_add(w->out, p + i, n);
		else if (p[i] < 0x20 || p[i] == 0x7F)
			sb_buf_adds(w->out, " ");
		else if (w->html)
			put_html(w->out, text[i]);
		else if (plain)
			sb_buf_add(w->out, text + i, 1);
		else
			put_markdown(w->out, text, len, i);
	}
	if (len > end)
		sb_buf_adds(w->out, "\xE2\x80\xA6");
}

void write_text_n(struct report_writer *w, const char *text, size_t len)
{
	put_text(w, text, len, false);
}

void write_text(struct report_writer *w, const char *text)
{
	put_text(w, text, strlen(text), false);
}

void write_strong(struct report_writer *w, const char *text)
{
	sb_buf_adds(w->out, w->html ? "<strong>" : "**");
	write_text(w, text);
	sb_buf_adds(w->out, w->html ? "</strong>" : "**");
}

/* A fence longer than any run of backticks inside (CommonMark 0.31, 6.1). A bar would still end a cell of a
 * table: then the text is escaped instead. */
void write_code(struct report_writer *w, const char *text)
{
	size_t run = 0, longest = 0;

	if (w->html) {
		sb_buf_adds(w->out, "<code>");
		write_text(w, text);
		sb_buf_adds(w->out, "</code>");
		return;
	}
	for (const char *p = text; *p; p++) {
		run = *p == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	if (longest > 3 || strchr(text, '|') || !*text) {
		write_text(w, text);
		return;
	}
	sb_buf_add(w->out, "````", longest + 1);
	sb_buf_adds(w->out, " ");
	put_text(w, text, strlen(text), true);
	sb_buf_adds(w->out, " ");
	sb_buf_add(w->out, "````", longest + 1);
}

void write_begin(struct report_writer *w, const char *title, size_t len)
{
	if (!w->html)
		return;
	sb_buf_adds(w->out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	                    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	                    "style-src 'unsafe-inline'\">\n<title>");
	put_text(w, title, len, false);
	sb_buf_addf(w->out, "</title>\n<style>%s</style>\n</head>\n<body>\n<main>\n", STYLE);
}

void write_end(struct report_writer *w)
{
	if (w->html)
		sb_buf_adds(w->out, "</main>\n</body>\n</html>\n");
}

void write_heading(struct report_writer *w, int level, const char *text)
{
	if (w->html)
		sb_buf_addf(w->out, "<h%d>", level);
	else
		sb_buf_addf(w->out, "%.*s ", level, "####");
	write_text(w, text);
	if (w->html)
		sb_buf_addf(w->out, "</h%d>\n", level);
	else
		sb_buf_adds(w->out, "\n\n");
}

void write_paragraph_begin(struct report_writer *w)
{
	sb_buf_adds(w->out, w->html ? "<p>" : "");
}

void write_paragraph_end(struct report_writer *w)
{
	sb_buf_adds(w->out, w->html ? "</p>\n" : "\n\n");
}

void write_list_begin(struct report_writer *w)
{
	w->depth++;
	if (w->html)
		sb_buf_adds(w->out, "<ul>\n");
	else if (w->depth > 1)
		sb_buf_adds(w->out, "\n");
}

void write_item_begin(struct report_writer *w)
{
	if (w->html) {
		sb_buf_adds(w->out, "<li>");
		return;
	}
	for (int i = 1; i < w->depth; i++)
		sb_buf_adds(w->out, "  ");
	sb_buf_adds(w->out, "- ");
}

void write_item_end(struct report_writer *w)
{
	if (w->html)
		sb_buf_adds(w->out, "</li>\n");
	else if (w->out->len > 0 && w->out->data[w->out->len - 1] != '\n')
		sb_buf_adds(w->out, "\n"); /* a list inside the item has ended the line already */
}

void write_list_end(struct report_writer *w)
{
	w->depth--;
	if (w->html)
		sb_buf_adds(w->out, "</ul>\n");
	else if (w->depth == 0)
		sb_buf_adds(w->out, "\n");
}

void write_table_begin(struct report_writer *w, const char *const *headers)
{
	sb_buf_adds(w->out, w->html ? "<table>\n<thead>\n" : "");
	write_row_begin(w);
	for (const char *const *h = headers; *h; h++) {
		bool right = **h == '>';

		if (w->html)
			sb_buf_adds(w->out, right ? "<th scope=\"col\" class=\"r\">" : "<th scope=\"col\">");
		else
			sb_buf_adds(w->out, " ");
		write_text(w, *h + right);
		sb_buf_adds(w->out, w->html ? "</th>" : " |");
	}
	write_row_end(w);
	if (w->html) {
		sb_buf_adds(w->out, "</thead>\n<tbody>\n");
		return;
	}
	sb_buf_adds(w->out, "|");
	for (const char *const *h = headers; *h; h++)
		sb_buf_adds(w->out, **h == '>' ? " ---: |" : " --- |");
	sb_buf_adds(w->out, "\n");
}

void write_row_begin(struct report_writer *w)
{
	sb_buf_adds(w->out, w->html ? "<tr>" : "|");
}

void write_cell_begin(struct report_writer *w, bool right)
{
	sb_buf_adds(w->out, !w->html ? " " : right ? "<td class=\"r\">" : "<td>");
}

void write_cell_end(struct report_writer *w)
{
	sb_buf_adds(w->out, w->html ? "</td>" : " |");
}

void write_row_end(struct report_writer *w)
{
	sb_buf_adds(w->out, w->html ? "</tr>\n" : "\n");
}

void write_table_end(struct report_writer *w)
{
	sb_buf_adds(w->out, w->html ? "</tbody>\n</table>\n" : "\n");
}

void write_cell(struct report_writer *w, const char *text)
{
	write_cell_begin(w, false);
	write_text(w, text);
	write_cell_end(w);
}

void write_number(struct report_writer *w, const char *text)
{
	write_cell_begin(w, true);
	write_text(w, text);
	write_cell_end(w);
}

void write_raw_html(struct report_writer *w, const char *markup)
{
	if (w->html)
		sb_buf_adds(w->out, markup);
}
