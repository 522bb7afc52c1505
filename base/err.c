#include "base/err.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 4, 0))) static void fill(struct sb_error *err, int code, const char *word,
                                                       const char *fmt, va_list ap)
{
	*err = (struct sb_error){.code = code, .offset = -1};
	snprintf(err->word, sizeof(err->word), "%s", word);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
}

int sb_fail(struct sb_error *err, int code, const char *word, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	fill(err, code, word, fmt, ap);
	va_end(ap);
	return code;
}

int sb_no_memory(struct sb_error *err)
{
	return sb_fail(err, SB_ENOMEM, "no_memory", "out of memory");
}

int sb_fail_at(struct sb_error *err, int code, const char *word, const char *file, int64_t line,
               int64_t offset, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	fill(err, code, word, fmt, ap);
	va_end(ap);
	snprintf(err->file, sizeof(err->file), "%s", file ? file : "");
	err->line = line;
	err->offset = offset;
	return code;
}

int sb_fail_field(struct sb_error *err, int code, const char *word, const char *field, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	fill(err, code, word, fmt, ap);
	va_end(ap);
	snprintf(err->field, sizeof(err->field), "%s", field);
	return code;
}

/* Most texts are the predicate of the field they stand at. */
static bool is_predicate(const char *text)
{
	static const char *const verbs[] = {"must ", "is ", "are ", "has ", "does ", "cannot ", "can "};

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strncmp(text, verbs[i], strlen(verbs[i])) == 0)
			return true;
	return false;
}

void sb_error_sentence(const struct sb_error *err, char out[SB_ERROR_SENTENCE_MAX])
{
	static_assert(SB_ERROR_SENTENCE_MAX == sizeof(err->field) + sizeof(err->text) + 2, "holds both");
	const char *text = err->text[0] ? err->text : sb_strerror(err->code);

	snprintf(out, SB_ERROR_SENTENCE_MAX, "%s%s%s", err->field,
	         !err->field[0]       ? ""
	         : is_predicate(text) ? " "
	                              : ": ",
	         text);
}

const char *sb_strerror(int code)
{
	switch ((enum sb_err)code) {
	case SB_OK: return "ok";
	case SB_ENOMEM: return "out of memory";
	case SB_EIO: return "input/output error";
	case SB_EINVAL: return "malformed";
	case SB_ELIMIT: return "limit exceeded";
	case SB_ENOENT: return "not found";
	case SB_ECONFLICT: return "conflict";
	case SB_EFORMAT: return "not a readable profile";
	case SB_EIMPOSSIBLE: return "impossible value";
	case SB_EINFEASIBLE: return "infeasible";
	case SB_ENOSPC: return "no space left";
	case SB_ECANCELED: return "canceled";
	case SB_EBUSY: return "busy";
	case SB_EREADONLY: return "read-only";
	}
	return "unknown error";
}
