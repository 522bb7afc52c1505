#include "tests/unit/storage/helper.h"

#include "base/num.h"
#include "storage/internal.h"

static void must_plan(struct store *s, char digit, struct store_plan *out)
{
	char text[] = "{}";
	struct store_plan p = {.kind = "strategy", .created_us = 1, .text = text};
	bool existing;

	store_new_id(p.id);
	memset(p.digest, digit, 64);
	p.digest[64] = '\0';
	assert_int_equal(store_plan_put(s, &p, out, &existing, NULL), SB_OK);
}

static struct store_measurement measurement(const struct store_plan *plan,
                                            const struct store_profile *profile)
{
	struct store_measurement m = {.created_us = 5,
	                              .steps = 3,
	                              .measured_ns = 200,
	                              .predicted_ns = 180,
	                              .measured_bytes = SB_NULL,
	                              .predicted_bytes = 7};

	snprintf(m.plan, sizeof(m.plan), "%s", plan->id);
	snprintf(m.profile, sizeof(m.profile), "%s", profile->id);
	return m;
}

static void a_plan_is_measured_by_profiles(void **state)
{
	struct store_measurement *rows = NULL, m;
	struct store_plan plan[2];
	struct store_profile profile[2];
	struct place p;
	struct store *s;
	size_t n = 0;

	(void)state;
	make_dir(&p);
	s = must_open(&p);
	for (int i = 0; i < 2; i++) {
		must_plan(s, (char)('a' + i), &plan[i]);
		must_create(s, "f", "x", &profile[i]);
		m = measurement(&plan[0], &profile[i]);
		assert_int_equal(store_measurement_put(s, &m, NULL), SB_OK);
	}
	m = measurement(&plan[1], &profile[1]);
	assert_int_equal(store_measurement_put(s, &m, NULL), SB_OK);
	/* the same pair again: its numbers change */
	m = measurement(&plan[0], &profile[0]);
	m.measured_ns = 400;
	m.measured_bytes = 9;
	assert_int_equal(store_measurement_put(s, &m, NULL), SB_OK);
	assert_int_equal(store_measurement_list(s, NULL, 10, &rows, &n, NULL), SB_OK);
	assert_int_equal(n, 3);
	assert_string_equal(rows[0].plan, plan[1].id);
	assert_string_equal(rows[2].profile, profile[0].id);
	assert_true(rows[2].measured_ns == 400 && rows[2].measured_bytes == 9 &&
	            rows[2].predicted_bytes == 7);
	assert_true(rows[1].measured_bytes == SB_NULL && rows[1].steps == 3 && rows[1].created_us == 5);
	free(rows);
	assert_int_equal(store_measurement_list(s, plan[1].id, 10, &rows, &n, NULL), SB_OK);
	assert_int_equal(n, 1);
	free(rows);
	/* what one of the two is gone of is gone too */
	assert_int_equal(store_profile_delete(s, profile[1].id, NULL), SB_OK);
	assert_int_equal(store_measurement_list(s, NULL, 10, &rows, &n, NULL), SB_OK);
	assert_int_equal(n, 1);
	free(rows);
	assert_int_equal(store_plan_delete(s, plan[0].id, NULL), SB_OK);
	assert_int_equal(store_measurement_list(s, NULL, 10, &rows, &n, NULL), SB_OK);
	assert_int_equal(n, 0);
	free(rows);
	assert_int_equal(store_measurement_put(s, &m, NULL), SB_ENOENT);
	for (int i = 0; i < 2; i++) {
		store_plan_clear(&plan[i]);
		store_profile_clear(&profile[i]);
	}
	store_close(&s);
	drop_dir(&p);
}

/* A database of the first schema, as the program before wrote it: its named documents stay, and calibrations
 * may join them. */
static void an_older_database_is_brought_up(void **state)
{
	static const char OLD[] = "DROP TABLE measurements; DROP TABLE named;"
	                          "CREATE TABLE named ("
	                          " family TEXT NOT NULL CHECK (family IN ('models','clusters')),"
	                          " name TEXT NOT NULL, updated_us INTEGER NOT NULL, text TEXT NOT NULL,"
	                          " PRIMARY KEY (family, name)) STRICT, WITHOUT ROWID;"
	                          "INSERT INTO named VALUES ('models', 'mine', 1, '{\"layers\":2}');"
	                          "PRAGMA user_version=1";
	struct place p;
	struct store *s;
	bool created = false;
	char *text = NULL;

	(void)state;
	make_dir(&p);
	s = must_open(&p);
	store_close(&s);
	in_database(&p, OLD);
	s = must_open(&p);
	assert_int_equal(store_named_get(s, "models", "mine", &text, NULL), SB_OK);
	assert_string_equal(text, "{\"layers\":2}");
	free(text);
	assert_int_equal(store_named_put(s, "calibrations", "lab", "{}", &created, NULL), SB_OK);
	assert_true(created);
	assert_int_not_equal(store_named_put(s, "others", "lab", "{}", &created, NULL), SB_OK);
	store_close(&s);
	drop_dir(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_plan_is_measured_by_profiles),
	    cmocka_unit_test(an_older_database_is_brought_up),
	};

	return cmocka_run_group_tests_name("measurements", tests, NULL, NULL);
}
