#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "api/plans/plans.h"
#include "storage/store.h"

json_t *plan_document(const char *id, int64_t created_us, json_t *answer)
{
	JSON_AUTO said = answer;
	char created[32];
	json_t *o;

	store_time_text(created_us, created);
	o = json_pack("{s:s, s:O?, s:O?, s:s}", "id", id, "kind", json_object_get(said, "kind"), "method",
	              json_object_get(said, "method"), "created_at", created);
	if (o && json_object_update_missing(o, said) != 0) {
		json_decref(o);
		o = NULL;
	}
	return o;
}

static char *with_identity(json_t *answer)
{
	JSON_AUTO whole = NULL;
	char id[STORE_ID_MAX];

	store_new_id(id);
	whole = plan_document(id, store_now_us(), answer);
	return whole ? json_write_indented(whole) : NULL;
}

static int output(const struct plan_output *wanted, json_t *answer, char **out_text, struct sb_error *err)
{
	static const struct plan_view whole = PLAN_VIEW_WHOLE;
	SB_BUF_AUTO text;
	const char *type;
	int rc;

	sb_buf_init(&text, PLAN_SCHEDULE_MAX);
	if (wanted->format)
		return plan_export(answer, wanted->format, out_text, &type, err);
	if (wanted->schedule) {
		rc = plan_schedule(answer, &whole, &text, err);
		if (rc != SB_OK)
			return rc;
		*out_text = sb_buf_take(&text);
	} else {
		*out_text = with_identity(json_incref(answer));
	}
	return *out_text ? SB_OK : sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
}

int plan_text(const char *request, size_t len, const char *name, const struct plan_output *wanted,
              char **out_text, char **out_extra, struct sb_error *err)
{
	const struct plan_lookup lookup = {0};
	json_error_t where;
	JSON_AUTO asked = json_read_request(request, len, &where);
	JSON_AUTO answer = NULL;
	JSON_AUTO extra = NULL;
	int rc;

	*out_extra = NULL;
	if (!asked)
		return sb_fail_at(err, SB_EINVAL, "not_json", name, where.line, where.position, "%s",
		                  where.text);
	rc = plan_solve(&lookup, asked, &answer, &extra, err);
	if (rc == SB_OK)
		rc = output(wanted, answer, out_text, err);
	if (rc != SB_OK)
		*out_extra = extra ? json_write(extra, NULL) : NULL;
	return rc;
}
