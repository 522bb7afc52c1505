#include "tests/unit/api/helper.h"

#include "api/internal.h"

static const char *const types[] = {"application/json", "text/html", "text/markdown", NULL};
enum { NONE = -1, JSON, HTML, MARKDOWN };

static void test_choice(void **state)
{
	static const struct {
		const char *accept;
		int wanted;
	} cases[] = {
	    {NULL, JSON},
	    {"", JSON},
	    {"*/*", JSON},
	    {"text/html", HTML},
	    {"TEXT/HTML", HTML},
	    {"text/markdown", MARKDOWN},
	    {"text/*", HTML},
	    {"application/*", JSON},
	    /* what browsers send */
	    {"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", HTML},
	    {"text/html;q=0.5, text/markdown", MARKDOWN},
	    {"text/html;q=0.5, text/markdown;q=0.5", HTML},
	    {"*/*, text/markdown", MARKDOWN}, /* of equal weight: the one that is named */
	    {"text/markdown;q=0.1, */*;q=0.9", JSON},
	    {"application/json;q=0, */*", HTML}, /* all but that */
	    {"text/html;level=1;q=0.7, text/markdown;q=0.6", HTML},
	    {" text/html ; q=0.3 , application/json ; q=0.2 ", HTML},
	    {"text/html;q=1.000", HTML},
	    {"text/html;q=0.000", NONE},
	    {"image/png", NONE},
	    {"text/htmlx, text/htm", NONE},
	    {"*/*;q=0", NONE},
	    {",,;;,=", NONE},
	    {"text/html;q=x", HTML},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int got = accept_choose(cases[i].accept, types);

		if (got != cases[i].wanted)
			fail_msg("%s gives %d, not %d", cases[i].accept ? cases[i].accept : "(none)", got,
			         cases[i].wanted);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_choice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
