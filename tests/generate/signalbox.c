#include "tests/generate/kineto_rows.h"
#include "tests/generate/options.h"
#include "tests/generate/stack.h"
#include <inttypes.h>
#include <stddef.h>

/* The job of the Kineto dialect, written as a signalbox profile. */
enum { LANE_MAIN, LANE_AUTOGRAD, LANE_STREAM, LANE_LINK, LANE_EXCHANGE };

static void row(struct writer *w, int lane, const char *kind, const char *name, int64_t start, int64_t dur)
{
	out_fmt(w->out, "%s\n{\"lane\":%d,\"kind\":\"%s\",\"name\":", w->begun ? "," : "", lane, kind);
	out_json(w->out, name);
	out_text(w->out, ",\"start_ns\":");
	out_int(w->out, start);
	out_text(w->out, ",\"duration_ns\":");
	out_int(w->out, dur);
	w->begun = true;
	w->left--;
}

static void number(struct writer *w, const char *member, int64_t value)
{
	out_text(w->out, ",\"");
	out_text(w->out, member);
	out_text(w->out, "\":");
	out_int(w->out, value);
}

static void end(struct writer *w)
{
	out_text(w->out, "}");
}

static void group(struct writer *w, enum unit_kind kind)
{
	struct kineto_group g = kineto_group_of(w->o, w->r->rank, kind);

	out_fmt(w->out, "{\"name\":\"%s\",\"ranks\":[", g.name);
	kineto_ranks(w->out, &g);
	out_text(w->out, "]}");
}

/* The records that the Kineto dialect has as instants. */
static void memory(struct writer *w)
{
	const char *comma = "";

	for (int64_t i = 0; i < w->r->count; i++) {
		if (!w->r->units[i].memory)
			continue;
		out_fmt(w->out,
		        "%s\n{\"device\":%" PRId64 ",\"time_ns\":%" PRId64 ",\"allocated_bytes\":%" PRId64
		        ",\"reserved_bytes\":%" PRId64 ",\"capacity_bytes\":%" PRId64 "}",
		        comma, kineto_device(w->r), w->r->units[i].op + 1000, kineto_allocated(i),
		        KINETO_RESERVED, KINETO_CAPACITY);
		comma = ",";
	}
}

static void head(struct writer *w)
{
	const struct kineto_rank *r = w->r;

	out_fmt(w->out,
	        "{\"signalbox_profile\":1,\"producer\":{\"name\":\"generate\"},\"rank\":%" PRId64
	        ",\"world_size\":%" PRId64 ",\"chip\":\"NVIDIA H100 80GB HBM3\",\n\"lanes\":[",
	        r->rank, kineto_world(w->o));
	out_fmt(w->out, "{\"id\":%d,\"process\":\"python3\",\"thread\":\"thread 41007 (python3)\"},",
	        LANE_MAIN);
	out_fmt(w->out, "{\"id\":%d,\"process\":\"python3\",\"thread\":\"thread 41388 (pt_autograd_0)\"},",
	        LANE_AUTOGRAD);
	for (int i = LANE_STREAM; i <= LANE_EXCHANGE; i++)
		out_fmt(w->out,
		        "{\"id\":%d,\"process\":\"gpu\",\"thread\":\"stream %d\",\"device\":%" PRId64 "}%s",
		        i,
		        i == LANE_STREAM ? KINETO_STREAM
		        : i == LANE_LINK ? KINETO_LINK
		                         : KINETO_EXCHANGE,
		        kineto_device(r), i < LANE_EXCHANGE ? "," : "],\n");
	out_text(w->out, "\"groups\":[");
	group(w, UNIT_COLLECTIVE);
	if (w->o->shape == KINETO_PIPELINE) {
		out_text(w->out, ",");
		group(w, UNIT_SEND);
	}
	out_text(w->out, "],\n\"steps\":[");
	for (int64_t i = 0; i < w->o->steps; i++)
		out_fmt(w->out,
		        "%s{\"number\":%" PRId64 ",\"start_ns\":%" PRId64 ",\"duration_ns\":%" PRId64 "}",
		        i ? "," : "", KINETO_FIRST_STEP + i, r->steps[i].start,
		        r->steps[i].end - r->steps[i].start);
	out_text(w->out, "],\n\"memory\":[");
	memory(w);
	out_text(w->out, "],\n\"events\":[");
}

