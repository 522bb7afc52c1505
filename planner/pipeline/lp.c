#include "planner/pipeline/lp.h"

#include <math.h>

#define TEXT_MAX (16 << 20)
/* Readers of the format hold a line in a small buffer. */
#define TERMS_OF_LINE 6

void lp_init(struct lp *lp)
{
	*lp = (struct lp){.terms = 0};
	sb_buf_init(&lp->rows, TEXT_MAX);
	sb_buf_init(&lp->bounds, TEXT_MAX);
	sb_buf_init(&lp->whole, TEXT_MAX);
}

void lp_free(struct lp *lp)
{
	sb_buf_free(&lp->rows);
	sb_buf_free(&lp->bounds);
	sb_buf_free(&lp->whole);
}

size_t lp_column(struct lp *lp, bool whole, double most)
{
	if (!isinf(most))
		(void)sb_buf_addf(&lp->bounds, " x%zu <= %.15g\n", lp->columns, most);
	if (whole)
		(void)sb_buf_addf(&lp->whole, " x%zu\n", lp->columns);
	return lp->columns++;
}

void lp_term(struct lp *lp, double weight, size_t column)
{
	if (weight == 0)
		return;
	if (lp->terms == 0)
		(void)sb_buf_addf(&lp->rows, " r%zu:", lp->row_count);
	else if (lp->terms % TERMS_OF_LINE == 0)
		(void)sb_buf_adds(&lp->rows, "\n ");
	(void)sb_buf_addf(&lp->rows, " %c %.15g x%zu", weight < 0 ? '-' : '+', fabs(weight), column);
	lp->terms++;
}

void lp_end(struct lp *lp, const char *relation, double right)
{
	if (lp->terms > 0)
		(void)sb_buf_addf(&lp->rows, " %s %.15g\n", relation, right);
	lp->row_count += lp->terms > 0;
	lp->terms = 0;
}

int lp_text(struct lp *lp, size_t objective, struct sb_buf *out)
{
	const struct sb_buf *parts[] = {&lp->rows, &lp->bounds, &lp->whole};
	static const char *const heads[] = {"", "Bounds\n", "Generals\n"};

	sb_buf_init(out, TEXT_MAX);
	(void)sb_buf_addf(out, "Minimize\n obj: x%zu\nSubject To\n", objective);
	for (int i = 0; i < 3; i++) {
		if (parts[i]->status != SB_OK)
			return parts[i]->status;
		(void)sb_buf_adds(out, heads[i]);
		(void)sb_buf_add(out, parts[i]->data, parts[i]->len);
	}
	return sb_buf_adds(out, "End\n");
}
