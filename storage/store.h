#ifndef SB_STORAGE_STORE_H
#define SB_STORAGE_STORE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* What must not be lost: records in SQLite, uploads and side files on disk, in one data directory. The only
 * public header of storage/. It knows no meaning: documents are opaque texts. All functions are thread-safe
 * unless said otherwise: one writer thread owns the one connection that writes and checkpoints; readers have
 * their own.
 *
 * Layout: DIR/lock, DIR/signalbox.db, DIR/profiles/<id>/upload (all files of the upload, one after the
 * other), DIR/profiles/<id>/<side files>. Order of an upload that loses nothing: unnamed file, fdatasync,
 * directory, link, fsync of both directories, row committed (synchronous=FULL), then the caller acknowledges.
 */
struct store;

#define STORE_ID_MAX 40 /* public ids: UUIDv7 text with prefix-free hyphens, NUL included */

/* Opens or creates the data directory; takes DIR/lock (SB_ECONFLICT: another server uses it), migrates,
 * sweeps what an interrupted upload left behind, and puts profiles that were being read back to "queued"
 * (to "failed" when that has happened three times, or when the upload is not there any more; no facts then).
 * SB_ECONFLICT also for a database that is newer than this program, not ours, or missing while there are
 * profiles; nothing is changed then. A damaged database is opened for reading: store_health() tells. */
int store_open(const char *dir, struct store **out, struct sb_error *err);
/* Finishes queued writes, checkpoints, closes. NULL-safe. */
void store_close(struct store **s);
/* SB_OK while writes work; SB_EREADONLY, SB_ENOSPC, SB_EIO with the reason otherwise. For /readyz. */
int store_health(struct store *s, struct sb_error *err);
/* A fresh time-ordered public id. */
void store_new_id(char out_id[STORE_ID_MAX]);
/* Now, as a store timestamp. */
int64_t store_now_us(void);
/* RFC 3339 UTC text of a store timestamp (microseconds since the epoch). */
void store_time_text(int64_t us, char out[32]);
/* Lower-case hex SHA-256. */
void store_sha256(const void *data, size_t len, char out_hex[65]);
/* Does the text have the shape of a public id? */
bool store_id_is_valid(const char *id);

/* ---- uploads: one owner at a time, not thread-safe ---- */
struct upload;
/* Starts receiving. max_bytes bounds the sum of all files. SB_ENOSPC when the disk has less than
 * expected_bytes (0 = unknown) and the reserve free. */
int upload_begin(struct store *s, int64_t max_bytes, int64_t expected_bytes, struct upload **out,
                 struct sb_error *err);
/* Starts the next file of the upload. path: what the client called it; kept as a label, cleaned ('\\' to '/',
 * no leading '/', control bytes and what is no UTF-8 to '_'), at most 1024 bytes. A label that is taken gets
 * the number of the file in front ("2/trace.json"), or the next one that is free. SB_ELIMIT past 100,000
 * files. */
int upload_file(struct upload *up, const char *path, struct sb_error *err);
/* Appends to the file at hand. SB_ELIMIT past max_bytes, SB_ENOSPC, SB_EIO: the upload accepts nothing more
 * then. */
int upload_append(struct upload *up, const void *data, size_t len, struct sb_error *err);
int64_t upload_bytes(const struct upload *up);
size_t upload_files(const struct upload *up);
/* The label of the first file, "" when there is none yet. Borrowed until the next upload_file(). */
const char *upload_first(const struct upload *up);
/* Discards. NULL-safe; *up becomes NULL. */
void upload_abort(struct upload **up);
#define UPLOAD_AUTO __attribute__((cleanup(upload_abort))) struct upload *

/* ---- profiles ---- */
struct store_profile {
	char id[STORE_ID_MAX];
	char name[256];
	char state[16];  /* queued, reading, ready, failed */
	char sha256[65]; /* of all bytes of the upload, in the order received */
	int64_t bytes;
	int64_t created_us; /* since the epoch */
	char *facts; /* JSON object text written by the api when reading ended (format, ranks, …), or NULL */
	char *files; /* JSON array text [{"path":…,"offset":…,"bytes":…}]; NULL in lists */
};
void store_profile_clear(struct store_profile *p); /* frees the texts */

/* Makes the upload durable and creates its profile in state "queued"; *up is consumed either way. When it
 * returns SB_OK, profile and bytes survive a power cut; otherwise nothing is visible. */
int store_profile_create(struct store *s, struct upload **up, const char *name, struct store_profile *out,
                         struct sb_error *err);
int store_profile_get(struct store *s, const char *id, struct store_profile *out, struct sb_error *err);
/* Newest first. after: id of the last seen item, or NULL. Returns up to limit items; the caller clears and
 * frees them. */
int store_profile_list(struct store *s, const char *after, size_t limit, struct store_profile **out,
                       size_t *out_count, struct sb_error *err);
/* Ids of all profiles in a state, oldest first (for the start). The caller frees the array. */
int store_profile_ids(struct store *s, const char *state, char (**out_ids)[STORE_ID_MAX], size_t *out_count,
                      struct sb_error *err);
