#ifndef SB_PROFILER_FINDINGS_MOE_H
#define SB_PROFILER_FINDINGS_MOE_H
#include "profiler/findings/findings.h"

/* What one device did for a mixture of experts. */
struct moe_view {
	double expert_ns; /* kernels of the experts' products, summed */
	size_t expert_kernels;
	double tokens; /* rows that went into them, by their shapes; 0 = no shapes */
	/* Rows that the router sends in one layer, and that most of the experts' products take; 0 = not told,
	 * or they differ from one to the next. */
	double routed_rows, product_rows;
	double exchange_ns; /* all-to-alls, dispatch and combine, their union */
	double exposed_ns;  /* … under no compute; all of it where only tables tell of it */
	size_t exchanges;
	bool hinted; /* something is called after experts */
};
/* By view, made when first asked for and kept by the context; NULL when memory is out (ctx->failed). */
const struct moe_view *findings_moe(struct check_context *ctx);
/* Does this job train a mixture of experts? All-to-alls alone are not enough: recommenders have them, too. */
bool moe_is_there(const struct moe_view *v);

/* What a text is the name of. */
enum moe_name { MOE_NOTHING, MOE_EXPERTS, MOE_EXCHANGE, MOE_HINT };
enum moe_name moe_name_of(const char *text);
/* Is an event of the timeline, or a kernel row, part of the exchange or of the experts? kernel_of: the name
 * that tells. */
enum moe_name moe_event(const struct capture *c, size_t event);
enum moe_name moe_kernel(const struct capture *c, const struct kernel *k);
/* The number that a text begins with, past quotes and blanks; *text moves behind it. -1 = it begins with
 * none. */
int64_t moe_number(const char **text);
/* Rows that a product of experts takes: those of its first tensor; 0 = not told. */
double moe_rows(const struct capture *c, const struct kernel *k);
/* Fills routed_rows and product_rows. So few products may have the same rows by chance. */
#define MOE_PRODUCTS_LEAST 4
void moe_count_rows(const struct capture *c, struct moe_view *m);
/* Is the kernel table used rather than the timeline's kernels? It has types and shapes. */
bool moe_by_table(const struct capture *c);
#endif
