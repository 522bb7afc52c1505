#ifndef SB_PROFILER_CHUNKFILE_H
#define SB_PROFILER_CHUNKFILE_H
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A side file that is written in one go and read by mapping, a few places at a time: a header, a body, and a
 * checksum for each 4 KiB of the body. Opening checks the header and the table of checksums; a piece of the
 * body is checked when it is first asked for, so that opening costs the same however large the file is.
 * Little endian. Places are byte offsets in the body. */
#define CHUNK_BYTES 4096

struct chunkfile_header {
	char magic[8];
	uint32_t version, chunk_bytes;
	uint64_t body;             /* bytes of the body, which starts at CHUNK_BYTES */
	uint64_t root, root_count; /* where the writer's own directory is, and how long */
	uint32_t sums_sum;         /* of the table of checksums, which follows the body */
	uint32_t sum;              /* of the first CHUNK_BYTES, taken with this field 0 */
};

struct chunkfile_writer {
	int fd; /* borrowed */
	struct chunkfile_header header;
	char *buffer; /* not yet written */
	size_t used;
	uint32_t *sums;
	size_t sum_count;
};

/* Starts a file, written from the start of fd. magic: 8 characters that name the kind of file. SB_ENOMEM. End
 * with chunkfile_drop(). */
int chunkfile_begin(struct chunkfile_writer *w, int fd, const char magic[static 8], uint32_t version,
                    struct sb_error *err);
/* Appends bytes to the body. SB_EIO, SB_ENOSPC, SB_ENOMEM. */
int chunkfile_add(struct chunkfile_writer *w, const void *data, size_t len, struct sb_error *err);
/* Pads the body to a multiple of 8 and returns the place of the next byte through *out_at. */
int chunkfile_place(struct chunkfile_writer *w, uint64_t *out_at, struct sb_error *err);
/* Writes checksums and header: without this call the file is not valid. Does not sync. */
int chunkfile_end(struct chunkfile_writer *w, uint64_t root, uint64_t root_count, struct sb_error *err);
/* Frees what the writer holds. */
void chunkfile_drop(struct chunkfile_writer *w);

struct chunkfile {
	char *map; /* NULL while unmapped; must not be written */
	size_t size;
	uint64_t body, root, root_count;
	const uint32_t *sums;
	_Atomic uint64_t *known; /* a bit a chunk: its checksum was seen to hold */
};

/* Maps a file. fd may be closed afterwards. Reading is thread-safe. SB_EFORMAT ("bad_side_file") when header,
 * size or table do not hold, SB_EIO, SB_ENOMEM. */
int chunkfile_map(int fd, const char magic[static 8], uint32_t version, struct chunkfile *out,
                  struct sb_error *err);
/* Bytes of the body, checked: borrowed until chunkfile_unmap(), aligned as `at` is (up to CHUNK_BYTES). NULL
 * when they lie outside or a checksum does not hold. An empty piece inside the body has a valid pointer. */
const void *chunkfile_get(const struct chunkfile *f, uint64_t at, uint64_t len);
void chunkfile_unmap(struct chunkfile *f);
#endif
