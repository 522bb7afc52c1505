#ifndef SB_PROFILER_PATH_FILE_H
#define SB_PROFILER_PATH_FILE_H
#include "profiler/chunkfile.h"
#include "profiler/critical_path.h"

/* The critical paths of a profile in a side file, for looking at a stretch of one. 32 bytes a piece. */

/* One path, as stored. */
struct path_section {
	int64_t rank, device;     /* SB_NULL = not known, and across ranks */
	int64_t origin_ns;        /* of the times below: where the capture's timeline begins; across
	                             ranks: 0, and times count from the first piece */
	int64_t first_ns, end_ns; /* of the path, from the origin */
	uint64_t works;           /* of the device, from which the path was taken */
	uint64_t pieces, count;   /* place of struct path_piece: start from the origin; capture is an
	                             index into the sources */
	uint64_t source;          /* index into the sources; across ranks: where the path ends */
	uint64_t across;          /* 1 = the path across the ranks */
};

/* A capture that a path goes through, as stored. */
struct path_source {
	int64_t rank; /* SB_NULL = unknown */
	int64_t origin_ns;
	uint64_t text, bytes; /* its path in the upload */
};

/* Writes all paths of a profile from the start of fd. Does not sync. SB_EIO, SB_ENOSPC, SB_ENOMEM. */
int path_file_write(const struct profile *p, const struct critical_paths *paths, int fd,
                    struct sb_error *err);

struct path_file {
	struct chunkfile file;
	const struct path_section *sections; /* by capture and device; the one across ranks last */
	size_t count;
	const struct path_source *sources;
	size_t source_count;
	const uint64_t *starts; /* of the texts; one more than there are */
	const char *texts;
	size_t text_count;
};

/* Maps a file; fd may be closed afterwards. SB_EFORMAT ("bad_side_file"), SB_EIO, SB_ENOMEM. */
int path_file_open(int fd, struct path_file *out, struct sb_error *err);
void path_file_close(struct path_file *f);
#define PATH_FILE_AUTO __attribute__((cleanup(path_file_close))) struct path_file
/* A name of a piece: borrowed, not ended by NUL; NULL and length 0 for none. */
const char *path_file_text(const struct path_file *f, uint32_t id, size_t *out_len);
/* The path of a source in the upload: borrowed, not ended by NUL; NULL when damaged. */
const char *path_file_source(const struct path_file *f, uint64_t source, size_t *out_len);

/* What of a path lies in [from, to) from its origin. */
struct path_sum {
	uint32_t name;
	uint8_t part;
	int64_t count, total_ns;
};
struct path_view {
	struct path_piece *pieces; /* cut to the view, in order; at most the limit; across ranks, too, on the
	                              capture's clock from its origin */
	size_t count;
	uint64_t left_out;
	int64_t part_ns[PATH_PARTS];
	int64_t span_ns;       /* their sum: from the first to the last moment of the path in view */
	struct path_sum *sums; /* by name and part, longest first; without the nameless */
	size_t sum_count;
};
/* O(pieces of the path). SB_EFORMAT when what is needed of the file is damaged, SB_ENOMEM. */
int path_file_look(const struct path_file *f, const struct path_section *s, int64_t from, int64_t to,
                   size_t limit, struct path_view *out, struct sb_error *err);
void path_view_free(struct path_view *v);
#define PATH_VIEW_AUTO __attribute__((cleanup(path_view_free))) struct path_view
#endif
