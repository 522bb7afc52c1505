#ifndef SB_PROFILER_BLOCKFILE_H
#define SB_PROFILER_BLOCKFILE_H
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A side file of named blocks: a header with a version, one table row a block (id, element size, count,
 * place, CRC-32) and the blocks themselves, each aligned to 64 bytes; little endian. A block holds `count`
 * elements of `element` bytes. Files are written from the start of fd and read by mapping. */
#define BLOCKFILE_BLOCKS_MAX 30

struct blockfile_entry {
	char id[4];
	uint32_t element; /* bytes of one element, > 0 */
	uint64_t count;
	uint64_t offset; /* of the first byte, from the start of the file */
	uint32_t crc;    /* of the block's bytes (zlib's crc32) */
	uint32_t reserved;
};

struct blockfile_header {
	char magic[8];
	uint32_t version, blocks;
	uint64_t size; /* of the whole file */
	uint32_t crc;  /* of header and table, taken with this field 0 */
	uint32_t reserved;
	struct blockfile_entry entries[BLOCKFILE_BLOCKS_MAX];
};

struct blockfile_writer {
	int fd; /* borrowed */
	struct blockfile_header header;
};

/* Starts a file. magic: 8 characters that name the kind of file. */
void blockfile_begin(struct blockfile_writer *w, int fd, const char magic[static 8], uint32_t version);
/* Appends a block; data may be NULL when count is 0. SB_EIO, SB_ENOSPC; SB_ELIMIT past the number of blocks.
 */
int blockfile_add(struct blockfile_writer *w, const char id[static 4], size_t element, size_t count,
                  const void *data, struct sb_error *err);
/* Writes the header: without this call the file is not valid. Does not sync. */
int blockfile_end(struct blockfile_writer *w, struct sb_error *err);

struct blockfile {
	void *map; /* NULL while unmapped; private, must not be written */
	size_t size;
};

/* Maps a file and verifies magic, version, size, bounds, alignment and every CRC. fd may be closed
 * afterwards. SB_EFORMAT when something does not hold ("bad_side_file"), SB_EIO, SB_ENOMEM. */
int blockfile_map(int fd, const char magic[static 8], uint32_t version, struct blockfile *out,
                  struct sb_error *err);
/* A block of a mapped file: borrowed until blockfile_unmap(). An empty block has a valid pointer too.
 * SB_EFORMAT when there is none with this id and element size. */
int blockfile_get(const struct blockfile *b, const char id[static 4], size_t element, void **out_data,
                  size_t *out_count, struct sb_error *err);
void blockfile_unmap(struct blockfile *b);
#define BLOCKFILE_AUTO __attribute__((cleanup(blockfile_unmap))) struct blockfile
#endif
