#include "profiler/blockfile.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "profiler/sidefile.h"

#define ALIGNMENT 64u

static uint32_t checksum(const void *data, size_t len)
{
	return (uint32_t)crc32_z(0, data, len);
}

static uint64_t aligned(uint64_t at)
{
	return (at + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void blockfile_begin(struct blockfile_writer *w, int fd, const char magic[static 8], uint32_t version)
{
	memset(w, 0, sizeof(*w));
	w->fd = fd;
	memcpy(w->header.magic, magic, sizeof(w->header.magic));
	w->header.version = version;
	w->header.size = aligned(sizeof(w->header));
}

int blockfile_add(struct blockfile_writer *w, const char id[static 4], size_t element, size_t count,
                  const void *data, struct sb_error *err)
{
	struct blockfile_header *h = &w->header;
	struct blockfile_entry *e;
	size_t bytes;
	int rc;

	if (h->blocks == BLOCKFILE_BLOCKS_MAX || element == 0 || element > UINT32_MAX ||
	    __builtin_mul_overflow(element, count, &bytes))
		return sb_fail(err, SB_ELIMIT, "side_file", "A side file has too many or too large blocks.");
	if (bytes > 0) {
		rc = sidefile_write(w->fd, data, bytes, h->size, err);
		if (rc != SB_OK)
			return rc;
	}
	e = &h->entries[h->blocks++];
	memcpy(e->id, id, sizeof(e->id));
	e->element = (uint32_t)element;
	e->count = count;
	e->offset = h->size;
	e->crc = bytes > 0 ? checksum(data, bytes) : 0;
	h->size = aligned(h->size + bytes);
	return SB_OK;
}

int blockfile_end(struct blockfile_writer *w, struct sb_error *err)
{
	if (ftruncate(w->fd, (off_t)w->header.size) != 0)
		return sb_fail(err, errno == ENOSPC ? SB_ENOSPC : SB_EIO, "write_failed",
		               "A side file could not be written: %s.", strerrordesc_np(errno));
	w->header.crc = 0;
	w->header.crc = checksum(&w->header, sizeof(w->header));
	return sidefile_write(w->fd, &w->header, sizeof(w->header), 0, err);
}

static int verify_block(const struct blockfile *b, const struct blockfile_entry *e, struct sb_error *err)
{
	size_t bytes;

	if (e->element == 0 || e->offset % ALIGNMENT != 0 || e->offset > b->size ||
	    __builtin_mul_overflow((size_t)e->element, (size_t)e->count, &bytes) ||
	    bytes > b->size - e->offset)
		return sidefile_bad(err, "a block lies outside of it");
	if (bytes > 0 && checksum((const char *)b->map + e->offset, bytes) != e->crc)
		return sidefile_bad(err, "a checksum does not match");
	return SB_OK;
}

static int verify(const struct blockfile *b, const char magic[static 8], uint32_t version,
                  struct sb_error *err)
{
	struct blockfile_header h;
	uint32_t crc;
	int rc;

	memcpy(&h, b->map, sizeof(h));
	crc = h.crc;
	h.crc = 0;
	if (memcmp(h.magic, magic, sizeof(h.magic)) != 0)
		return sidefile_bad(err, "it is of another kind");
	if (checksum(&h, sizeof(h)) != crc)
		return sidefile_bad(err, "the header's checksum does not match");
	if (h.version != version)
		return sidefile_bad(err, "it was written by another version");
	if (h.size != b->size || h.blocks > BLOCKFILE_BLOCKS_MAX)
		return sidefile_bad(err, "its size is wrong");
	for (uint32_t i = 0; i < h.blocks; i++) {
		rc = verify_block(b, &h.entries[i], err);
		if (rc != SB_OK)
			return rc;
	}
	return SB_OK;
}

int blockfile_map(int fd, const char magic[static 8], uint32_t version, struct blockfile *out,
                  struct sb_error *err)
{
	struct blockfile b = {0};
	struct stat st;
	int rc;

	if (fstat(fd, &st) != 0)
		return sb_fail(err, SB_EIO, "read_failed", "A side file could not be read: %s.",
		               strerrordesc_np(errno));
	if (st.st_size < (off_t)sizeof(struct blockfile_header))
		return sidefile_bad(err, "it is too short");
	b.size = (size_t)st.st_size;
	b.map = mmap(NULL, b.size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (b.map == MAP_FAILED)
		return sb_fail(err, errno == ENOMEM ? SB_ENOMEM : SB_EIO, "read_failed",
		               "A side file could not be mapped: %s.", strerrordesc_np(errno));
	rc = verify(&b, magic, version, err);
	if (rc != SB_OK) {
		blockfile_unmap(&b);
		return rc;
	}
	*out = b;
	return SB_OK;
}

int blockfile_get(const struct blockfile *b, const char id[static 4], size_t element, void **out_data,
                  size_t *out_count, struct sb_error *err)
{
	const struct blockfile_header *h = b->map;

	for (uint32_t i = 0; i < h->blocks; i++) {
		const struct blockfile_entry *e = &h->entries[i];

		if (memcmp(e->id, id, sizeof(e->id)) != 0)
			continue;
		if (e->element != element)
			return sidefile_bad(err, "a block has elements of another size");
		*out_data = (char *)b->map + e->offset;
		*out_count = (size_t)e->count;
		return SB_OK;
	}
	return sidefile_bad(err, "a block is missing");
}

void blockfile_unmap(struct blockfile *b)
{
	if (b->map)
		munmap(b->map, b->size);
	*b = (struct blockfile){0};
}
