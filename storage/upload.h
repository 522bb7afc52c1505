#ifndef SB_STORAGE_UPLOAD_H
#define SB_STORAGE_UPLOAD_H
#include <gnutls/crypto.h>

#include "base/buf.h"
#include "base/strings.h"
#include "storage/internal.h"

#define UPLOAD_FILES_MAX 100000
#define UPLOAD_INDEX_MAX ((size_t)64 << 20)
#define UPLOAD_PATH_MAX 1024
#define UPLOAD_NUMBERED_MAX 1000 /* of a label behind its number */

/* An upload being received: all files one after the other in one unnamed file. */
struct upload {
	struct store *store;
	int fd;
	char temp[STORE_ID_MAX + 8]; /* its name where unnamed files cannot be linked, else "" */
	int64_t max, bytes;
	int64_t promised; /* still counted in store->promised */
	int64_t checked;  /* bytes when the free space was last looked at */
	int64_t flushed;  /* bytes whose writing to disk has been started */
	gnutls_hash_hd_t hash;
	struct sb_strings *paths; /* labels in use */
	struct sb_buf index;      /* JSON array of the files, the last one still open */
	size_t files, number;     /* received; the next that a label in use may get */
	int64_t file_start;
	struct sb_error failed; /* code SB_OK while it accepts bytes */
};

/* Ends the index: *out_files is owned by the caller; the digest is of all bytes. */
int upload_seal(struct upload *up, char **out_files, char out_sha256[65], struct sb_error *err);
/* Brings the bytes to disk and gives them the name profiles/<id>/upload. Nothing is left behind on failure.
 */
int upload_publish(struct upload *up, const char *id, struct sb_error *err);
#endif
