#ifndef SB_SERVER_CONFIG_H
#define SB_SERVER_CONFIG_H
#include <stdbool.h>
#include <stdio.h>

#include "server/http_mhd.h"
#include "server/log.h"

/* What `signalbox serve` was told. */
struct config {
	char host[256]; /* without brackets */
	char port[8];
	const char *data;
	bool allow_remote;
	struct api_limits limits;
	struct thresholds thresholds;
	struct http_limits http;
	struct job_queue_config jobs;
	enum log_level log_level;
};

/* Without any argument. */
void config_default(struct config *out);
/* Reads the arguments by SERVE_COMMAND's options; argv[0] is passed over, argv may be reordered. SB_EINVAL
 * with a sentence for the user. *out borrows from argv; after an error it holds what came before. */
int config_parse(int argc, char **argv, struct config *out, struct sb_error *err);
/* Splits "HOST:PORT", "[V6]:PORT" or ":PORT" (any address). SB_EINVAL. */
int config_listen(const char *text, struct config *out, struct sb_error *err);
/* Sets a limit by a text "NAME=VALUE". SB_EINVAL. */
int config_limit(const char *text, struct config *out, struct sb_error *err);
/* Lists the limits with what they mean and their defaults. */
void config_limits_help(FILE *to);
#endif
