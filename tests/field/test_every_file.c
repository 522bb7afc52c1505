/* Every file of $SIGNALBOX_SHARED/samples, handed in alone: what is a profile is read, what is none is
 * refused with a sentence that helps and the name of the file (report HTA#233). */
#include "tests/shared.h"

#include <fcntl.h>
#include <fts.h>
#include <string.h>
#include <sys/stat.h>

#include "profiler/read.h"

enum fate { READ, REFUSED, PART };

/* By the end of the path; the first that fits. PART: a file of a capture's directory, which may be of use
 * only together with the others. */
static const struct rule {
	const char *end;
	enum fate fate;
	const char *hint; /* a word of the sentence */
} RULES[] = {
    {".md", REFUSED, "text"},
    {".truth.json", REFUSED, "JSON"},
    {"kineto/memory_timeline.raw.gz", REFUSED, "memory timeline"},
    {"kineto/result_check_file.txt", REFUSED, ""},
    {"nsys/mock.json", REFUSED, "JSON"},
    {"nsys/healthy_1pct.json", REFUSED, "JSON"},
    {"moe/laer_rank_tokens.json", REFUSED, "JSON"},
    {"moe/laer_summary.json", REFUSED, "JSON"},
    {"moe/loss_real.json", REFUSED, "JSON"},
    {"moe/qwen15moe_layer0.json", REFUSED, "JSON"},
    {"moe/train_series_6e.json", REFUSED, "JSON"},
    {"/trace_view.json", READ, ""},
    {"/kernel_details.csv", READ, ""},
    {"/kernel_details_wide.csv", READ, ""},
    {"_detail_time.csv", READ, ""},
    {"/trace_view_timeline_advice.json", READ, ""},
    {"/step_trace_time.csv", READ, ""},
    {"/communication.json", READ, ""},
    {"/ascend_pytorch_profiler_0.db", READ, ""},
    {"/cluster_step_trace_time.csv", READ, ""},
    {"/cluster_communication.json", READ, ""},
    {"/op_summary_1.csv", READ, ""},
    {"/msprof_0.db", READ, ""},
    {".tar.gz", READ, ""},
    {".sqlite", READ, ""},
    {".sqlite.gz", READ, ""},
    {NULL, PART, ""},
};

static bool in_folder(const char *path, const char *folder)
{
	return strstr(path, folder) != NULL;
}

static const struct rule *rule_of(const char *path)
{
	static const struct rule KINETO = {NULL, READ, ""};
	size_t len = strlen(path);
	const struct rule *r = RULES;

	for (; r->end; r++)
		if (len >= strlen(r->end) && strcmp(path + len - strlen(r->end), r->end) == 0)
			return r;
	return in_folder(path, "/kineto/") ? &KINETO : r;
}

static void check(const char *path, const char *name, size_t count[3])
{
	const struct rule *rule = rule_of(path);
	struct read_input input = {.path = name, .fd = open(path, O_RDONLY | O_CLOEXEC)};
	PROFILE_AUTO p = {0};
	struct sb_error err = {.offset = -1};
	struct stat st = {0};
	int rc;

	assert_true(input.fd >= 0 && fstat(input.fd, &st) == 0);
	input.length = st.st_size;
	rc = profile_read(&input, 1, NULL, NULL, &p, &err);
	close(input.fd);
	count[rule->fate]++;
	if (rule->fate == READ && rc != SB_OK)
		fail_msg("%s is not read: %s", name, err.text);
	if (rule->fate == READ && p.count == 0)
		fail_msg("%s holds no capture", name);
	if (rule->fate == REFUSED && rc != SB_EFORMAT)
		fail_msg("%s is not refused (%d)", name, rc);
	if (rc == SB_OK)
		return;
	/* the word of the refusal, a sentence, and the file */
	if (rc != SB_EFORMAT || strlen(err.text) < 20 || err.file[0] == '\0' || !strstr(err.text, rule->hint))
		fail_msg("%s: refused without help: %s (%s)", name, err.text, err.file);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void test_every_file(void **state)
{
	char *root = shared_path("samples");
	char *const roots[] = {root, NULL};
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	size_t count[3] = {0};

	(void)state;
	assert_non_null(walk);
	for (FTSENT *e = fts_read(walk); e; e = fts_read(walk))
		if (e->fts_info == FTS_F)
			check(e->fts_path, e->fts_path + strlen(root) + 1, count);
	fts_close(walk);
	free(root);
	print_message("%zu read, %zu refused, %zu parts of captures\n", count[READ], count[REFUSED],
	              count[PART]);
	assert_true(count[READ] > 60 && count[REFUSED] >= 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_file)};

	return cmocka_run_group_tests_name("every file", tests, NULL, NULL);
}
