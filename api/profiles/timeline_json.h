#ifndef SB_API_PROFILES_TIMELINE_JSON_H
#define SB_API_PROFILES_TIMELINE_JSON_H
#include "base/buf.h"
#include "profiler/timeline.h"

/* Writes the answer for a view: {origin_ns,rank,from_us,to_us,px,lanes,left_out}. section and t are NULL when
 * the profile has no events. SB_EFORMAT when the texts of the file are damaged, SB_ENOMEM, SB_ELIMIT. */
int timeline_write_json(const struct timeline *t, const struct timeline_query *q,
                        const struct timeline_view *v, struct sb_buf *out);
#endif
