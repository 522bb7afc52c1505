// Numbers, names and requests, without a browser.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DASH, exact, memberName, memberNames, quantity, ranges, scaleOf, scaled, sentence, told } from '../../web/app/format.js';
import { checkName, verdictCode } from '../../web/app/labels.js';
import { constraintFields, enumOf } from '../../web/app/schema.js';
import { nameOf } from '../../web/app/files.js';
import { layersText, recomputeText } from '../../web/app/explanation.js';
import { brief } from '../../web/app/plan_other.js';
import { problemText } from '../../web/app/plans.js';

const text = (...args) => quantity(...args).replace(/[\u00a0\u2009]/g, ' ');

test('a value gets the unit that suits it', () => {
  assert.equal(text(136581.009, 'us'), '136.6 ms');
  assert.equal(text(8.5, 'us'), '8.5 µs');
  assert.equal(text(2_500_000, 'us'), '2.5 s');
  assert.equal(text(427596096, 'bytes'), '427.6 MB');
  assert.equal(text(15.65e9, 'bytes_per_second'), '15.65 GB/s');
  assert.equal(text(0.0295, 'share'), '2.95 %');
  assert.equal(text(0.7465, 'share'), '74.7 %');
  assert.equal(text(0.0314, 'seconds'), '31.4 ms');
  assert.equal(text(57, 'calls'), '57 calls');
  assert.equal(text(1, 'ranks'), '1 rank');
  assert.equal(text(1, 'seconds'), '1 s');
});

test('nothing, zero and very little are three things', () => {
  assert.equal(quantity(null, 'us'), DASH);
  assert.equal(quantity(NaN, 'us'), DASH);
  assert.equal(text(0, 'us'), '0 µs');
  assert.equal(text(0, 'share'), '0 %');
  assert.equal(text(0.00001, 'share'), '< 0.01 %');
  assert.equal(exact(null), 'not in this capture');
  assert.equal(exact(136581.009, 'us'), '136,581.009 µs');
});

test('a column has one unit, set by its largest value', () => {
  const scale = scaleOf('us', 8873.756);
  assert.equal(scale.label, 'ms');
  assert.equal(scaled(8873.756, scale, 8873.756), '8.874');
  assert.equal(scaled(1.423, scale, 8873.756), '0.001');
  assert.equal(scaled(null, scale, 8873.756), DASH);
  // little beside the largest is not 0, and no longer than it
  assert.equal(scaled(0.061, scale, 8873.756), '<\u20090.001');
  assert.equal(scaled(-0.061, scale, 8873.756), '>\u2009-0.001');
  assert.equal(scaled(0.6, scale, 8873.756), '0.001');
  assert.equal(scaled(0, scale, 8873.756), '0.000');
  assert.equal(scaled(-0, scaleOf('share', 0.5), 0.5), '0.00');
  assert.equal(scaled(0.00002, scaleOf('share', 0.5), 0.5), '<\u20090.01');
  // a rest of rounding is no byte
  assert.equal(scaled(-7.6e-6, scaleOf('bytes', 7.6e-6), 7.6e-6), '0');
});

test('numbers in a row are told as ranges', () => {
  assert.equal(ranges([0, 1, 2, 5, 7, 8]), '0–2, 5, 7, 8');
  assert.equal(ranges([]), '');
  assert.match(ranges(Array.from({ length: 100 }, (_, i) => i * 2)), /, …$/);
});

test('members of a document become labels', () => {
  assert.equal(memberName('tp_communication_seconds'), 'TP communication');
  assert.equal(memberName('weights'), 'Weights');
  assert.equal(memberName('link_bytes_per_second'), 'Link');
  assert.equal(memberName('tokens_per_second'), 'Tokens per second');
  assert.equal(memberName('seconds_per_sample'), 'Time per sample');
  assert.equal(memberName('device_seconds_per_token'), 'Device\u2011seconds per token');
  assert.equal(memberName('micro_batches'), 'Micro-batches');
  // a traffic is no memory
  assert.equal(memberName('bytes'), 'Size');
  assert.deepEqual(memberNames(['busiest_host', 'busiest_host_seconds', 'network_bytes']),
    { busiest_host: 'Busiest host', busiest_host_seconds: 'Busiest host, time', network_bytes: 'Network' });
});

test('what the service says begins like a sentence, and a number keeps its unit', () => {
  assert.equal(sentence('longer'), 'Longer');
  assert.equal(sentence('node_links decide the plan'), 'node_links decide the plan');
  assert.equal(told('more compute: 0.846 s, 2 stages'), 'More compute: 0.846\u00a0s, 2 stages');
  assert.equal(told(null), '');
});