/* Changes the state; facts may be NULL (unchanged). SB_ENOENT when the profile was deleted meanwhile. */
int store_profile_set(struct store *s, const char *id, const char *state, const char *facts,
                      struct sb_error *err);
/* Row first, then the files. */
int store_profile_delete(struct store *s, const char *id, struct sb_error *err);
/* The bytes of the upload, read-only; the caller closes the fd. */
int store_profile_open(struct store *s, const char *id, int *out_fd, struct sb_error *err);

/* Side files of a profile (timeline, operator table): written under a temporary name, visible only as a
 * whole. They can be made again from the upload, so they are not synced: after a power cut one may hold
 * anything, and whoever reads it must know by its checksums. name: [a-z0-9.-]{1,60}. */
int store_side_begin(struct store *s, const char *id, const char *name, int *out_fd, struct sb_error *err);
int store_side_commit(struct store *s, const char *id, const char *name, int fd,
                      struct sb_error *err);                                      /* closes fd */
void store_side_abort(struct store *s, const char *id, const char *name, int fd); /* closes fd */
int store_side_open(struct store *s, const char *id, const char *name, int *out_fd, struct sb_error *err);

/* Result documents of a profile: opaque texts by name ("breakdown", "analysis", …), replaced as a set with
 * the new state and facts in one transaction, so that no reader sees half of them. */
struct store_document {
	const char *name;
	const char *text;
	size_t len;
};
int store_profile_finish(struct store *s, const char *id, const char *state, const char *facts,
                         const struct store_document *docs, size_t count, struct sb_error *err);
/* The text is owned by the caller (free()). */
int store_document_get(struct store *s, const char *id, const char *name, char **out_text, size_t *out_len,
                       struct sb_error *err);

/* ---- plans: immutable documents by digest ---- */
struct store_plan {
	char id[STORE_ID_MAX];
	char digest[65];
	char kind[40];
	int64_t created_us;
	char *text; /* the whole answer, JSON */
};
void store_plan_clear(struct store_plan *p);
/* Stores a plan. If the digest is there already, *out is the stored one and *out_existing is true. */
int store_plan_put(struct store *s, const struct store_plan *plan, struct store_plan *out, bool *out_existing,
                   struct sb_error *err);
int store_plan_get(struct store *s, const char *id, struct store_plan *out, struct sb_error *err);
int store_plan_find(struct store *s, const char *digest, struct store_plan *out, struct sb_error *err);
/* Newest first, as profiles are listed. Ends early, but not before the first, once the texts have max_bytes:
 * a plan may have megabytes, and a list holds hundreds. *out_more: others follow. The caller clears and frees
 * them. */
int store_plan_list(struct store *s, const char *after, size_t limit, size_t max_bytes,
                    struct store_plan **out, size_t *out_count, bool *out_more, struct sb_error *err);
int store_plan_delete(struct store *s, const char *id, struct sb_error *err);

/* ---- measurements: what a profile says of the run that a plan foretold ---- */
struct store_measurement {
	int64_t seq;
	char plan[STORE_ID_MAX], profile[STORE_ID_MAX];
	int64_t created_us;
	int64_t steps;                           /* that the measured step is the median of */
	int64_t measured_ns, predicted_ns;       /* of one step */
	int64_t measured_bytes, predicted_bytes; /* of the fullest device; SB_NULL = not known */
};
/* Stores one, or sets the numbers of that plan and profile anew. SB_ENOENT when there is no such plan or
 * profile. */
int store_measurement_put(struct store *s, const struct store_measurement *m, struct sb_error *err);
/* Those of a plan (NULL: of all), the newest first; the caller frees the array. */
int store_measurement_list(struct store *s, const char *plan, size_t limit, struct store_measurement **out,
                           size_t *out_count, struct sb_error *err);

/* ---- named documents: the user's own; family is "models", "clusters" or "calibrations" ---- */
int store_named_put(struct store *s, const char *family, const char *name, const char *text,
                    bool *out_created, struct sb_error *err);
int store_named_get(struct store *s, const char *family, const char *name, char **out_text,
                    struct sb_error *err);
/* Names in order; after may be NULL. The caller frees each text and the array. */
int store_named_list(struct store *s, const char *family, const char *after, size_t limit, char ***out_names,
                     size_t *out_count, struct sb_error *err);
int store_named_delete(struct store *s, const char *family, const char *name, struct sb_error *err);

/* ---- idempotency keys: the answer given to (key, route), kept 24 h; a later one for the same digest takes
 * its place, for another one: SB_ECONFLICT ---- */
int store_idempotency_get(struct store *s, const char *key, const char *route, char out_digest[65],
                          char **out_answer, struct sb_error *err);
int store_idempotency_put(struct store *s, const char *key, const char *route, const char *digest,
                          const char *answer, struct sb_error *err);

/* Counts and sizes for /metrics; cheap (cached by the writer). */
struct store_numbers {
	int64_t profiles, plans, database_bytes, wal_bytes, free_bytes;
};
void store_numbers(struct store *s, struct store_numbers *out);
#endif
