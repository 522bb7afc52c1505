#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/client.h"
#include "server/commands.h"
#include "server/paths.h"
#include "server/progress.h"
#include "server/push_report.h"

static int show(void *bar, curl_off_t down_total, curl_off_t down, curl_off_t up_total, curl_off_t up)
{
	(void)down_total;
	(void)down;
	progress_show(bar, up, up_total);
	return 0;
}

/* Every file under its relative path; libcurl streams them from the disk. */
static int add_files(curl_mime *form, const struct path_list *files)
{
	for (size_t i = 0; i < files->count; i++) {
		curl_mimepart *part = curl_mime_addpart(form);

		if (!part || curl_mime_name(part, "file") != CURLE_OK ||
		    curl_mime_filedata(part, files->files[i].disk_path) != CURLE_OK ||
		    curl_mime_filename(part, files->files[i].label) != CURLE_OK)
			return SB_ENOMEM;
	}
	return SB_OK;
}

static int upload_path(struct client *c, const char *name, char *out, size_t size)
{
	char *escaped = name ? curl_easy_escape(c->curl, name, 0) : NULL;
	int n = escaped ? snprintf(out, size, "/v1/profiles?name=%s", escaped)
	                : snprintf(out, size, "/v1/profiles");

	curl_free(escaped);
	return n < (int)size ? SB_OK : SB_EINVAL;
}

static int send_files(struct client *c, const struct path_list *files, const char *name,
                      struct client_answer *out, struct sb_error *err)
{
	struct progress_bar bar;
	curl_mime *form = curl_mime_init(c->curl);
	char path[1200];
	int rc = form ? add_files(form, files) : SB_ENOMEM;

	if (rc == SB_OK)
		rc = upload_path(c, name, path, sizeof(path));
	if (rc != SB_OK) {
		curl_mime_free(form);
		return sb_fail(err, rc, "push_failed", "the upload cannot be made: %s", sb_strerror(rc));
	}
	curl_easy_setopt(c->curl, CURLOPT_MIMEPOST, form);
	curl_easy_setopt(c->curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(c->curl, CURLOPT_XFERINFOFUNCTION, show);
	curl_easy_setopt(c->curl, CURLOPT_XFERINFODATA, &bar);
	progress_start(&bar, "sending");
	rc = client_run(c, path, 0, out, err);
	progress_end(&bar);
	curl_mime_free(form);
	return rc;
}

static int push(const char *server, const struct path_list *files, const char *name, bool wait)
{
	CLIENT_AUTO client = {0};
	CLIENT_ANSWER_AUTO answer = {0};
	struct sb_error err = {0};
	struct answer_profile profile;
	int rc = client_open(server, &client, &err);

	if (rc != SB_OK)
		return command_fail(&err, rc == SB_EINVAL ? 2 : 1);
	rc = send_files(&client, files, name, &answer, &err);
	if (rc == SB_OK)
		rc = push_accepted(&answer, &profile, &err);
	if (rc != SB_OK)
		return command_fail(&err, 1);
	printf("profile %s\n", profile.id);
	fflush(stdout);
	if (!wait)
		return 0;
	rc = push_wait(&client, profile.id, &err);
	if (rc == SB_OK)
		rc = push_print(&client, profile.id, stdout, &err);
	return rc == SB_OK ? 0 : command_fail(&err, 1);
}

static int run(int argc, char **argv)
{
	PATHS_AUTO files = {0};
	struct sb_error err = {.offset = -1};
	const char *server = NULL, *name = NULL;
	bool wait = false;
	int c;

	while ((c = command_next(&PUSH_COMMAND, argc, argv, &err)) != -1) {
		switch (c) {
		case 's': server = optarg; break;
		case 'n': name = optarg; break;
		case 'w': wait = true; break;
		default: return command_misused(&PUSH_COMMAND, &err);
		}
	}
	if (!server || optind >= argc)
		return command_misused(&PUSH_COMMAND, &err);
	if (paths_collect(argv + optind, (size_t)(argc - optind), &files, &err) != SB_OK)
		return command_fail(&err, 1);
	return push(server, &files, name, wait);
}

static const struct command_option OPTIONS[] = {
    {.name = "server",
     .value = "URL",
     .letter = 's',
     .needed = true,
     .meaning = "of the service, e.g. http://127.0.0.1:8080"},
    {.name = "name",
     .value = "NAME",
     .letter = 'n',
     .meaning = "of the profile (default the name of the first file)"},
    {.name = "wait",
     .letter = 'w',
     .meaning = "until the profile is read, then print its verdict and advice"},
    {0}};

const struct command PUSH_COMMAND = {
    .name = "push",
    .arguments = "PATH...",
    .purpose = "Sends a capture to a running service and prints the id of its profile. A PATH is a file, a "
               "directory or an archive; all are one profile.",
    .options = OPTIONS,
    .status = "0 sent, and read with --wait; 1 it was not; 2 wrong usage.",
    .run = run,
};
