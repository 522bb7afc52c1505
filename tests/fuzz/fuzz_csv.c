#include <stdlib.h>
#include <string.h>

#include "profiler/read/csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* All records of a text, in blocks of a given size. Returns a checksum: the blocks must not matter. */
static uint64_t read_all(const char *text, size_t len, size_t block)
{
	struct memory_stream m;
	CSV_AUTO c = NULL;
	bool more = true;
	uint64_t sum = 14695981039346656037u;
	int rc = SB_OK;

	memory_stream_init(&m, "fuzz.csv", text, len, block);
	if (csv_new(&m.base, &c) != SB_OK)
		return 0;
	while ((rc = csv_next(c, &more, NULL)) == SB_OK && more) {
		int64_t v;
		double d;

		if (csv_header_count(c) == 0 && csv_header(c) != SB_OK)
			return 0;
		for (size_t i = 0; i <= csv_count(c); i++) {
			size_t n;
			const char *field = csv_field(c, i, &n);

			if (field[n] != '\0')
				abort();
			for (size_t k = 0; k < n; k++)
				sum = (sum ^ (unsigned char)field[k]) * 1099511628211u;
			sum = (sum ^ (n + 256)) * 1099511628211u;
			(void)csv_us(c, (int)i, &v);
			(void)csv_int(c, (int)i, &v);
			(void)csv_double(c, (int)i, &d);
		}
		sum ^= (uint64_t)csv_line(c);
	}
	(void)csv_column(c, "Name");
	return sum ^ (uint64_t)rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t whole = read_all((const char *)data, size, 0);

	if (whole != read_all((const char *)data, size, 1) || whole != read_all((const char *)data, size, 7))
		abort();
	return 0;
}
