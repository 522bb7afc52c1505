#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/read/ascend.h"
#include "profiler/read/collect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct trace *t)
{
	size_t texts = sb_strings_count(t->strings);

	for (size_t i = 0; i < t->count; i++) {
		if (t->lane[i] >= t->lane_count || t->kind[i] >= EVENT_KIND_COUNT || t->dur_ns[i] < 0 ||
		    t->name[i] >= texts || t->link[i] < -1)
			abort();
	}
	for (size_t i = 0; i < t->lane_count; i++) {
		if (t->lanes[i].process >= texts || t->lanes[i].thread >= texts)
			abort();
	}
	for (size_t i = 0; i < t->detail_count; i++) {
		if (t->details[i].event >= t->count || t->details[i].type >= texts)
			abort();
	}
}

/* Any bytes as a database that lies in a file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct collection all = {0};
	struct memory_stream m;
	struct extent extent = {.fd = memfd_create("fuzz", MFD_CLOEXEC), .length = (int64_t)size};
	struct sb_error err = {0};

	if (extent.fd < 0 || write(extent.fd, data, size) != (ssize_t)size)
		abort();
	collection_init(&all, NULL);
	memory_stream_init(&m, "rank1.db", (const char *)data, size, 0);
	m.base.extent = &extent;
	if (DATABASE_READER.read(&all.context, &m.base, &err) != SB_OK &&
	    (err.code == SB_OK || err.word[0] == '\0' || err.text[0] == '\0'))
		abort();
	for (size_t i = 0; i < all.count; i++) {
		if (capture_is_ascend(all.list[i]) && ascend_finish(&all.context, all.list[i], NULL) != SB_OK)
			abort();
		check(&all.list[i]->trace);
	}
	collection_free(&all);
	close(extent.fd);
	return 0;
}
