#ifndef SB_SERVER_PUSH_REPORT_H
#define SB_SERVER_PUSH_REPORT_H
#include <stdio.h>

#include "api/profiles/answers.h"
#include "server/client.h"

/* What `signalbox push` does after the upload. */

/* The profile of an accepted upload; SB_EIO with the service's reason otherwise. */
int push_accepted(const struct client_answer *a, struct answer_profile *out, struct sb_error *err);
/* Waits until the profile is ready, with a progress bar. SB_EFORMAT with the service's reason when it failed.
 */
int push_wait(struct client *c, const char *id, struct sb_error *err);
/* Fetches and prints verdict, findings and advice, as `signalbox analyze` prints them. */
int push_print(struct client *c, const char *id, FILE *to, struct sb_error *err);
#endif
