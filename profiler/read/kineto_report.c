#include "profiler/read/kineto_impl.h"
#include "profiler/read/merge.h"

/* What was tolerated in a trace. */

void kineto_warn(struct kineto *k, const struct jpull_flaw *f, const char *code, const char *what)
{
	struct warnings *w = &k->ctx->profile->warnings;

	if (f->count == 0)
		return;
	warnings_add(w, code, k->path, 0, f->offset, "%s First in the event at byte %lld, %llu in all.", what,
	             (long long)f->offset, (unsigned long long)f->count);
	warnings_repeat(w, code, k->path, f->count - 1);
}

void kineto_report(struct kineto *k)
{
	kineto_warn(k, &k->bad_ts, "bad_timestamp", "A span has no readable \"ts\" and was left out.");
	kineto_warn(k, &k->no_dur, "missing_duration", "A span has no readable \"dur\"; it counts as 0.");
	kineto_warn(k, &k->negative_dur, "negative_duration",
	            "A span has a negative \"dur\"; it counts as 0.");
	kineto_warn(k, &k->skipped, "skipped_event",
	            "An event of a kind that is not read (asynchronous, object, mark …) was passed over.");
	kineto_warn(k, &k->repeated, "duplicate_event",
	            "Work on a device stands in the file twice (same stream, time, name and correlation); it "
	            "counts once.");
}

/* No error: the host's side is answered, and what the device did is unknown. */
void kineto_report_host_only(struct kineto *k)
{
	if (trace_has_device_work(&k->trace))
		return;
	warnings_add(
	    &k->ctx->profile->warnings, "no_device_activity", k->path, 0, -1,
	    "The trace holds no work of a device, only the host's: device times are unknown. Was the "
	    "profiler told to record the device (ProfilerActivity.CUDA)?");
}
