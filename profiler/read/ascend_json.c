#include <string.h>

#include "profiler/read/ascend.h"

bool object_member(struct jpull *j, int *rc, bool *more, struct jpull_value *out_key, struct sb_error *err)
{
	if (*rc != SB_OK || !*more)
		return false;
	*rc = jpull_next(j, out_key, err);
	if (*rc != SB_OK)
		return false;
	*more = out_key->token == JPULL_KEY;
	return *more;
}

int object_enter(struct jpull *j, bool *out_is, struct sb_error *err)
{
	struct jpull_value v;
	int rc = jpull_next(j, &v, err);

	if (rc != SB_OK)
		return rc;
	*out_is = v.token == JPULL_OBJECT;
	return *out_is ? SB_OK : jpull_skip(j, &v, err);
}

int value_skip(struct jpull *j, struct sb_error *err)
{
	struct jpull_value v;
	int rc = jpull_next(j, &v, err);

	return rc == SB_OK ? jpull_skip(j, &v, err) : rc;
}

int value_scalar(struct jpull *j, const char **out_text, size_t *out_len, struct sb_error *err)
{
	struct jpull_value v;
	int rc = jpull_next(j, &v, err);

	*out_text = "";
	*out_len = 0;
	if (rc != SB_OK)
		return rc;
	if (v.token != JPULL_NUMBER && v.token != JPULL_STRING)
		return jpull_skip(j, &v, err);
	*out_text = v.text;
	*out_len = v.len;
	return SB_OK;
}

bool key_is(const struct jpull_value *key, const char *text)
{
	size_t n = strlen(text);

	return key->len == n && memcmp(key->text, text, n) == 0;
}

int ascend_json_end(struct read_context *ctx, const struct stream *in, int rc, bool any,
                    const struct sb_error *got, struct sb_error *err)
{
	if (rc == SB_EFORMAT && any) {
		warnings_add(&ctx->profile->warnings, got->word, in->path, 0, got->offset,
		             "The file is used up to here only: %s.", got->text);
		return SB_OK;
	}
	if (rc != SB_OK && err)
		*err = *got;
	return rc;
}
