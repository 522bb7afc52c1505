// Words for the codes of the API.
export const COMPONENTS = {
  parallel: 'Parallelism', io: 'Input', cpu: 'Host', compute: 'Compute', communication: 'Communication',
  memory: 'Memory', moe: 'Mixture of experts',
};

const CAUSES = {
  'parallel.poor_overlap': 'Communication is not hidden behind computation',
  'parallel.pipeline_bubble': 'Devices wait in the pipeline’s bubble',
  'io.reading': 'Reading the training data is slow',
  'io.processing': 'Preparing the training data is slow',
  'io.fetching': 'Moving the batch to the device is slow',
  'io.loading': 'The step waits for its data',
  'cpu.host_bound': 'The device is idle and waits for the host',
  'cpu.compilation': 'Operators are compiled during the step',
  'cpu.dispatch': 'The host dispatches too slowly',
  'cpu.synchronization': 'The host blocks on the device',
  'cpu.garbage_collection': 'Garbage collection stops the host',
  'cpu.contention': 'Processes compete for the host’s cores',
  'cpu.environment': 'The environment’s settings slow the host',
  'compute.frequency': 'The device runs below its clock',
  'compute.memory_bound': 'Kernels are bound by memory',
  'compute.underutilized': 'Kernels leave the device’s units idle',
  'compute.aicpu': 'Operators run on the AI CPU',
  'compute.affinity': 'A faster fused operator exists',
  'compute.format_conversion': 'Tensors are converted between formats',
  'communication.slow_rank': 'One rank makes the others wait',
  'communication.slow_link': 'A link is slow',
  'communication.contention': 'Communication and computation compete for bandwidth',
  'communication.retransmission': 'Packets are sent again',
  'communication.small_packets': 'Packets are too small for the link',
  'communication.alignment': 'Transfers are not aligned to 512 bytes',
  'communication.configuration': 'The network’s settings are off',
  'memory.allocation': 'Allocating memory takes time',
  'moe.imbalance': 'Experts are loaded unevenly',
  'moe.all_to_all': 'The all-to-all of the experts dominates',
  unexplained: 'Time is lost and no check explains it',
};
export const knownCause = (code) => code in CAUSES;
export const causeOf = (code) => CAUSES[code] ?? String(code ?? '').replace(/[._]+/g, ' ');

export const ORIGINS = {
  paper: 'the Hermes paper', 'msprof-analyze': 'msprof-analyze', msprof: 'CANN msprof', mindinsight: 'MindInsight',
  default: 'our default',
};

export const FORMATS = {
  kineto: 'PyTorch (Kineto)', 'ascend-pytorch-text': 'Ascend PyTorch', 'ascend-pytorch-db': 'Ascend PyTorch (database)',
  'mindspore-text': 'MindSpore', 'mindspore-db': 'MindSpore (database)', 'msprof-text': 'msprof',
  'msprof-db': 'msprof (database)', mindinsight: 'MindInsight', 'ascend-cluster-analysis': 'msprof-analyze, whole cluster',
  'nsys-sqlite': 'Nsight Systems', 'signalbox-v1': 'Signalbox profile', mixed: 'mixed formats',
};

export const STATES = { queued: 'Queued', reading: 'Analysing', ready: 'Ready', failed: 'Failed' };

// The code of a verdict, or null for a healthy one.
export function verdictCode(verdict) {
  return [verdict?.component, verdict?.cause].filter(Boolean).join('.') || null;
}

// The parts of a breakdown, in the order of the bar. Together they make the span (and the bubble, where there is one).
export const PARTS = [
  { id: 'compute', member: 'compute_us', label: 'Compute', title: 'kernels that are no collectives' },
  { id: 'exposed', member: 'communication_exposed_us', label: 'Exposed communication', title: 'communication with no computation under it' },
  { id: 'copy', member: 'copy_exposed_us', label: 'Exposed copies', title: 'copies with neither computation nor communication under them' },
  { id: 'free', member: 'free_us', label: 'Free', title: 'the device did nothing' },
  { id: 'bubble', member: 'bubble_us', label: 'Bubble', title: 'waiting to receive from another pipeline stage' },
];

// What a critical path is made of; the colours are those of the breakdown.
export const PATH_PARTS = [
  { id: 'compute', member: 'compute_us', label: 'Compute', title: 'kernels that are no collectives' },
  { id: 'exposed', member: 'communication_us', label: 'Communication', title: 'collectives, and sending to another rank' },
  { id: 'copy', member: 'copy_us', label: 'Copies', title: 'copies between host and device, and fills' },
  { id: 'bubble', member: 'host_us', label: 'Host', title: 'the device waited for a launch that came late' },
  { id: 'free', member: 'gap_us', label: 'Gap', title: 'nothing on the path, and no late launch to blame' },
];

// "compute.frequency" → "Compute: frequency", for a check that gave no answer.
export function checkName(code) {
  const [component, cause] = String(code).split('.');
  return cause ? `${COMPONENTS[component] ?? component}: ${cause.replace(/_/g, ' ')}` : component.replace(/_/g, ' ');
}