test('the layers of a stage are told chunk by chunk', () => {
  assert.equal(layersText({ first_layer: 7, layers: 8 }), '7–14');
  assert.equal(layersText({ first_layer: 3, layers: 1 }), '3');
  assert.equal(layersText({ first_layer: 0, layers: 5, chunks: [{ first_layer: 0, layers: 3 }, { first_layer: 12, layers: 1 }, { first_layer: 22, layers: 1 }] }), '0–2, 12, 22');
  // the first chunk has the embedding alone
  assert.equal(layersText({ first_layer: 0, layers: 1, chunks: [{ first_layer: 0, layers: 0 }, { first_layer: 15, layers: 1 }] }), 'none, 15');
  assert.equal(recomputeText({ layers: 8, recompute: 'none', recompute_layers: 0 }), 'none');
  assert.equal(recomputeText({ layers: 8, recompute: 'full', recompute_layers: 8 }), 'full');
  assert.equal(recomputeText({ layers: 8, recompute: 'full', recompute_layers: 6 }), 'full, 6 of 8 layers');
  assert.equal(recomputeText({ layers: 8, checkpointed_layers: 2 }), 'full, 2 of 8 layers');
});

test('values of a plan in a few words', () => {
  // a tensor's slice: a pair of numbers a dimension
  assert.equal(brief([[0, 1024], [0, 43]]), '[0, 1024], [0, 43]');
  assert.equal(brief([3, null, [1, [2]]]), '3, –, [1, [2]]');
  assert.equal(brief([0.5, 0.5, 0.5, 0.5], 'busy_seconds').replace(/\u00a0/g, ' '), '4 × 500 ms');
  assert.equal(brief([4, 5, 5, 4]), '4, 5, 5, 4');
  assert.equal(brief({ choice: 'swap', parts: 8, rows: [{ a: 1 }] }), 'choice swap, parts 8');
  assert.equal(brief({ stages: [{ epochs: 90, batch: 8192 }] }), 'stages: epochs 90, batch 8,192');
  assert.equal(brief({ none: 2e9, full: 1e9 }, 'activation_bytes').replace(/\u00a0/g, ' '), 'none 2 GB, full 1 GB');
});

test('a heading of a plan begins with what is there', () => {
  assert.equal(problemText({ micro_batches: 2048 }), '2,048 micro-batches');
  assert.equal(problemText({ cluster: { nodes: 1 } }), 'own cluster');
  assert.equal(problemText({ model: 'm', cluster: 'c', batch: { global_sequences: 8 } }), 'm on c · 8 sequences a step');
});

test('a verdict is healthy only without component and cause', () => {
  assert.equal(verdictCode({ component: null, cause: null }), null);
  assert.equal(verdictCode({ component: 'parallel', cause: 'poor_overlap' }), 'parallel.poor_overlap');
  assert.equal(verdictCode({ component: null, cause: 'unexplained' }), 'unexplained');
  assert.equal(verdictCode({ component: 'unexplained', cause: null }), 'unexplained');
  assert.equal(checkName('compute.frequency'), 'Compute: frequency');
});

test('fields come from the schema, through references and choices', () => {
  const schema = { $defs: { degree: { type: 'integer', minimum: 1 } }, properties: {
    objective: { enum: ['time', 'memory'] },
    constraints: { properties: { tp: { $ref: '#/$defs/degree' }, zero: { oneOf: [{ type: 'integer' }, { type: 'array' }] },
      sequence_parallel: { type: 'boolean' }, recompute: { enum: ['none', 'full'] }, order: { type: 'array' }, pp: { description: 'one value, or a list' } } } } };
  const fields = Object.fromEntries(constraintFields(schema).map((f) => [f.name, f]));
  assert.deepEqual(Object.keys(fields), ['tp', 'zero', 'sequence_parallel', 'recompute', 'pp']);
  assert.equal(fields.pp.read('8'), 8);
  assert.deepEqual(fields.pp.read('4, 8'), [4, 8]);
  assert.equal(fields.pp.read('full'), 'full');
  assert.equal(fields.pp.title, 'one value, or a list');
  assert.equal(fields.tp.label, 'TP');
  assert.equal(fields.tp.read('8'), 8);
  assert.equal(fields.sequence_parallel.read('false'), false);
  assert.equal(fields.recompute.read('full'), 'full');
  assert.deepEqual(enumOf(schema, 'objective'), ['time', 'memory']);
  assert.deepEqual(constraintFields({}), []);
});

test('an upload is named after its folder, its file, or its first file', () => {
  const files = (...paths) => paths.map((path) => ({ path }));
  assert.equal(nameOf(files('run/a.json', 'run/b/c.csv')), 'run');
  assert.equal(nameOf(files('trace.json.gz')), 'trace.json.gz');
  assert.equal(nameOf(files('a.json', 'b.json', 'c.json')), 'a.json and 2 more');
});
