#ifndef SB_TESTS_FUZZ_JSON_MUTATOR_H
#define SB_TESTS_FUZZ_JSON_MUTATOR_H
#include <jansson.h>
#include <stdint.h>
#include <string.h>

/* Changes a JSON document in one place so that it stays one: what bytes alone rarely do. */

enum { JSON_WORDS_MAX = 4096 };

/* libFuzzer's own mutator of bytes; not there where the corpus is only fed (driver.c). */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t size_max) __attribute__((weak));

struct json_mutator {
	uint64_t state;                    /* of the random numbers */
	const char *words[JSON_WORDS_MAX]; /* names and words that mean something, borrowed */
	size_t word_count;
};

/* splitmix64 (Steele, Lea, Flood 2014), below n. */
static inline size_t json_mutator_pick(struct json_mutator *m, size_t n)
{
	uint64_t z = m->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return n > 0 ? (z ^ z >> 31) % n : 0;
}

static inline void json_mutator_word(struct json_mutator *m, const char *word)
{
	for (size_t i = 0; i < m->word_count; i++)
		if (strcmp(m->words[i], word) == 0)
			return;
	if (m->word_count < JSON_WORDS_MAX)
		m->words[m->word_count++] = word;
}

/* Learns the members of a JSON Schema, and the words that it allows. The schema must outlive the mutator. */
static inline void json_mutator_learn(struct json_mutator *m, const json_t *schema)
{
	const char *key;
	const json_t *value;
	size_t i;

	if (json_is_string(schema))
		json_mutator_word(m, json_string_value(schema));
	json_array_foreach(schema, i, value) json_mutator_learn(m, value);
	json_object_foreach((json_t *)(uintptr_t)schema, key, value)
	{
		if (strcmp(key, "properties") == 0 && json_is_object(value)) {
			const char *name;
			const json_t *of;

			json_object_foreach((json_t *)(uintptr_t)value, name, of)
			{
				json_mutator_word(m, name);
				json_mutator_learn(m, of);
			}
		} else if (strcmp(key, "description") != 0 && strcmp(key, "title") != 0) {
			json_mutator_learn(m, value);
		}
	}
}

static inline size_t json_mutator_count(const json_t *value)
{
	const json_t *child;
	const char *key;
	size_t n = 1, i;

	json_array_foreach(value, i, child) n += json_mutator_count(child);
	json_object_foreach((json_t *)(uintptr_t)value, key, child) n += json_mutator_count(child);
	return n;
}

/* Value number *at of the document, counted from its root; NULL past the end. */
static inline json_t *json_mutator_nth(json_t *value, size_t *at)
{
	json_t *child, *found = NULL;
	const char *key;
	size_t i;

	if ((*at)-- == 0)
		return value;
	json_array_foreach(value, i, child)
	{
		found = json_mutator_nth(child, at);
		if (found)
			return found;
	}
	json_object_foreach(value, key, child)
	{
		found = json_mutator_nth(child, at);
		if (found)
			return found;
	}
	return NULL;
}

static inline json_t *json_mutator_any(struct json_mutator *m, json_t *root)
{
	size_t at = json_mutator_pick(m, json_mutator_count(root));

	return json_mutator_nth(root, &at);
}

static inline json_t *json_mutator_number(struct json_mutator *m, const json_t *old)
{
	static const double numbers[] = {0,   -1,  1,   2,   3,    7,      8,     16,   64,    1024, 4096,
	                                 0.5, 1.5, 1e9, 3e9, 1e-9, 5e-324, 1e308, 1e18, 65536, 1e12, 0.1};
	double v = json_is_number(old) ? json_number_value(old) : 1;

	switch (json_mutator_pick(m, 8)) {
	case 0: return json_real(numbers[json_mutator_pick(m, sizeof(numbers) / sizeof(*numbers))]);
	case 1: return json_integer((json_int_t)json_mutator_pick(m, 17));
	case 2: return json_integer((json_int_t)1 << json_mutator_pick(m, 40));
	case 3: return json_real(v * (double)(1 + json_mutator_pick(m, 4)));
	case 4: return json_real(v / (double)(1 + json_mutator_pick(m, 4)));
	case 5: return json_integer(json_integer_value(old) / 2 + (json_mutator_pick(m, 2) ? 1 : -1));
	case 6: return json_real(v + (json_mutator_pick(m, 2) ? 1 : -1));
	default: return json_integer(INT64_MAX);
	}
}

