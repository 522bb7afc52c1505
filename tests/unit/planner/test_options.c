#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "planner/export/options.h"

typedef int parser(const char *text, size_t len, struct options *out, struct sb_error *err);

/* `text` is read as the names and values given, NULL-terminated. */
static void reads(parser *parse, const char *text, const char *const *pairs)
{
	OPTIONS_AUTO o;
	struct sb_error err = {0};
	size_t count = 0;

	options_init(&o);
	if (parse(text, strlen(text), &o, &err) != SB_OK)
		fail_msg("%s", err.text);
	for (; pairs[2 * count]; count++) {
		const char *value = options_get(&o, pairs[2 * count]);

		if (!value)
			fail_msg("%s is missing", pairs[2 * count]);
		assert_string_equal(value, pairs[2 * count + 1]);
	}
	assert_int_equal(o.count, count);
}

static void refuses(parser *parse, const char *text, size_t len, const char *why)
{
	OPTIONS_AUTO o;
	struct sb_error err = {0};

	options_init(&o);
	assert_int_equal(parse(text, len, &o, &err), SB_EIMPOSSIBLE);
	if (!strstr(err.text, why))
		fail_msg("\"%s\" has no \"%s\"", err.text, why);
}

static void test_arguments(void **state)
{
	(void)state;
	reads(
	    options_from_arguments,
	    "torchrun --nproc 8 \\\n  --a=1 --b 'two words' --c # --d 4\n--e 1 2 -3 --f\n# plan zero=1: w\n",
	    (const char *const[]){"nproc", "8", "a", "1", "b", "two words", "c", "", "e", "1 2 -3", "f", "",
	                          "plan zero", "1", NULL});
	reads(options_from_arguments, "", (const char *const[]){NULL});
	reads(options_from_arguments, "--a \"\" --b", (const char *const[]){"a", "", "b", "", NULL});
	refuses(options_from_arguments, "--a 'b", 6, "quote");
	refuses(options_from_arguments, "--a 1 --b --a 2", 15, "a stands twice");
}

/* Options in variables of a script, as an array and as a quoted text; what stands around them is the command.
 */
static void test_scripts(void **state)
{
	(void)state;
	reads(options_from_arguments,
	      "NAME=\"run 1\"\n"
	      "MODEL_ARGS=(\n    --a 1\n    --flag\n)\n"
	      "MOE_ARGS=\"\n    --b 2 \\\n    --c 'two words' \\\n    --other \\\n\"\n"
	      "if [ $X -eq 1 ]; then\n  echo none\nfi\n"
	      "torchrun $DISTRIBUTED pretrain.py ${MODEL_ARGS[@]} \\\n    $MOE_ARGS --last $MORE | tee "
	      "log.txt\n"
	      "echo done && exit\n",
	      (const char *const[]){"a", "1", "flag", "", "b", "2", "c", "two words", "other", "", "last", "",
	                            NULL});
	reads(options_from_arguments, "ARGS='--a' --b", (const char *const[]){"a", "", "b", "", NULL});
	reads(options_from_arguments, "--text=\"a --b\"", (const char *const[]){"text", "a --b", NULL});
	refuses(options_from_arguments, "ARGS=\"--a", 9, "quote");
	refuses(options_from_arguments, "ARGS=\"--a 'b\"", 13, "quote");
}

static void test_yaml(void **state)
{
	(void)state;
	reads(options_from_yaml,
	      "---\n"
	      "# plan vpp=2: no schedule\n"
	      "seed: 0   # not a strategy\n"
	      "parallel: &here\n"
	      "  mode: 1\n"
	      "  deep:\n"
	      "    'size': \"8\"\n"
	      "  list: [[1, 2], # first\n"
	      "    [3, 4]]\n"
	      "callbacks:\n"
	      "  - type: A\n"
	      "    every: 10\n"
	      "  - type: B\n"
	      "sizes:\n"
	      "- 1\n"
	      "- 2\n"
	      "text: |\n"
	      "  mode: 3\n"
	      "last: &dp 4\n",
	      (const char *const[]){"plan vpp", "2", "seed", "0", "parallel.mode", "1", "parallel.deep.size",
	                            "8", "parallel.list", "[[1, 2],[3, 4]]", "last", "4", NULL});
	refuses(options_from_yaml, "a:\n\tb: 1\n", 9, "line 2");
	refuses(options_from_yaml, "a\n", 2, "line 1");
	refuses(options_from_yaml, "a: [1, 2\n", 9, "line 1");
	refuses(options_from_yaml, "a: [1]]\n", 8, "line 1");
	refuses(options_from_yaml, "a: 1\nb: 2\na: 3\n", 15, "a stands twice");
}