static void device_row(struct writer *w, const struct unit *u, int64_t index)
{
	static const char *const kinds[] = {[UNIT_COMPUTE] = "kernel",
	                                    [UNIT_COPY_IN] = "memcpy",
	                                    [UNIT_COPY_OUT] = "memcpy",
	                                    [UNIT_CLEAR] = "memset"};

	row(w,
	    u->kind == UNIT_COLLECTIVE ? LANE_LINK
	    : kineto_is_link(u)        ? LANE_EXCHANGE
	                               : LANE_STREAM,
	    kineto_is_link(u) ? "communication" : kinds[u->kind], kineto_work(u)->kernel, u->device,
	    u->device_dur);
	number(w, "link", index);
	if (u->kind != UNIT_COMPUTE)
		number(w, "bytes", u->bytes);
	if (u->kind == UNIT_COPY_IN || u->kind == UNIT_COPY_OUT)
		out_fmt(w->out, ",\"direction\":\"%s\"",
		        u->kind == UNIT_COPY_IN ? "host_to_device" : "device_to_host");
	if (kineto_is_link(u))
		out_fmt(w->out, ",\"collective\":\"%s\",\"group\":\"%s\"", kineto_collective_name(u),
		        kineto_group_of(w->o, w->r->rank, (enum unit_kind)u->kind).name);
	end(w);
}

static int lane_of(const struct unit *u)
{
	return u->phase == PHASE_BACKWARD ? LANE_AUTOGRAD : LANE_MAIN;
}

static void unit_rows(struct writer *w, const struct unit *u, int64_t index, const char *name)
{
	const struct work *k = kineto_work(u);
	int lane = lane_of(u);

	row(w, lane, "host_op", name ? name : k->outer, u->op, u->op_dur);
	end(w);
	row(w, lane, kineto_is_link(u) ? "host_annotation" : "host_op", k->inner, u->op + 1000,
	    u->op_dur - 1500);
	end(w);
	row(w, lane, "host_call", "launch", u->launch, u->launch_dur);
	number(w, "link", index);
	end(w);
	device_row(w, u, index);
	if (!u->sync_dur)
		return;
	for (int64_t depth = STACK_FRAMES; kineto_has_stack(w->o, u) && depth > 0; depth--) {
		row(w, lane, "python", stack_frames(u->loss)[depth - 1], u->op - 5 * depth,
		    u->op_dur + 10 * depth);
		end(w);
	}
	row(w, lane, "host_wait", "synchronize the stream", u->launch + u->launch_dur, u->sync_dur);
	end(w);
}

static void other_rows(struct writer *w)
{
	const struct kineto_rank *r = w->r;

	for (int64_t i = 0; i < w->o->steps; i++) {
		row(w, LANE_MAIN, "data_loading", "next batch", r->steps[i].start + 1000, r->steps[i].load);
		end(w);
	}
	for (int64_t i = 0; i < r->call_count; i++) {
		const struct kineto_call *c = &r->calls[i];

		row(w, LANE_MAIN, c->kind == CALL_GARBAGE ? "garbage_collection" : "host_call",
		    kineto_call_name(c), c->start, c->dur);
		end(w);
	}
	for (int i = 0; i < KINETO_EARLY; i++) {
		row(w, LANE_STREAM, "kernel", kineto_optimizer[0].kernel,
		    r->early + 2 * (int64_t)i * KINETO_EARLY_NS, KINETO_EARLY_NS);
		end(w);
	}
	/* up to the wanted number */
	for (int64_t i = 0; w->left > 0; i++) {
		const struct unit *u = &r->units[i % r->count];

		row(w, lane_of(u), "python", "nn.Module: Linear_0", u->op, u->op_dur);
		end(w);
	}
}

static int64_t write_profile(const struct kineto_options *o, const struct kineto_rank *r, const char *path)
{
	OUT_AUTO out = out_open(path, o->gzip);
	struct writer w = {.out = out, .o = o, .r = r, .left = o->events};

	head(&w);
	for (int64_t i = 0; i < r->count; i++) {
		bool first = i == 0 || r->units[i].step != r->units[i - 1].step;

		unit_rows(&w, &r->units[i], i, first ? o->name : NULL);
	}
	other_rows(&w);
	if (o->events && w.left != 0)
		out_die("these options need %" PRId64 " events at least", o->events - w.left);
	out_text(out, "\n]}\n");
	return out_bytes(out);
}

static int run(int argc, char **argv)
{
	struct kineto_options o = {.steps = 3,
	                           .ranks = 1,
	                           .seed = 1,
	                           .format = "signalbox",
	                           .suffix = "signalbox.json",
	                           .write = write_profile};

	return kineto_run(argc, argv, IN_SIGNALBOX, "eausrdfntzpixc", &o);
}

const struct dialect SIGNALBOX_DIALECT = {
    .name = "signalbox",
    .usage = "generate signalbox --events N [options] OUT  the job of kineto as a signalbox profile\n"
             "  --gzip; --units N operators a step instead of --events\n",
    .run = run,
};
