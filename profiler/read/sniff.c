#include <string.h>
#include <strings.h>

#include "profiler/read/mindinsight.h"

struct magic {
	const char *bytes;
	size_t len;
	const char *hint;
};

#define MAGIC(bytes, hint)                                                                                   \
	{                                                                                                    \
		bytes, sizeof(bytes) - 1, hint                                                               \
	}
static const struct magic MAGICS[] = {
    MAGIC("\xFF\xFE", "This is text in UTF-16, as spreadsheets and PowerShell write it: save it as UTF-8."),
    MAGIC("\xFE\xFF", "This is text in UTF-16, as spreadsheets and PowerShell write it: save it as UTF-8."),
    MAGIC("\x89PNG", "This is a PNG picture, not a profile."),
    MAGIC("\xFF\xD8\xFF", "This is a JPEG picture, not a profile."),
    MAGIC("GIF8", "This is a GIF picture, not a profile."),
    MAGIC("%PDF", "This is a PDF document, not a profile."),
    MAGIC("\x7F"
          "ELF",
          "This is a program or library (ELF), not a profile."),
    MAGIC("\xFD"
          "7zXZ",
          "This file is compressed with xz: unpack it, or compress it with gzip."),
    MAGIC("\x28\xB5\x2F\xFD", "This file is compressed with zstd: unpack it, or compress it with gzip."),
    MAGIC("BZh", "This file is compressed with bzip2: unpack it, or compress it with gzip."),
    MAGIC("7z\xBC\xAF", "This is a 7-Zip archive: send a zip or tar archive instead."),
    MAGIC("Rar!", "This is a RAR archive: send a zip or tar archive instead."),
    MAGIC("\x80\x02", "This is a Python pickle, which may run code when loaded: it is never opened."),
    MAGIC("\x80\x03", "This is a Python pickle, which may run code when loaded: it is never opened."),
    MAGIC("\x80\x04", "This is a Python pickle, which may run code when loaded: it is never opened."),
    MAGIC("\x80\x05", "This is a Python pickle, which may run code when loaded: it is never opened."),
    MAGIC("\x93NUMPY", "This is a NumPy array, not a profile."),
    MAGIC("\x18\xe2\x2d\x00", "This is the index of a database's log: it is not read."),
    MAGIC("ARROW1", "This is an Arrow table, not a profile."),
    MAGIC("PAR1", "This is a Parquet table, not a profile."),
};

static const char *binary_hint(const struct sniff *s)
{
	for (size_t i = 0; i < sizeof(MAGICS) / sizeof(MAGICS[0]); i++) {
		if (s->len >= MAGICS[i].len && memcmp(s->head, MAGICS[i].bytes, MAGICS[i].len) == 0)
			return MAGICS[i].hint;
	}
	if (!memchr(s->head, '\0', s->len))
		return NULL;
	if (path_is(s->path, "", ".nsys-rep") || path_is(s->path, "", ".qdrep"))
		return "This is an Nsight Systems report, which only nsys can read: send what \"nsys export "
		       "--type sqlite\" "
		       "makes of it.";
	/* packets of a Perfetto trace are field 1: tag 0x0a */
	if (s->head[0] == '\n')
		return "This looks like a binary (protobuf) trace, as Perfetto writes: send a JSON trace.";
	return "This is a binary file of an unknown kind.";
}

/* "[[-1, 1, 37888, 7], ...": four numbers a row are PyTorch's raw memory timeline. */
static bool memory_timeline(const struct sniff *s)
{
	size_t depth = 0, commas = 0;

	for (size_t i = 0; i < s->len; i++) {
		char ch = s->head[i];

		if (ch == '[')
			depth++;
		else if (ch == ']')
			return depth == 2 && commas == 3;
		else if (ch == ',')
			commas++;
		else if (ch == '\0' || !strchr("0123456789+-.eE \t\r\n", ch))
			return false;
	}
	return false;
}

static const char *json_hint(const struct sniff *s)
{
	if (sniff_first(s) == '[' && memory_timeline(s))
		return "This is a memory timeline of PyTorch: it holds sizes, no events.";
	if (sniff_has(s, "chakra") || (sniff_has(s, "\"schema\"") && sniff_has(s, "\"nodes\"")))
		return "This is an execution trace (Chakra): it holds no times; send the profiler's trace.";
	if (sniff_has(s, "\"CudaEvent\"") || sniff_has(s, "\"NvtxEvent\"") ||
	    sniff_has(s, "\"TraceProcessEvent\""))
		return "This is an export of Nsight Systems in JSON, which is not read: send what nsys "
		       "export -t sqlite writes.";
	return "This is JSON, but no trace: neither a list of events nor an object with traceEvents.";
}

static bool html(const struct sniff *s)
{
	size_t at = 0;

	while (at < s->len && s->head[at] != '<')
		at++;
	return (s->len - at >= 9 && strncasecmp(s->head + at, "<!doctype", 9) == 0) ||
	       (s->len - at >= 5 && strncasecmp(s->head + at, "<html", 5) == 0);
}

const char *sniff_hint(const struct sniff *s)
{
	const char *binary, *mindinsight;
	char first;

	if (s->len == 0)
		return "The file is empty.";
	binary = binary_hint(s);
	if (binary)
		return binary;
	first = sniff_first(s);
	if (first == 0)
		return "The file holds only blanks.";
	mindinsight = mindinsight_unused(s);
	if (mindinsight)
		return mindinsight;
	if (first == '{' || first == '[')
		return json_hint(s);
	if (first == '<')
		return html(s) ? "This is an HTML page, perhaps the error page of a download."
		               : "This is XML, not a profile.";
	/* older ones wrote "Time(%)" */
	if (sniff_has(s, "Total Time (ns)") && sniff_has(s, "(%)"))
		return "This is a summary of nsys stats: it holds sums only; send what nsys export -t sqlite "
		       "writes.";
	if (sniff_no_header(s))
		return "This is a table without a header.";
	return "This is text, but no table with known columns.";
}
