#include <string.h>

#include "api/plans/strategy_export.h"
#include "tests/fuzz/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A small model, with experts where asked for. */
static struct model model_of(bool experts)
{
	struct model m = {.layers = 12,
	                  .hidden = 1024,
	                  .heads = 16,
	                  .ffn_hidden = 4096,
	                  .vocab = 50304,
	                  .seq_len = 2048,
	                  .has_moe = experts};

	if (experts)
		m.moe = (struct moe){.experts = 8, .top_k = 2, .ffn_hidden = 1024};
	model_defaults(&m);
	return m;
}

/* What is read of a text: whole and inside; and what is written of it reads back the same. */
static void check_text(const struct launch_format *f, const struct model *m, const struct cluster *c,
                       const char *text, size_t len)
{
	LAUNCH_AUTO l = {.model = m, .cluster = c, .devices = 64};
	struct sb_error err = {0};

	if (launch_read(f, text, len, &l, &err) != SB_OK) {
		must(err.code == SB_EIMPOSSIBLE || err.code == SB_ENOMEM);
		return;
	}
	must(l.strategy.pp >= 1 && l.strategy.vpp >= 1);
	must(strategy_slices_fit(l.strategy.pp, l.strategy.vpp, m->layers));
	for (int64_t i = 0; i < launch_slices(&l); i++)
		must(launch_slice_layers(&l, i) <= m->layers);
	if (l.sequences < 1 || strategy_fit(m, c, &l.strategy, l.sequences) != FIT_OK)
		return;
	for (int i = 0; launch_format_names[i]; i++) {
		const struct launch_format *to = launch_format_named(launch_format_names[i]);
		LAUNCH_AUTO back = {.model = m, .cluster = c, .devices = strategy_devices(&l.strategy)};
		SB_BUF_AUTO out;

		sb_buf_init(&out, OPTIONS_TEXT_MAX);
		if (launch_write(to, &l, &out, &err) != SB_OK)
			continue;
		must(launch_read(to, out.data, out.len, &back, &err) == SB_OK);
		for (int k = 0; k < LAUNCH_FIELDS; k++)
			must(launch_field_same(&l, &back, (enum launch_field)k));
		must(back.sequences == l.sequences);
	}
}

/* The first byte, a digit, says which launcher's text the rest is; from 5 on, for a model with experts. An m
 * is MindSpeed's, an M the same with experts. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"megatron", "deepspeed", "mindformers", "torchtitan", "env"};
	struct cluster c = {.nodes = 8, .devices_per_node = 8};
	const struct launch_format *f;
	struct model m;
	int format;

	if (size < 1)
		return 0;
	format = data[0] >= '0' && data[0] <= '9' ? data[0] - '0' : 0;
	m = model_of(format >= 5 || data[0] == 'M');
	f = data[0] == 'm' || data[0] == 'M' ? &launch_mindspeed : launch_format_named(names[format % 5]);
	check_text(f, &m, &c, (const char *)data + 1, size - 1);
	return 0;
}
