#ifndef SB_SERVER_COMMANDS_H
#define SB_SERVER_COMMANDS_H
#include "base/err.h"

/* The program's commands. argv[0] is the command's own name. Each returns the exit status of the program: 0
 * fine, 1 the work failed (the reason is on stderr), 2 wrong usage. */
int serve_command(int argc, char **argv);
int analyze_command(int argc, char **argv);
int plan_command(int argc, char **argv);
int push_command(int argc, char **argv);
int healthcheck_command(int argc, char **argv);

/* Prints "signalbox: ", where in the input it happened as far as the error knows, and the reason; bytes that
 * could steer a terminal are replaced. Returns status. */
int command_fail(const struct sb_error *err, int status);
#endif
