#ifndef SB_PROFILER_READ_SIGNALBOX_IMPL_H
#define SB_PROFILER_READ_SIGNALBOX_IMPL_H
#include "profiler/read/clock.h"
#include "profiler/read/id_map.h"
#include "profiler/read/json.h"
#include "profiler/read/memory_rows.h"
#include "profiler/read/reader.h"

/* Inside of the reader of our own format (signalbox_profile.md): signalbox.c, signalbox_event.c,
 * signalbox_head.c, signalbox_memory.c and signalbox_word.c only. */

struct word {
	const char *text;
	uint8_t len, value;
};
#define WORD(text, value)                                                                                    \
	{                                                                                                    \
		text, sizeof(text) - 1, value                                                                \
	}

/* What was tolerated, for one warning each. */
struct signalbox_flaws {
	struct jpull_flaw bad_event, bad_value, unknown_kind, no_duration, negative_duration;
	struct jpull_flaw unknown_member, not_event, duplicate, lane_twice, broken, bad_memory;
	char member[41]; /* the first unknown one */
};

struct signalbox {
	struct read_context *ctx;
	const char *path;
	struct jpull *j;
	struct trace trace;
	struct step *steps;
	size_t step_count;
	struct capture memory; /* nothing but series of memory */
	int64_t version, rank, world_size, origin_ns;
	char chip[64];
	struct id_map lanes;  /* halves of the file's number → lane */
	bool *declared;       /* by lane: did "lanes" describe it? */
	struct id_map groups; /* id of a group's name → id of its ranks */
	int64_t last_number;  /* the lane of the last event: most often the next one's too */
	uint32_t last_lane;
	struct clock_range range; /* before the origin is added */
	struct signalbox_flaws flaws;
};

/* An object: its members are looked up in `words` (the last one's value is count, for unknown members) and
 * handed out. Scalars are given whole; of a container the first token, and what take() does not read of it is
 * skipped. */
struct shape {
	const struct word *words;
	size_t count;
	int (*take)(struct signalbox *s, void *item, uint8_t member, const struct jpull_value *v,
	            struct sb_error *err);
};

/* signalbox_word.c */
/* The index of a text among words, or count. `hint` is tried first. */
size_t word_find(const struct word *words, size_t count, size_t hint, const char *text, size_t len);
/* Reads the members of the object whose brace was read last. */
int signalbox_object(struct signalbox *s, const struct shape *shape, void *item, struct sb_error *err);
/* A whole number: an integer, a text of one, or a number with the value of one. false: it is none. */
bool signalbox_int(const struct jpull_value *v, int64_t *out);
/* The same for an optional value, null allowed: SB_NULL, with a note when it is below `least` or no number.
 */
int64_t signalbox_optional(struct signalbox *s, const struct jpull_value *v, int64_t least);
/* The id of a text; 0 and a note when it is none (null: no note). SB_ENOMEM, SB_ELIMIT. */
int signalbox_text(struct signalbox *s, const struct jpull_value *v, uint32_t *out);

/* signalbox_head.c */
/* The lane with the file's number, made when it is new. SB_ENOMEM, SB_ELIMIT. */
int signalbox_lane(struct signalbox *s, int64_t number, uint32_t *out);
/* Elements of "lanes", "steps" and "groups", the brace of which was read last. */
int signalbox_lane_item(struct signalbox *s, int64_t offset, struct sb_error *err);
int signalbox_step_item(struct signalbox *s, int64_t offset, struct sb_error *err);
int signalbox_group_item(struct signalbox *s, int64_t offset, struct sb_error *err);
/* Once all is read: names lanes that nothing described, gives collectives the ranks of their groups, sorts
 * the steps, adds the origin. SB_ENOMEM. */
int signalbox_head_end(struct signalbox *s);

/* signalbox_memory.c */
/* An element of "memory". */
int signalbox_memory_item(struct signalbox *s, int64_t offset, struct sb_error *err);
/* Gives the capture, which has its events already, the series. */
void signalbox_take_memory(struct signalbox *s, struct capture *c);

/* signalbox_event.c */
int signalbox_event_item(struct signalbox *s, int64_t offset, struct sb_error *err);
#endif
