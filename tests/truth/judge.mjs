// What a finding is worth beside what was injected.

// What costs less of the step is info at most; what costs more than the second must be found above info. Between the
// two either answer is right.
const NEAR = 0.02, CLEAR = 0.05;

// Codes that tell of a setting, not of time: being named at all is being found.
const SETTINGS = new Set(["cpu.environment", "communication.configuration"]);

// Where the cause is not recorded and can only be guessed, the guess must not be called sure.
const GUESSED = { "cpu.garbage_collection": ["mindspore", "msprof"] };

// True consequences: what else is the case, not only what else could be said, once the cause is there.
const CONSEQUENCES = {
  // Whatever holds one rank up makes all others wait for it, and that it is late is how anyone would notice; whose link
  // is slow transmits longest, and by the paper's R_wait that is the slow device.
  "communication.slow_rank": ["cpu.contention", "cpu.garbage_collection", "compute.frequency", "moe.imbalance", "communication.slow_link", "communication.retransmission"],
  // Every job here waits once a step, for the loss that it prints. Where the host is slow, that wait takes away the lead
  // that would hide it: the device idles for both, and without either it would not. A log costs the host at every call.
  "cpu.synchronization": ["cpu.dispatch", "cpu.host_bound", "cpu.contention", "cpu.garbage_collection", "cpu.environment"],
  // The cost of a log is in no event of its own: what can be seen is that all calls take long, and that the device waits
  // for them.
  "cpu.host_bound": ["cpu.environment"],
  // A product of a bad shape is a product that leaves the cube idle: the one is why the other is so.
  "compute.underutilized": ["compute.affinity"],
};

// Where a dialect shows the time and not whose it is, high confidence would be a lie, and the gain is a bound: what is
// said at all is counted there. The tables of a cluster sum up the idle time of a step, whoever is behind it.
const UNTOLD = { "cpu.host_bound": ["cluster"] };

export function is_allowed(code, causes) {
  return causes.includes(code) || causes.some((cause) => CONSEQUENCES[code]?.includes(cause));
}

// job.truth: ns of the mean step with the faults, and without each one of them alone.
export function judge(job, analysis) {
  const causes = job.faults.map(([code]) => code);
  const serious = analysis.findings.filter((f) => f.severity !== "info");
  const found = job.faults.map(([code], i) => {
    const all = analysis.findings.filter((f) => f.code === code);
    const best = all.find((f) => f.severity !== "info");
    const gain_us = (job.truth.with - job.truth.without[i]) / 1000, share = (job.truth.with - job.truth.without[i]) / job.truth.with;
    // the job gains what its worst rank gains
    const gains = all.map((f) => f.estimated_gain?.step_us).filter((us) => us != null);
    const estimate = gains.length > 0 ? Math.max(...gains) : null;
    const wanted = GUESSED[code]?.includes(job.dialect) ? "low" : "high";
    const counts = SETTINGS.has(code) ? job.kind !== "near" : share >= CLEAR;
    const told = !UNTOLD[code]?.includes(job.dialect);
    return {
      code, share, gain_us, estimate, counts,
      any: SETTINGS.has(code) ? all.length > 0 : Boolean(best),
      high: SETTINGS.has(code) ? all.some((f) => f.confidence === "high") : serious.some((f) => f.code === code && (f.confidence === wanted || !told)),
      error: !SETTINGS.has(code) && counts && told && best ? (estimate === null ? Infinity : Math.abs(estimate - gain_us) / gain_us) : null,
    };
  });
  // in a job that only nearly ails, and in a healthy one, nothing may be said
  const quiet = job.kind === "healthy" || (job.kind === "near" && found.every((f) => f.share < NEAR));
  const alarms = serious.filter((f) => (quiet ? true : f.confidence === "high" && !is_allowed(f.code, causes)));
  return { found, quiet, alarms: [...new Set(alarms.map((f) => f.code))], high: [...new Set(serious.filter((f) => f.confidence === "high").map((f) => f.code))] };
}

const quantile = (values, q) => (values.length === 0 ? null : [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(q * values.length))]);

// One row a code.
export function summary(results) {
  const codes = [...new Set(results.flatMap((r) => [...r.verdict.found.map((f) => f.code), ...r.verdict.alarms]))].sort();
  return codes.map((code) => {
    const cases = results.filter((r) => r.verdict.found.some((f) => f.code === code && f.counts));
    const found = cases.map((r) => r.verdict.found.find((f) => f.code === code));
    const false_alarms = results.filter((r) => r.verdict.alarms.includes(code));
    const high = found.filter((f) => f.high).length, any = found.filter((f) => f.any).length;
    const errors = found.map((f) => f.error).filter((e) => e !== null);
    return {
      code, cases: cases.length,
      recall_any: cases.length ? any / cases.length : null,
      recall_high: cases.length ? high / cases.length : null,
      precision: high + false_alarms.length ? high / (high + false_alarms.length) : null,
      gain_median: quantile(errors, 0.5), gain_p90: quantile(errors, 0.9),
      gain_within: errors.length ? errors.filter((e) => e <= 0.1).length / errors.length : null,
      missed: cases.filter((r, i) => !found[i].high),
      far: cases.filter((r, i) => found[i].error !== null && found[i].error > 0.1),
      false_alarms,
    };
  });
}
