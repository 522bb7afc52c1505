#ifndef SB_SERVER_COMMANDS_H
#define SB_SERVER_COMMANDS_H
#include "api/profiles/documents.h"
#include "base/buf.h"
#include "server/command.h"
#include "server/paths.h"

/* The program's commands, each in a file of its own. A run's exit status: 0 fine, 1 the work failed (the
 * reason is on stderr), 2 wrong usage. */
extern const struct command SERVE_COMMAND, ANALYZE_COMMAND, PLAN_COMMAND, CALIBRATE_COMMAND, PUSH_COMMAND,
    HEALTHCHECK_COMMAND;

/* Prints "signalbox: ", where in the input it happened as far as the error knows, and the reason; bytes that
 * could steer a terminal are replaced. Returns status. */
int command_fail(const struct sb_error *err, int status);

/* ---- command_io.c: what several commands do ---- */

/* The bytes of a request's file, "-" is standard input, at most what the buffer takes. SB_ENOENT, SB_EIO,
 * SB_ELIMIT. */
int command_read(const char *path, struct sb_buf *out, struct sb_error *err);
/* Prints a text and an end of line; what: its name, should that fail. Returns the exit status. */
int command_print(const char *text, const char *what);
/* Reads and analyses files on all cores, with a bar. As results_compute(). */
int command_results(const struct path_list *files, const struct thresholds *t, struct profile_results *out,
                    struct sb_error *err);
#endif
