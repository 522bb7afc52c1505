#include <stdio.h>
#include <string.h>

#include "profiler/read/ascend.h"
#include "profiler/read/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first line is the path, the rest the head of the file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, '\n', size);
	size_t n = end ? (size_t)(end - data) : 0;
	char path[256], key[300];
	struct sniff s = {.path = path, .whole = true};

	if (n >= sizeof(path))
		n = sizeof(path) - 1;
	memcpy(path, data, n);
	path[n] = '\0';
	s.head = end ? (const char *)end + 1 : (const char *)data;
	s.len = size - (size_t)(s.head - (const char *)data);
	if (s.len > SNIFF_BYTES) {
		s.len = SNIFF_BYTES;
		s.whole = false;
	}
	(void)sniff_hint(&s);
	(void)ascend_unused(&s);
	(void)source_kind(s.head, s.len);
	ascend_key(path, key, sizeof(key));
	for (size_t i = 0; FORMAT_READERS[i]; i++)
		(void)FORMAT_READERS[i]->sniff(&s);
	return 0;
}
