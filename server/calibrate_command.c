#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/calibration.h"
#include "api/http.h"
#include "api/named.h"
#include "server/commands.h"

/* A preset by its name, else a file with a cluster as JSON. */
static int read_cluster(const char *from, json_t **out, struct sb_error *err)
{
	JSON_AUTO preset = preset_document("clusters", from);
	SB_BUF_AUTO text;
	int rc;

	sb_buf_init(&text, (size_t)API_LIMITS_DEFAULT.request_bytes);
	if (preset)
		return calibration_cluster(preset, out, err);
	rc = command_read(from, &text, err);
	if (rc == SB_ENOENT)
		return sb_fail(err, rc, "unknown_name",
		               "--cluster: %s is neither a cluster that is known nor a file", from);
	return rc == SB_OK ? calibration_cluster_text(text.data ? text.data : "", text.len, from, out, err)
	                   : rc;
}

/* What one file, directory or archive shows of the hardware. */
static int measure(char *const *path, json_t **out, struct sb_error *err)
{
	PATHS_AUTO files = {0};
	RESULTS_AUTO results = {0};
	int rc = paths_collect(path, 1, &files, err);

	if (rc == SB_OK)
		rc = command_results(&files, &THRESHOLDS_DEFAULT, &results, err);
	if (rc == SB_OK && !(*out = document_efficiency(&results.profile)))
		rc = sb_no_memory(err);
	return rc;
}

static int calibrate_paths(const char *from, char *const *paths, size_t count)
{
	json_t *documents[CALIBRATION_PROFILES_MAX] = {0};
	struct sb_error err = {.offset = -1};
	JSON_AUTO cluster = NULL;
	char *text = NULL;
	int rc = read_cluster(from, &cluster, &err), status;

	for (size_t i = 0; rc == SB_OK && i < count; i++)
		rc = measure(paths + i, &documents[i], &err);
	if (rc == SB_OK)
		rc = calibration_text(cluster, documents, count, &text, &err);
	status = rc == SB_OK ? command_print(text, "calibration") : command_fail(&err, 1);
	for (size_t i = 0; i < count; i++)
		json_decref(documents[i]);
	free(text);
	return status;
}

static int run(int argc, char **argv)
{
	struct sb_error err = {0};
	const char *cluster = NULL;
	int c;

	while ((c = command_next(&CALIBRATE_COMMAND, argc, argv, &err)) == 'c')
		cluster = optarg;
	if (c == -1 && argc - optind > CALIBRATION_PROFILES_MAX)
		sb_fail(&err, SB_EINVAL, "usage", "a calibration is made of %d captures at most",
		        CALIBRATION_PROFILES_MAX);
	if (err.code != SB_OK || !cluster || optind >= argc)
		return command_misused(&CALIBRATE_COMMAND, &err);
	return calibrate_paths(cluster, argv + optind, (size_t)(argc - optind));
}

static const struct command_option OPTIONS[] = {
    {.name = "cluster",
     .value = "NAME|FILE",
     .letter = 'c',
     .needed = true,
     .meaning = "that the captures were made on: a preset, or a file with a cluster in JSON"},
    {0}};

const struct command CALIBRATE_COMMAND = {
    .name = "calibrate",
    .arguments = "PATH...",
    .purpose =
        "Prints a calibration in JSON: constants of the planner's cost model, as captures show them. Each "
        "PATH is a capture: a file, a directory or an archive.",
    .options = OPTIONS,
    .status = "0 done; 1 a capture cannot be read or shows nothing of use; 2 wrong usage.",
    .run = run,
};
