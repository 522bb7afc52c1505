#include "api/profiles/documents.h"

#include <string.h>

#include "api/profiles/json_build.h"
#include "storage/store.h"

static json_t *error_json(const struct sb_error *e)
{
	json_t *o = json_object();
	char detail[SB_ERROR_SENTENCE_MAX];

	sb_error_sentence(e, detail);
	json_object_set_new(o, "code", json_text(e->word, strlen(e->word)));
	json_object_set_new(o, "detail", json_text(detail, strlen(detail)));
	json_object_set_new(o, "file", e->file[0] ? json_text(e->file, strlen(e->file)) : json_null());
	json_object_set_new(o, "line", e->line > 0 ? json_integer(e->line) : json_null());
	json_object_set_new(o, "offset", e->offset >= 0 ? json_integer(e->offset) : json_null());
	return o;
}

json_t *document_profile(const char *id, const char *name, const char *state, int64_t created_us,
                         int64_t bytes, const char *sha256, const json_t *facts, const struct sb_error *error)
{
	static const struct {
		const char *name;
		bool list; /* never null: a client may loop over it in any state */
	} members[] = {{"format", false},  {"ranks", true},    {"unranked", true},        {"steps", true},
	               {"devices", true},  {"chip", false},    {"captures", false},       {"events", false},
	               {"warnings", true}, {"left_out", true}, {"left_out_total", false}, {"verdict", false}};
	json_t *o = json_object();
	char created[32];

	json_object_set_new(o, "id", id ? json_string(id) : json_null());
	json_object_set_new(o, "name", json_text(name, strlen(name)));
	json_object_set_new(o, "state", json_string(state));
	if (created_us > 0)
		store_time_text(created_us, created);
	json_object_set_new(o, "created_at", created_us > 0 ? json_string(created) : json_null());
	json_object_set_new(o, "bytes", json_integer(bytes));
	json_object_set_new(o, "sha256", sha256 ? json_string(sha256) : json_null());
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		json_t *v = json_object_get(facts, members[i].name);

		json_object_set_new(o, members[i].name,
		                    v                 ? json_incref(v)
		                    : members[i].list ? json_array()
		                                      : json_null());
	}
	json_object_set_new(o, "error", error ? error_json(error) : json_null());
	return o;
}
