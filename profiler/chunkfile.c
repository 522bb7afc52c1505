#include "profiler/chunkfile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "profiler/sidefile.h"

#define BUFFER_BYTES ((size_t)64 * CHUNK_BYTES)

static uint64_t mix(uint64_t h, uint64_t word)
{
	h ^= word * UINT64_C(0x9E3779B97F4A7C15);
	return (h << 29 | h >> 35) * UINT64_C(0xD6E8FEB86659FD93);
}

/* Every step can be undone, so that a change of one word always changes the sum of its row; four rows keep
 * the multiplier busy. Ten times as quick as a CRC, which took longer than all else of a first look. */
static uint32_t checksum(const void *data, size_t len)
{
	const char *p = data;
	uint64_t h[4] = {len, 1, 2, 3}, words[4];

	for (; len >= sizeof(words); len -= sizeof(words), p += sizeof(words)) {
		memcpy(words, p, sizeof(words));
		for (size_t i = 0; i < 4; i++)
			h[i] = mix(h[i], words[i]);
	}
	memset(words, 0, sizeof(words));
	memcpy(words, p, len);
	for (size_t i = 0; i < 4; i++)
		h[i] = mix(h[i], words[i]);
	for (size_t i = 1; i < 4; i++)
		h[0] = mix(h[0], h[i]);
	return (uint32_t)(h[0] >> 32);
}

int chunkfile_begin(struct chunkfile_writer *w, int fd, const char magic[static 8], uint32_t version,
                    struct sb_error *err)
{
	*w = (struct chunkfile_writer){.fd = fd};
	memcpy(w->header.magic, magic, sizeof(w->header.magic));
	w->header.version = version;
	w->header.chunk_bytes = CHUNK_BYTES;
	w->buffer = malloc(BUFFER_BYTES);
	if (!w->buffer)
		return sb_fail(err, SB_ENOMEM, "side_file", "No memory to write a side file.");
	return SB_OK;
}

void chunkfile_drop(struct chunkfile_writer *w)
{
	free(w->buffer);
	free(w->sums);
	*w = (struct chunkfile_writer){.fd = -1};
}

static int add_sums(struct chunkfile_writer *w)
{
	for (size_t at = 0; at < w->used; at += CHUNK_BYTES) {
		size_t n = w->used - at < CHUNK_BYTES ? w->used - at : CHUNK_BYTES;

		if (sb_grow(&w->sums, w->sum_count, sizeof(*w->sums)) != SB_OK)
			return SB_ENOMEM;
		w->sums[w->sum_count++] = checksum(w->buffer + at, n);
	}
	return SB_OK;
}

static int flush(struct chunkfile_writer *w, struct sb_error *err)
{
	int rc;

	if (add_sums(w) != SB_OK)
		return sb_fail(err, SB_ENOMEM, "side_file", "No memory to write a side file.");
	rc = sidefile_write(w->fd, w->buffer, w->used, CHUNK_BYTES + w->header.body - w->used, err);
	w->used = 0;
	return rc;
}

int chunkfile_add(struct chunkfile_writer *w, const void *data, size_t len, struct sb_error *err)
{
	const char *p = data;

	while (len > 0) {
		size_t n = BUFFER_BYTES - w->used < len ? BUFFER_BYTES - w->used : len;

		memcpy(w->buffer + w->used, p, n);
		w->used += n;
		w->header.body += n;
		p += n;
		len -= n;
		if (w->used == BUFFER_BYTES) {
			int rc = flush(w, err);

			if (rc != SB_OK)
				return rc;
		}
	}
	return SB_OK;
}

int chunkfile_place(struct chunkfile_writer *w, uint64_t *out_at, struct sb_error *err)
{
	static const char zeros[8];
	int rc = chunkfile_add(w, zeros, -w->header.body % 8, err);

	if (rc == SB_OK)
		*out_at = w->header.body;
	return rc;
}

int chunkfile_end(struct chunkfile_writer *w, uint64_t root, uint64_t root_count, struct sb_error *err)
{
	struct chunkfile_header *h = &w->header;
	char first[CHUNK_BYTES] = {0};
	uint64_t end;
	/* the table must be aligned too */
	int rc = chunkfile_place(w, &end, err);

	if (rc == SB_OK)
		rc = flush(w, err);
	if (rc != SB_OK)
		return rc;
	end = CHUNK_BYTES + h->body + w->sum_count * sizeof(*w->sums);
	rc = sidefile_write(w->fd, (const char *)w->sums, w->sum_count * sizeof(*w->sums),
	                    CHUNK_BYTES + h->body, err);
	if (rc == SB_OK && ftruncate(w->fd, (off_t)end) != 0)
		rc = sb_fail(err, errno == ENOSPC ? SB_ENOSPC : SB_EIO, "write_failed",
		             "A side file could not be written: %s.", strerrordesc_np(errno));
	if (rc != SB_OK)
		return rc;
	h->root = root;
	h->root_count = root_count;
	h->sums_sum = w->sum_count > 0 ? checksum(w->sums, w->sum_count * sizeof(*w->sums)) : 0;
	h->sum = 0;
	memcpy(first, h, sizeof(*h));
	h->sum = checksum(first, sizeof(first));
	memcpy(first, h, sizeof(*h));
	return sidefile_write(w->fd, first, sizeof(first), 0, err);
}

