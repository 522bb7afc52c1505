#ifndef SB_API_PROFILES_ANSWERS_H
#define SB_API_PROFILES_ANSWERS_H
#include <stddef.h>

#include "base/err.h"
#include "storage/store.h"

/* What the JSON answers of a service say, as plain values, for a client of it. The texts are untrusted: what
 * has another shape than expected is an error, never more than that. */

/* The id and state of a profile object. SB_EIO "bad_answer" when it has no usable id or state; SB_EFORMAT
 * "profile_failed", with file and reason, when its state is "failed". */
struct answer_profile {
	char id[STORE_ID_MAX];
	char state[16];
};
int answer_profile(const char *text, size_t len, struct answer_profile *out, struct sb_error *err);
/* The progress of a job object, 0..1; negative when it tells none. */
double answer_progress(const char *text, size_t len);
/* An answer of another status than asked for, as SB_EIO "refused" with the reason of its problem document. */
int answer_refused(long status, const char *text, size_t len, struct sb_error *err);
#endif
