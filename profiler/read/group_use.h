#ifndef SB_PROFILER_READ_GROUP_USE_H
#define SB_PROFILER_READ_GROUP_USE_H
#include "profiler/profile.h"

/* What communication groups are for, as profiler_metadata.json and communication_group.json tell it. */

#define GROUP_HASH_MAX 24
/* The name that msprof gives to a group in its text files, NUL-terminated: the number made of two polynomial
 * hashes, with the factors 29 and 131, of the bytes of HCCL's name. Source: pairs of both names in
 * communication_group.json. */
void group_hash(const char *id, size_t len, char out[GROUP_HASH_MAX]);
/* Notes what the group of this name is for. An empty name or use is no use. SB_ENOMEM, SB_ELIMIT. */
int group_use_add(struct capture *c, const char *group, size_t group_len, const char *use, size_t use_len);
/* The same for a group by HCCL's name, as databases call it, and for the text files. SB_ENOMEM, SB_ELIMIT. */
int group_use_add_id(struct capture *c, const char *id, size_t id_len, const char *use, size_t use_len);
/* Adds what `from` knows to `to`. SB_ENOMEM, SB_ELIMIT. */
int group_use_lend(struct capture *to, const struct capture *from);
#endif