static void test_toml(void **state)
{
	(void)state;
	reads(options_from_toml,
	      "# plan order=tp,cp,pp,dp: mesh\n"
	      "top = true\n"
	      "[a]  # section\n"
	      "x = 1_024\n"
	      "\"y\" = 'text # with a mark'\n"
	      "[a.b]\n"
	      "list = [\n  [\"l.0\"], # one\n  [\"l.1\"],\n]\n",
	      (const char *const[]){"plan order", "tp,cp,pp,dp", "top", "true", "a.x", "1024", "a.y",
	                            "text # with a mark", "a.b.list", "[[\"l.0\"],[\"l.1\"],]", NULL});
	refuses(options_from_toml, "[[a]]\n", 6, "line 1");
	refuses(options_from_toml, "[a\n", 3, "line 1");
	refuses(options_from_toml, "x =\n", 4, "line 1");
	refuses(options_from_toml, "x = \"\"\"a\n", 9, "line 1");
	refuses(options_from_toml, "[a]\nx = 1\n[a]\nx = 2\n", 20, "a.x stands twice");
}

static void test_lines(void **state)
{
	(void)state;
	reads(options_from_lines, "export TP=4\n\nDP=\"8\" # replicas\nNAME=a b\n",
	      (const char *const[]){"TP", "4", "DP", "8", "NAME", "a b", NULL});
	refuses(options_from_lines, "TP\n", 3, "line 1");
	refuses(options_from_lines, "=4\n", 3, "line 1");
}

/* Too long, too deep, too many, and with a NUL: each is told, none is read half. */
static void test_hostile(void **state)
{
	static parser *const parsers[] = {options_from_arguments, options_from_lines, options_from_toml,
	                                  options_from_yaml};
	char *big = malloc(OPTIONS_TEXT_MAX + 2);
	size_t at = 0;

	(void)state;
	assert_non_null(big);
	memset(big, 'a', OPTIONS_TEXT_MAX + 1);
	for (int i = 0; i < 4; i++) {
		refuses(parsers[i], big, OPTIONS_TEXT_MAX + 1, "1 MiB");
		refuses(parsers[i], "a\0b", 3, "NUL");
		at = 0;
		for (int k = 0; k <= OPTIONS_MAX; k++) {
			struct sb_buf item;

			sb_buf_init(&item, 64);
			switch (i) {
			case 0: sb_buf_addf(&item, "--a%d 1\n", k); break;
			case 1: sb_buf_addf(&item, "A%d=1\n", k); break;
			case 2: sb_buf_addf(&item, "a%d = 1\n", k); break;
			default: sb_buf_addf(&item, "a%d: 1\n", k); break;
			}
			memcpy(big + at, item.data, item.len);
			at += item.len;
			sb_buf_free(&item);
		}
		refuses(parsers[i], big, at, "more than");
	}
	at = 0;
	for (int depth = 0; depth <= OPTIONS_DEPTH; depth++) {
		memset(big + at, ' ', (size_t)depth);
		at += (size_t)depth;
		memcpy(big + at, "a:\n", 3);
		at += 3;
	}
	refuses(options_from_yaml, big, at, "too deep");
	free(big);
}

static void test_values(void **state)
{
	static const char text[] = "A=9223372036854775808\nB=-1\nC=yes\nD=maybe\nE=[1, [2, -3]]\nF=1x";
	OPTIONS_AUTO o;
	struct sb_error err = {0};
	int64_t number = 7, list[3];
	bool flag = false;

	(void)state;
	options_init(&o);
	assert_int_equal(options_from_lines(text, strlen(text), &o, NULL), SB_OK);
	assert_int_equal(options_integer(&o, "A", 0, INT64_MAX, &number, &err), SB_EIMPOSSIBLE);
	assert_string_equal(err.text, "line 1: A is no whole number");
	assert_int_equal(options_integer(&o, "B", 0, 9, &number, &err), SB_EIMPOSSIBLE);
	assert_string_equal(err.text, "line 2: B is out of range");
	assert_int_equal(options_integer(&o, "F", 0, 9, &number, &err), SB_EIMPOSSIBLE);
	assert_int_equal(options_integer(&o, "Z", 0, 9, &number, &err), SB_OK);
	assert_int_equal(number, 7);
	assert_int_equal(options_boolean(&o, "C", &flag, &err), SB_OK);
	assert_true(flag);
	assert_int_equal(options_boolean(&o, "D", &flag, &err), SB_EIMPOSSIBLE);
	assert_int_equal(options_list(options_get(&o, "E"), list, 3), 3);
	assert_int_equal(list[2], -3);
	assert_int_equal(options_list(options_get(&o, "E"), list, 2), -1);
	assert_int_equal(options_list(options_get(&o, "F"), list, 3), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_arguments), cmocka_unit_test(test_scripts), cmocka_unit_test(test_yaml),
	    cmocka_unit_test(test_toml),      cmocka_unit_test(test_lines),   cmocka_unit_test(test_hostile),
	    cmocka_unit_test(test_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
