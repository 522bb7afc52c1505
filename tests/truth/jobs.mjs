// The jobs of the ground-truth benchmark: which causes, of which sizes, in which dialects, and which jobs ail nothing.
import { execFileSync } from "node:child_process";
import { GENERATE } from "../support/service.mjs";

// How each dialect is asked for. More ranks where one is compared with the rest, more steps where they must agree.
const DIALECTS = {
  kineto: ["kineto", "--units", "600", "--ranks", "4", "--steps", "4"],
  nsys: ["nsys", "--units", "600", "--ranks", "4", "--steps", "4"],
  signalbox: ["signalbox", "--units", "600", "--ranks", "4", "--steps", "4"],
  ascend: ["ascend", "--ranks", "4", "--steps", "4"],
  "ascend --db": ["ascend", "--db", "--ranks", "4", "--steps", "4"],
  mindspore: ["ascend", "--layout", "mindspore", "--ranks", "4", "--steps", "4"],
  msprof: ["msprof", "--ranks", "4", "--steps", "4"],
  cluster: ["cluster", "--ranks", "4", "--steps", "4"],
  mindinsight: ["mindinsight", "--steps", "20"],
};

// Sizes beside the usual one. Large: another one that must be found. Near: just under the threshold of the check, so
// that nothing may be said above info; of several, a short run takes the first. In: what is else in a dialect.
const SIZES = {
  "parallel.poor_overlap": { large: 0.67 },
  "parallel.pipeline_bubble": { large: 14, near: [1, 0.6, 0.1] },
  "io.reading": { large: 60, near: 0.3 },
  "io.processing": { large: 60, near: 0.3 },
  "io.fetching": { large: 25, near: 0.3 },
  "io.loading": { large: 60, near: 0.3 },
  "cpu.host_bound": { large: 400, near: [20, 16, 8] },
  "cpu.compilation": { large: 80, near: [4, 2, 1] },
  "cpu.dispatch": { large: 19, near: [1, 0.5] },
  "cpu.synchronization": { large: 40, near: [1, 2] },
  // msprof and MindSpore do not record the collector: long silence is all that is seen of it
  "cpu.garbage_collection": { large: 30, near: [0.9, 0.5, 0.1], in: { mindspore: { usual: 300, large: 500 }, msprof: { usual: 300, large: 500 } } },
  "cpu.contention": { large: 15, near: 0.3 },
  "cpu.environment": { large: 40, near: [0.1, 4, 12] },
  "compute.frequency": { large: 0.4, near: 0.02 },
  "compute.memory_bound": { large: 6, near: [0.05, 0.02, 0.01] },
  "compute.underutilized": { large: 4, near: 0.02 },
  "compute.aicpu": { large: 30, near: 0.4 },
  "compute.affinity": { large: 0.8, near: 0.02 },
  "compute.format_conversion": { large: 200, near: 5 },
  "communication.slow_rank": { large: 6, near: [0.12, 0.08, 0.05] },
  "communication.slow_link": { large: 3, near: [0.2, 0.15, 0.1] },
  "communication.contention": { large: 3, near: [0.24, 0.2, 0.1] },
  "communication.retransmission": { large: 9000 },
  // on GPUs they are found by what they cost: many that other work hides are none
  "communication.small_packets": { large: 4194304, near: [39000064, 37748736, 41943040], in: Object.fromEntries(["kineto", "signalbox"].map((dialect) => [dialect, { large: 524288, near: [16777216, 8388608, 33554432] }])) },
  "communication.alignment": { large: 6, near: [0.1, 0.05, 0] },
  "communication.configuration": { large: 2, near: 0 },
  "memory.allocation": { large: 14, near: 0.2 },
  "moe.imbalance": { large: 2.9, near: 0.03 },
  "moe.all_to_all": { large: 14, near: [0.15, 0.1, 0.05] },
};

// Two causes at once, which do not hide one another.
const PAIRS = [
  ["kineto", "io.loading", "parallel.poor_overlap"],
  ["kineto", "io.fetching", "communication.slow_rank"],
  ["kineto", "parallel.pipeline_bubble", "io.fetching"],
  ["nsys", "cpu.garbage_collection", "io.fetching"],
  ["nsys", "io.loading", "memory.allocation"],
  ["signalbox", "cpu.garbage_collection", "io.fetching"],
  ["ascend", "io.loading", "compute.aicpu"],
  ["ascend", "communication.slow_rank", "compute.format_conversion"],
  ["ascend", "compute.underutilized", "io.fetching"],
  ["ascend --db", "parallel.pipeline_bubble", "compute.aicpu"],
  ["ascend --db", "cpu.synchronization", "compute.format_conversion"],
  ["mindspore", "io.processing", "communication.small_packets"],
  ["msprof", "compute.aicpu", "compute.format_conversion"],
];

