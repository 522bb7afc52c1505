#ifndef SB_BASE_BUF_H
#define SB_BASE_BUF_H
#include <stddef.h>

/* A growing byte buffer with a bound that must be given: data[0..len) is always followed by a NUL that is
 * not counted. A failure sticks: once an append has failed, later ones do nothing and return the same code,
 * so that a writer may append many times and look at `status` once. One owner, not thread-safe. */
struct sb_buf {
	char *data; /* NULL while empty */
	size_t len, cap, max;
	int status; /* SB_OK, or the code of the first append that failed */
};

/* Starts an empty buffer that refuses to hold more than max bytes. Allocates nothing. */
void sb_buf_init(struct sb_buf *b, size_t max);
/* Appends n bytes. SB_ELIMIT past the bound, SB_ENOMEM; the content is unchanged then. */
int sb_buf_add(struct sb_buf *b, const void *data, size_t n);
/* Appends a NUL-terminated text. */
int sb_buf_adds(struct sb_buf *b, const char *text);
/* Appends formatted text. */
int sb_buf_addf(struct sb_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Hands the bytes over to the caller, who frees them with free(); never NULL on success. */
char *sb_buf_take(struct sb_buf *b);
/* Frees the bytes and leaves the buffer empty, without failure, ready for reuse with the same bound. */
void sb_buf_free(struct sb_buf *b);
#define SB_BUF_AUTO __attribute__((cleanup(sb_buf_free))) struct sb_buf
#endif
