/* The names of communication groups in the real files of $SIGNALBOX_SHARED: communication_group.json gives
 * HCCL's name of each group beside the one that the text files use. */
#include "tests/shared.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/read/group_use.h"

/* The text between the quotes that follow `key`; *at moves behind it. */
static const char *text_after(const char **at, const char *key, size_t *len)
{
	const char *from = strstr(*at, key), *end;

	if (!from)
		return NULL;
	from += strlen(key);
	end = strchr(from, '"');
	assert_non_null(end);
	*len = (size_t)(end - from);
	*at = end;
	return from;
}

static void hashes_are_those_of_the_exporter(void **state)
{
	char *path = shared_path("samples/ascend/cluster_16ranks_pp2/communication_group_new_format.json");
	FILE *f = fopen(path, "r");
	char *text = calloc(1, 65536);
	size_t pairs = 0, len, id_len;
	const char *at = text, *name, *id;

	(void)state;
	assert_true(f && text);
	assert_true(fread(text, 1, 65535, f) > 0);
	fclose(f);
	while ((name = text_after(&at, "\"group_name\": \"", &len)) != NULL) {
		char hash[GROUP_HASH_MAX];

		id = text_after(&at, "\"group_id\": \"", &id_len);
		assert_non_null(id);
		/* all sends and receives together have no name */
		if (len == 0)
			continue;
		group_hash(id, id_len, hash);
		assert_int_equal(strlen(hash), len);
		assert_memory_equal(hash, name, len);
		pairs++;
	}
	assert_true(pairs > 5);
	free(text);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(hashes_are_those_of_the_exporter)};

	return cmocka_run_group_tests_name("groups", tests, NULL, NULL);
}