static int verify(struct chunkfile *f, const char magic[static 8], uint32_t version, struct sb_error *err)
{
	struct chunkfile_header h;
	uint64_t chunks, room = f->size - CHUNK_BYTES;
	char first[CHUNK_BYTES];
	uint32_t sum;

	memcpy(first, f->map, sizeof(first));
	memcpy(&h, first, sizeof(h));
	sum = h.sum;
	h.sum = 0;
	memcpy(first, &h, sizeof(h));
	if (memcmp(h.magic, magic, sizeof(h.magic)) != 0)
		return sidefile_bad(err, "it is of another kind");
	if (checksum(first, sizeof(first)) != sum)
		return sidefile_bad(err, "the header's checksum does not match");
	if (h.version != version || h.chunk_bytes != CHUNK_BYTES)
		return sidefile_bad(err, "it was written by another version");
	chunks = h.body / CHUNK_BYTES + (h.body % CHUNK_BYTES != 0);
	if (h.body > room || h.body % 8 != 0 || chunks * sizeof(*f->sums) != room - h.body)
		return sidefile_bad(err, "its size is wrong");
	f->sums = (const uint32_t *)(const void *)(f->map + CHUNK_BYTES + h.body);
	if (chunks > 0 && checksum(f->sums, (size_t)chunks * sizeof(*f->sums)) != h.sums_sum)
		return sidefile_bad(err, "the table of checksums is damaged");
	f->body = h.body;
	f->root = h.root;
	f->root_count = h.root_count;
	f->known = calloc((size_t)chunks / 64 + 1, sizeof(*f->known));
	if (!f->known)
		return sb_fail(err, SB_ENOMEM, "read_failed", "No memory to open a side file.");
	return SB_OK;
}

int chunkfile_map(int fd, const char magic[static 8], uint32_t version, struct chunkfile *out,
                  struct sb_error *err)
{
	struct chunkfile f = {0};
	struct stat st;
	void *map;
	int rc;

	if (fstat(fd, &st) != 0)
		return sb_fail(err, SB_EIO, "read_failed", "A side file could not be read: %s.",
		               strerrordesc_np(errno));
	if (st.st_size < CHUNK_BYTES)
		return sidefile_bad(err, "it is too short");
	f.size = (size_t)st.st_size;
	map = mmap(NULL, f.size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return sb_fail(err, errno == ENOMEM ? SB_ENOMEM : SB_EIO, "read_failed",
		               "A side file could not be mapped: %s.", strerrordesc_np(errno));
	f.map = map;
	rc = verify(&f, magic, version, err);
	if (rc != SB_OK) {
		chunkfile_unmap(&f);
		return rc;
	}
	*out = f;
	return SB_OK;
}

static bool holds(const struct chunkfile *f, uint64_t chunk)
{
	uint64_t at = chunk * CHUNK_BYTES, bit = UINT64_C(1) << chunk % 64;
	size_t len = f->body - at < CHUNK_BYTES ? (size_t)(f->body - at) : CHUNK_BYTES;
	_Atomic uint64_t *known = &f->known[chunk / 64];

	if (atomic_load_explicit(known, memory_order_relaxed) & bit)
		return true;
	if (checksum(f->map + CHUNK_BYTES + at, len) != f->sums[chunk])
		return false;
	atomic_fetch_or_explicit(known, bit, memory_order_relaxed);
	return true;
}

const void *chunkfile_get(const struct chunkfile *f, uint64_t at, uint64_t len)
{
	if (at > f->body || len > f->body - at)
		return NULL;
	for (uint64_t c = at / CHUNK_BYTES; len > 0 && c <= (at + len - 1) / CHUNK_BYTES; c++) {
		if (!holds(f, c))
			return NULL;
	}
	return f->map + CHUNK_BYTES + at;
}

void chunkfile_unmap(struct chunkfile *f)
{
	if (f->map)
		munmap(f->map, f->size);
	free(f->known);
	*f = (struct chunkfile){0};
}
