#include "profiler/read/csv_impl.h"

#ifdef __SSE2__
#include <emmintrin.h>

#define STEP 16

/* Where 16 bytes hold a given one, as bits. */
static unsigned places(__m128i v, char ch)
{
	return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8(ch)));
}

/* The last place where STEP bytes and the NUL behind them fit. */
static char *last_room(const struct sb_buf *b)
{
	size_t cap = b->cap <= b->max ? b->cap : b->max;

	return cap > STEP ? b->data + cap - STEP - 1 : NULL;
}

static void stand(struct csv *c, const char *p, const char *out, enum place place)
{
	struct sb_buf *b = &c->record.text;

	c->at = (size_t)(p - c->block);
	c->place = place;
	b->len = (size_t)(out - b->data);
	b->data[b->len] = '\0';
}

static void end_field(struct fields *f, char *comma)
{
	*comma = '\0';
	f->start[++f->count] = (uint32_t)(comma + 1 - f->text.data);
}

bool csv_fast(struct csv *c)
{
	struct fields *f = &c->record;
	const char *p = c->block + c->at, *end = c->block + c->len;
	char *out = f->text.data + f->text.len, *last = last_room(&f->text);
	unsigned fresh = c->place == PLACE_START;

	if (!last || !c->begun)
		return false;
	/* bytes are copied as they are: a comma becomes the NUL behind its field */
	for (; end - p >= STEP && out <= last; p += STEP, out += STEP) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		unsigned stops = places(v, ',') | places(v, '\n') | places(v, '\r');
		unsigned opening = places(v, '"') & (stops << 1 | fresh);

		_mm_storeu_si128((__m128i *)(void *)out, v);
		for (unsigned left = stops | opening; left; left &= left - 1) {
			int i = __builtin_ctz(left);
			bool line = p[i] == '\n';

			if ((p[i] != ',' && !line) || f->count == CSV_FIELDS_MAX) {
				stand(c, p + i, out + i, p[i] == '"' ? PLACE_START : PLACE_PLAIN);
				return false;
			}
			end_field(f, out + i);
			if (!line)
				continue;
			stand(c, p + i + 1, out + i + 1, PLACE_START);
			c->line++;
			return true;
		}
		fresh = stops >> (STEP - 1);
	}
	stand(c, p, out, fresh ? PLACE_START : PLACE_PLAIN);
	return false;
}
#else
bool csv_fast(struct csv *c)
{
	(void)c;
	return false;
}
#endif
