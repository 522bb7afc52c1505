#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Feeds files to a fuzz target without libFuzzer, so that the corpus is replayed with any compiler. Each
 * input sits in a block of its own size, for the sanitizers to see a read past its end. */
static int feed(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = NULL;
	size_t size = 0;
	long end;

	if (!f)
		return 1;
	if (fseek(f, 0, SEEK_END) == 0 && (end = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0) {
		size = (size_t)end;
		data = malloc(size ? size : 1);
	}
	if (!data || fread(data, 1, size, f) != size) {
		free(data);
		fclose(f);
		return 1;
	}
	fclose(f);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (feed(argv[i]) != 0) {
			fprintf(stderr, "cannot read %s\n", argv[i]);
			return 1;
		}
	return 0;
}
