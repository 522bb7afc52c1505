#include <math.h>
#include <string.h>

#include "api/profiles/documents.h"
#include "profiler/efficiency/efficiency.h"

/* GET /v1/profiles/{id}/efficiency. */

static json_t *fit_json(const struct rate_fit *f, const char *rate)
{
	return isnan(f->rate) ? json_null()
	                      : json_pack("{s:f,s:f,s:o}", rate, f->rate, "overhead_seconds", f->overhead,
	                                  "mean_error", json_real_or_null(f->mean_error));
}

/* {calls, seconds, flops, flops_per_second}, or in bytes. */
static json_t *sum_json(const struct work_sum *s, const char *amount, const char *rate)
{
	return s->calls == 0 || !isfinite(s->seconds + s->amount / s->seconds)
	           ? json_null()
	           : json_pack("{s:I,s:f,s:f,s:f}", "calls", (json_int_t)s->calls, "seconds", s->seconds,
	                       amount, s->amount, rate, s->amount / s->seconds);
}

static json_t *products_json(const struct efficiency *e)
{
	json_t *o = sum_json(&e->products, "flops", "flops_per_second"), *classes;

	if (json_is_null(o))
		return o;
	classes = json_array();
	for (int i = 0; i < PRODUCT_CLASSES; i++) {
		json_t *class;

		if (e->product_class[i].calls == 0)
			continue;
		class = sum_json(&e->product_class[i], "flops", "flops_per_second");
		json_object_set_new(class, "from_flops", json_real(product_class_least(i)));
		json_object_set_new(class, "to_flops",
		                    i + 1 < PRODUCT_CLASSES ? json_real(product_class_least(i + 1))
		                                            : json_null());
		json_array_append_new(classes, class);
	}
	json_object_set_new(o, "fit", fit_json(&e->product_fit, "flops_per_second"));
	json_object_set_new(o, "classes", classes);
	return o;
}

static json_t *collectives_json(const struct efficiency *e)
{
	static const char *const kinds[] = {[COLLECTIVE_OTHER] = "other",
	                                    [COLLECTIVE_ALL_REDUCE] = "all_reduce",
	                                    [COLLECTIVE_ALL_GATHER] = "all_gather",
	                                    [COLLECTIVE_REDUCE_SCATTER] = "reduce_scatter",
	                                    [COLLECTIVE_ALL_TO_ALL] = "all_to_all"};
	json_t *list = json_array();

	for (size_t i = 0; i < e->collective_count; i++) {
		const struct collective_rate *r = &e->collectives[i];

		json_array_append_new(
		    list,
		    json_pack("{s:s,s:I,s:o,s:o,s:I,s:f,s:f,s:o}", "type", kinds[r->kind], "ranks",
		              (json_int_t)r->ranks, "span", r->span < 0 ? json_null() : json_integer(r->span),
		              "stride", r->stride < 0 ? json_null() : json_integer(r->stride), "calls",
		              (json_int_t)r->calls, "largest_bytes", r->largest_bytes, "bus_bytes_per_second",
		              r->bus_bytes_per_second, "fit", fit_json(&r->fit, "bus_bytes_per_second")));
	}
	return list;
}

static json_t *links_json(const struct efficiency *e)
{
	json_t *list = json_array();

	for (size_t i = 0; i < e->link_count; i++) {
		json_t *o = sum_json(&e->links[i].sum, "bytes", "bytes_per_second");

		if (json_is_object(o)) {
			json_object_set_new(o, "link", json_string(e->links[i].name));
			json_array_append(list, o);
		}
		json_decref(o);
	}
	return list;
}

static json_t *attention_json(const struct efficiency *e)
{
	json_t *o = sum_json(&e->attention, "flops", "flops_per_second");

	if (json_is_object(o))
		json_object_set_new(o, "whole_square", json_boolean(e->attention_whole));
	return o;
}

json_t *document_efficiency(const struct profile *p)
{
	struct efficiency e;

	if (efficiency_measure(p, &e) != SB_OK)
		return NULL;
	return json_pack(
	    "{s:o,s:o,s:I,s:o,s:o,s:o,s:o,s:o,s:o}", "chip",
	    e.chip[0] ? json_text(e.chip, strlen(e.chip)) : json_null(), "matrix_products", products_json(&e),
	    "other_precision_products", (json_int_t)e.other_products, "attention", attention_json(&e),
	    "element_wise", sum_json(&e.element_wise, "bytes", "bytes_per_second"), "kernel_gap",
	    e.gaps == 0
	        ? json_null()
	        : json_pack("{s:I,s:f}", "count", (json_int_t)e.gaps, "median_seconds", e.gap_seconds),
	    "overlap",
	    e.overlapped == 0
	        ? json_null()
	        : json_pack("{s:I,s:f}", "calls", (json_int_t)e.overlapped, "slowdown", e.overlap_slowdown),
	    "collectives", collectives_json(&e), "links", links_json(&e));
}