static inline json_t *json_mutator_text(struct json_mutator *m)
{
	return json_string(m->word_count > 0 ? m->words[json_mutator_pick(m, m->word_count)] : "x");
}

/* What stands in the place of `old` from now on: mostly of its own kind. */
static inline json_t *json_mutator_other(struct json_mutator *m, json_t *root, const json_t *old)
{
	switch (json_mutator_pick(m, 10)) {
	case 0: return json_deep_copy(json_mutator_any(m, root));
	case 1: return json_pack("[O]", old);
	case 2: return json_mutator_pick(m, 2) ? json_boolean(json_mutator_pick(m, 2)) : json_null();
	case 3: return json_mutator_number(m, old);
	default: break;
	}
	if (json_is_string(old))
		return json_mutator_text(m);
	if (json_is_boolean(old))
		return json_boolean(!json_boolean_value(old));
	return json_is_number(old) ? json_mutator_number(m, old) : json_deep_copy(json_mutator_any(m, root));
}

static inline void json_mutator_array(struct json_mutator *m, json_t *root, json_t *array)
{
	size_t n = json_array_size(array), at = json_mutator_pick(m, n);

	if (n == 0)
		json_array_append_new(array, json_mutator_number(m, NULL));
	else if (json_mutator_pick(m, 4) == 0)
		json_array_remove(array, at);
	else if (json_mutator_pick(m, 3) == 0 && n < 512)
		json_array_insert_new(array, at, json_deep_copy(json_array_get(array, at)));
	else
		json_array_set_new(array, at, json_mutator_other(m, root, json_array_get(array, at)));
}

static inline void json_mutator_object(struct json_mutator *m, json_t *root, json_t *object)
{
	size_t at = json_mutator_pick(m, json_object_size(object));
	void *member = json_object_iter(object);
	json_t *name;

	for (; at > 0; at--)
		member = json_object_iter_next(object, member);
	if (!member || json_mutator_pick(m, 4) == 0) {
		name = json_mutator_text(m);
		json_object_set_new(object, json_string_value(name), json_mutator_other(m, root, NULL));
		json_decref(name);
	} else if (json_mutator_pick(m, 5) == 0) {
		name = json_string(json_object_iter_key(member));
		json_object_del(object, json_string_value(name));
		json_decref(name);
	} else {
		json_object_iter_set_new(object, member,
		                         json_mutator_other(m, root, json_object_iter_value(member)));
	}
}

/* For LLVMFuzzerCustomMutator(): one to four changes, now and then of bytes. */
static inline size_t json_mutator_run(struct json_mutator *m, uint8_t *data, size_t size, size_t size_max,
                                      unsigned seed)
{
	json_t *root = NULL, *at;
	char *text;
	size_t len;

	m->state = seed;
	if (json_mutator_pick(m, 16) > 0)
		root = json_loadb((const char *)data, size, 0, NULL);
	if (!root)
		return LLVMFuzzerMutate(data, size, size_max);
	for (size_t changes = 1 + json_mutator_pick(m, 4); changes > 0; changes--) {
		at = json_mutator_any(m, root);
		if (json_is_array(at))
			json_mutator_array(m, root, at);
		else if (json_is_object(at))
			json_mutator_object(m, root, at);
		else
			changes += json_mutator_pick(m, 8) > 0; /* a value alone: look for what holds one */
	}
	text = json_dumps(root, JSON_COMPACT);
	len = text ? strlen(text) : 0;
	json_decref(root);
	if (len == 0 || len > size_max) {
		free(text);
		return LLVMFuzzerMutate(data, size, size_max);
	}
	memcpy(data, text, len);
	free(text);
	return len;
}
#endif
