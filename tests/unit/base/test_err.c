#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static void says(const char *field, const char *text, const char *wanted)
{
	char sentence[SB_ERROR_SENTENCE_MAX];
	struct sb_error err = {0};

	sb_fail_field(&err, SB_EINVAL, "word", field, "%s", text);
	sb_error_sentence(&err, sentence);
	assert_string_equal(sentence, wanted);
}

static void a_sentence_stands_alone(void **state)
{
	(void)state;
	says("/stages", "must be at least 1", "/stages must be at least 1");
	says("/model", "is missing", "/model is missing");
	says("/layers", "the model has none", "/layers: the model has none");
	/* a verb is a whole word */
	says("/layers", "islands have no link", "/layers: islands have no link");
	says("", "must not be seen without its field", "must not be seen without its field");
	says("/x", "", "/x: malformed");
}

static void the_longest_fit(void **state)
{
	char field[400], text[900], sentence[SB_ERROR_SENTENCE_MAX];
	struct sb_error err = {0};

	(void)state;
	memset(field, 'f', sizeof(field));
	memset(text, 't', sizeof(text));
	field[sizeof(field) - 1] = text[sizeof(text) - 1] = '\0';
	sb_fail_field(&err, SB_EINVAL, "word", field, "%s", text);
	sb_error_sentence(&err, sentence);
	/* 159 and 399 bytes of them are kept, with ": " between */
	assert_int_equal(strlen(sentence), 159 + 2 + 399);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_sentence_stands_alone),
	    cmocka_unit_test(the_longest_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
