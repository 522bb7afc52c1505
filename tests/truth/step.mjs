// The mean step of a device by its rows: the host's step or the span with its bubble, whichever is longer; of a GPU
// the whole capture counts, too.
export function mean_step(rows) {
  const steps = rows.filter((r) => r.step !== null), whole = rows.find((r) => r.step === null);
  const sum = (take) => steps.reduce((total, r) => total + (take(r) ?? 0), 0);
  const spans = sum((r) => r.span_us + (r.bubble_us ?? 0));
  return Math.max(spans, sum((r) => r.step_us), steps.length > 0 && whole?.bubble_us === null ? whole.span_us : 0, steps.length === 0 ? whole.span_us : 0) / Math.max(steps.length, 1);
}