const HEALTHY = [
  ["kineto", "--ranks", "1"], ["kineto", "--ranks", "8", "--noise", "3"], ["kineto", "--units", "1200", "--steps", "6"],
  ["kineto", "--prefetch", "60"], ["kineto", "--prefetch", "200", "--shape", "experts"], ["kineto", "--skew", "40"], ["kineto", "--graphs"], ["kineto", "--shape", "experts"], ["kineto", "--shape", "pipeline"], ["kineto", "--shape", "pipeline", "--ranks", "8", "--noise", "3", "--skew", "40"], ["kineto", "--noise", "3", "--ranks", "2", "--skew", "40"],
  ["nsys"], ["nsys", "--noise", "3", "--skew", "40"], ["nsys", "--shape", "pipeline"], ["signalbox"], ["signalbox", "--shape", "experts", "--noise", "2"], ["signalbox", "--shape", "pipeline"],
  ["nsys", "--shape", "experts", "--noise", "3"], ["signalbox", "--ranks", "8", "--noise", "3", "--skew", "40"],
  ["ascend", "--ranks", "8", "--noise", "3"], ["ascend", "--ranks", "1"], ["ascend", "--skew", "40"], ["ascend", "--level", "2", "--kernels", "320"],
  ["ascend", "--shape", "pipeline", "--ranks", "8", "--noise", "3", "--skew", "40"], ["ascend", "--level", "0"], ["ascend", "--shape", "pipeline"], ["ascend", "--shape", "experts"], ["ascend", "--shape", "experts", "--noise", "3", "--skew", "40"],
  ["ascend --db", "--noise", "2"], ["ascend --db", "--shape", "pipeline"], ["ascend --db", "--shape", "experts", "--layout", "new"],
  ["ascend --db", "--skew", "40", "--ranks", "8"], ["mindspore"], ["mindspore", "--shape", "experts", "--ranks", "8"], ["mindspore", "--noise", "3", "--shape", "pipeline"],
  ["msprof"], ["msprof", "--layout", "old"], ["cluster"], ["cluster", "--ranks", "8"], ["cluster", "--ranks", "8", "--shape", "pipeline"], ["mindinsight"],
];

function table() {
  return execFileSync(GENERATE, ["faults"], { encoding: "utf8" }).trim().split("\n").map((line) => {
    const [code, usual, ...dialects] = line.split("\t");
    return { code, usual: Number(usual), dialects };
  });
}

const job = (kind, dialect, faults, seed, options = []) => ({ kind, dialect, faults, options: [...DIALECTS[dialect], ...options, "--seed", String(seed)] });

// Of the forms that one job can be written in, the one that a short run looks at: on GPUs and on Ascend.
const SHORT = [["kineto", "signalbox"], ["ascend", "mindspore"], ["mindinsight"]];

function in_short(dialect, able) {
  if (dialect === "mindinsight") return !able.includes("mindspore") && !able.includes("ascend");
  return SHORT.some((family) => family.find((name) => able.includes(name)) === dialect);
}

// Every code in every dialect that can show it. short: one size and seed each, one dialect a family.
export function jobs({ short = false, codes, dialects } = {}) {
  const list = [];
  for (const { code, usual: most, dialects: able } of table())
    for (const dialect of able) {
      if (short && !in_short(dialect, able)) continue;
      const { usual, large, near } = { usual: most, ...SIZES[code], ...SIZES[code].in?.[dialect] };
      for (const seed of short ? [1] : [1, 2]) {
        list.push(job("fault", dialect, [[code, usual]], seed));
        if (!short) list.push(job("fault", dialect, [[code, large]], seed + 10));
      }
      const misses = near === undefined ? [] : [near].flat();
      if (short && dialect === "kineto" && able.includes("ascend")) continue;
      misses.slice(0, short ? 1 : undefined).forEach((size, i) => list.push(job("near", dialect, [[code, size]], 3 + 20 * i)));
    }
  for (const [dialect, ...pair] of PAIRS.filter((_, i) => !short || i % 2 === 0))
    for (const seed of short ? [5] : [5, 6])
      list.push(job("pair", dialect, pair.map((code) => [code, table().find((row) => row.code === code).usual]), seed));
  for (const [dialect, ...options] of HEALTHY.filter((_, i) => !short || i % 2 === 0))
    for (const seed of short ? [7] : [7, 8, 9]) list.push(job("healthy", dialect, [], seed, options));
  return list.filter((j) => (!codes || j.faults.some(([code]) => codes.includes(code))) && (!dialects || dialects.includes(j.dialect)));
}
