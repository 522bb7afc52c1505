// Small Kineto traces by hand, so that every number on the page can be worked out on paper.
export const MARKUP = '<img src=x onerror=alert(1)>';

const ALL_REDUCE = 'ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)';

// Per step of 100 ms, from its start in ms: a matrix product 10..40, a collective 39..70, a copy 75..80.
// So span 70, compute 30, communication 31 of which 1 overlaps and 30 are exposed, copy 5 exposed, free 5.
const WORK = [
  { name: MARKUP, cat: 'kernel', stream: 7, start: 10, end: 30 },
  { name: 'ampere_sgemm_128x64_tn', cat: 'kernel', stream: 7, start: 30, end: 40 },
  { name: ALL_REDUCE, cat: 'kernel', stream: 20, start: 39, end: 70 },
  { name: 'Memcpy HtoD (Pinned -> Device)', cat: 'gpu_memcpy', stream: 7, start: 75, end: 80 },
];

export function trace({ rank = 0, world = 2, steps = 2 } = {}) {
  const origin = 1_700_000_000_000_000; // us
  const events = [];
  for (let step = 0; step < steps; step++) {
    const from = origin + step * 100_000;
    events.push({ ph: 'X', cat: 'user_annotation', name: `ProfilerStep#${step + 3}`, pid: 100, tid: 100, ts: from, dur: 100_000 });
    WORK.forEach((w, i) => {
      const correlation = 1 + step * WORK.length + i;
      events.push({ ph: 'X', cat: 'cuda_runtime', name: w.cat === 'kernel' ? 'cudaLaunchKernel' : 'cudaMemcpyAsync', pid: 100, tid: 100,
        ts: from + 1000 + i * 100, dur: 10, args: { correlation } });
      events.push({ ph: 'X', cat: w.cat, name: w.name, pid: rank, tid: w.stream, ts: from + w.start * 1000, dur: (w.end - w.start) * 1000,
        args: { device: rank, stream: w.stream, correlation, ...(w.cat === 'gpu_memcpy' ? { bytes: 4_000_000 } : {}) } });
    });
  }
  return JSON.stringify({ schemaVersion: 1, deviceProperties: [{ id: rank, name: 'NVIDIA A100-SXM4-80GB' }],
    distributedInfo: { backend: 'nccl', rank, world_size: world }, traceEvents: events });
}

// The shares of a bar by part, as the page must draw them.
export const SHARES = { compute: 30 / 70, exposed: 30 / 70, copy: 5 / 70, free: 5 / 70 };
