#ifndef SB_API_PROFILES_REPORT_WRITER_H
#define SB_API_PROFILES_REPORT_WRITER_H
#include <stdbool.h>

#include "base/buf.h"

/* One report, two languages: HTML or Markdown (CommonMark with the tables of GitHub). All texts may come from
 * strangers: they are escaped, control bytes become blanks, marks that turn the direction of writing become
 * U+FFFD, and a text is cut at REPORT_TEXT_MAX bytes, never inside a character. Failures stick to the buffer.
 */
#define REPORT_TEXT_MAX 400
struct report_writer {
	struct sb_buf *out;
	bool html;
	int depth; /* of lists */
};

/* The frame of the document: head with title and style, foot. */
void write_begin(struct report_writer *w, const char *title, size_t len);
void write_end(struct report_writer *w);
/* level: 1 to 4. */
void write_heading(struct report_writer *w, int level, const char *text);
void write_paragraph_begin(struct report_writer *w);
void write_paragraph_end(struct report_writer *w);
/* Within a paragraph, an item or a cell. */
void write_text(struct report_writer *w, const char *text);
void write_text_n(struct report_writer *w, const char *text, size_t len);
void write_strong(struct report_writer *w, const char *text);
void write_code(struct report_writer *w, const char *text);
void write_list_begin(struct report_writer *w);
void write_item_begin(struct report_writer *w);
void write_item_end(struct report_writer *w);
void write_list_end(struct report_writer *w);
/* headers: ended by NULL; one that begins with '>' stands to the right, as do its cells. */
void write_table_begin(struct report_writer *w, const char *const *headers);
void write_row_begin(struct report_writer *w);
void write_cell_begin(struct report_writer *w, bool right);
void write_cell_end(struct report_writer *w);
void write_row_end(struct report_writer *w);
void write_table_end(struct report_writer *w);
/* A whole cell. */
void write_cell(struct report_writer *w, const char *text);
void write_number(struct report_writer *w, const char *text);
/* Markup of our own, in HTML only. */
void write_raw_html(struct report_writer *w, const char *markup);
#endif
