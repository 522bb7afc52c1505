#ifndef SB_PROFILER_READ_ENVIRONMENT_H
#define SB_PROFILER_READ_ENVIRONMENT_H
#include "profiler/profile.h"

/* The job's environment variables, as profiler_metadata.json and the table META_DATA hold them. */

#define ENVIRONMENT_MAX 256       /* variables a capture; those past it are left out */
#define ENVIRONMENT_NAME_MAX 128  /* bytes; a longer name is no variable that anyone knows */
#define ENVIRONMENT_VALUE_MAX 512 /* bytes; a longer value is cut */

/* Notes a variable; an empty value means that it is not set. A name that is there already keeps its first
 * value. SB_ENOMEM, SB_ELIMIT. */
int environment_add(struct capture *c, const char *name, size_t name_len, const char *value,
                    size_t value_len);
/* Adds what `from` knows to `to`. SB_ENOMEM, SB_ELIMIT. */
int environment_lend(struct capture *to, const struct capture *from);
#endif
