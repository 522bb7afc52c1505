// A strategy in the launchers' languages: what each says of one plan, worked out by hand, and what it answers.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { errorsOf } from "./schema.mjs";
import { Service, run } from "./service.mjs";

const MODEL = { layers: 32, hidden: 4096, heads: 32, kv_heads: 8, ffn_hidden: 14336, gated_ffn: true, vocab: 128256, seq_len: 8192 };
const CLUSTER = {
  nodes: 8, devices_per_node: 8, device: "h100-80g",
  links: [{ scope: "node", bytes_per_second: 450e9 }, { scope: "cluster", bytes_per_second: 50e9 }],
};
// 64 devices = dp 4 x tp 4 x pp 4; 128 sequences = dp 4 x micro batch 2 x 16 micro-batches
const STRATEGY = { dp: 4, tp: 4, pp: 4, micro_batch: 2, zero: 1, sequence_parallel: true, recompute: "full", attention: "flash",
  stages: [7, 8, 8, 9].map((layers) => ({ layers })) };
const PLAN = { kind: "estimate", model: MODEL, cluster: CLUSTER, batch: { global_sequences: 128 }, strategy: STRATEGY };

let service;
before(async () => { service = await Service.start(); });
after(() => service.stop());

async function exported(plan, format) {
  const made = await service.post("/v1/plans", plan);
  assert.ok([200, 201].includes(made.status), made.body.toString());
  return service.get(`/v1/plans/${made.json.id}/export?format=${format}`);
}
async function text(plan, format, type) {
  const answer = await exported(plan, format);
  assert.equal(answer.status, 200, answer.body.toString());
  assert.match(answer.headers["content-type"], type);
  return answer.body.toString();
}
const says = (body, ...lines) => lines.forEach((line) => assert.ok(body.split("\n").includes(line), `${line} in\n${body}`));

test("Megatron-LM", async () => {
  const body = await text(PLAN, "megatron", /^text\/plain/);
  says(body, "--tensor-model-parallel-size 4", "--pipeline-model-parallel-size 4", "--decoder-first-pipeline-num-layers 7",
    "--decoder-last-pipeline-num-layers 9", "--sequence-parallel", "--use-distributed-optimizer", "--recompute-granularity full",
    "--micro-batch-size 2", "--global-batch-size 128", "--attention-backend flash");
  assert.doesNotMatch(body, /#/);
});

test("DeepSpeed", async () => {
  const config = JSON.parse(await text(PLAN, "deepspeed", /^application\/json/));
  assert.equal(config.train_batch_size, 128);
  assert.equal(config.train_micro_batch_size_per_gpu, 2);
  assert.equal(config.gradient_accumulation_steps, 16);
  // DeepSpeed turns the overlap off in a pipeline
  assert.deepEqual(config.zero_optimization, { stage: 1, overlap_comm: false });
  assert.ok(config.notes.some((note) => note.startsWith("plan overlap_gradients=true: ")), config.notes);
  // AutoTP knows no pipeline: there the module's topology splits tensors
  assert.equal(config.tensor_parallel, undefined);
  assert.ok(config.notes.some((note) => note.includes("num_pp=4, num_mp=4, num_dp=4")), config.notes);
  assert.ok(config.notes.some((note) => note.startsWith("plan tp=4: ")), config.notes);
  assert.deepEqual(config.pipeline, { stages: 4, activation_checkpoint_interval: 1 });
  assert.ok(config.notes.some((note) => note.startsWith("plan sequence_parallel=true: ")), config.notes);
  assert.ok(config.notes.some((note) => note.startsWith("plan stages=7,8,8,9: ")), config.notes);
});

test("MindFormers", async () => {
  const body = await text(PLAN, "mindformers", /^application\/yaml/);
  says(body, "  data_parallel: 4", "  model_parallel: 4", "  pipeline_stage: 4", "  micro_batch_num: 16", "  batch_size: 2",
    "  use_seq_parallel: True", "  enable_parallel_optimizer: True", "    offset: [-1, 0, 0, 1]", "  recompute: True",
    "  select_recompute: False");
  assert.doesNotMatch(body, /#/);
});

test("torchtitan", async () => {
  const body = await text(PLAN, "torchtitan", /^application\/toml/);
  // a replica's 32 sequences make its 16 micro-batches
  says(body, "local_batch_size = 32", "global_batch_size = 128", "pipeline_parallel_microbatch_size = 2", "data_parallel_shard_degree = 4",
    "data_parallel_replicate_degree = 1", "tensor_parallel_degree = 4", "pipeline_parallel_degree = 4", 'pipeline_parallel_schedule = "1F1B"',
    'mode = "full"');
  const parts = JSON.parse(body.slice(body.indexOf("[\n"), body.indexOf("\n]") + 2).replaceAll(/,\s*\]/g, "]"));
  assert.deepEqual(parts.map((part) => part.filter((name) => name.startsWith("layers.")).length), [7, 8, 8, 9]);
  assert.equal(parts[0][0], "tok_embeddings");
  assert.deepEqual(parts[3].slice(-3), ["layers.31", "norm", "output"]);
  assert.match(body, /^# plan zero=1: /m);
});

test("environment variables", async () => {
  const body = await text(PLAN, "env", /^text\/plain/);
  says(body, "DEVICES=64", "DP=4", "TP=4", "PP=4", "CP=1", "MICRO_BATCH_SIZE=2", "GLOBAL_BATCH_SIZE=128", "NUM_MICRO_BATCHES=16",
    "ZERO_STAGE=1", "STAGE_LAYERS=7,8,8,9", "CUDA_DEVICE_MAX_CONNECTIONS=1");
});

// A script cannot work out a cut that is even but for the first and last chunk, which have the embedding and the head alone.
test("environment variables list chunks that differ, and leave out equal ones", async () => {
  const { stages, ...strategy } = STRATEGY;
  const cut = (layers) => text({ ...PLAN, model: { ...MODEL, layers }, strategy: { ...strategy, vpp: 8 } }, "env", /./);
  says(await cut(30), `STAGE_LAYERS=0,${"1,".repeat(30)}0`);
  assert.doesNotMatch(await cut(32), /STAGE_LAYERS/);
});

test("what a launcher refuses, and a format that is none", async () => {
  const { stages, ...strategy } = STRATEGY;
  const zero = { ...PLAN, strategy: { ...strategy, pp: 1, zero: 3 } };
  assert.match(await text(zero, "megatron", /^text\/plain/), /--data-parallel-sharding-strategy optim_grads_params/);
  const odd = { ...PLAN, strategy: { ...strategy, pp: 2, cp: 2 } };
  const refused = await exported(odd, "deepspeed");
  assert.equal(refused.status, 422);
  assert.match(refused.json.detail, /pipeline/);
  const none = await exported(PLAN, "smoke");
  assert.equal(none.status, 400);
  assert.match(none.body.toString(), /megatron, mindspeed, deepspeed, mindformers, torchtitan, env/);
});

// The plan that is exported, and the same plan read from what was exported, cost the same.
test("an estimate of a launcher's own text", async () => {
  const small = { ...CLUSTER, nodes: 2 };
  const searched = { kind: "strategy", model: MODEL, cluster: small, batch: PLAN.batch, constraints: { pp: 4, cp: 1, recompute: ["full"] } };
  for (const plan of [PLAN, { ...PLAN, cluster: small, strategy: (await service.post("/v1/plans", searched)).json.solution }]) {
    const made = (await service.post("/v1/plans", plan)).json;
    for (const format of ["megatron", "mindspeed", "deepspeed", "mindformers", "torchtitan", "env"]) {
      const body = await text(plan, format, /./);
      const { status, json } = await service.post("/v1/plans",
        { ...plan, strategy: { format, text: body, devices: made.solution.devices_used } });
      assert.equal(status, 201, `${format}: ${JSON.stringify(json)}`);
      // dimensions of degree 1 lie anywhere in the order
      assert.deepEqual({ ...json.solution, order: [] }, { ...made.solution, order: [] }, format);
      assert.deepEqual(json.predicted, made.predicted, format);
      assert.deepEqual(json.warnings, made.warnings, format);
    }
  }
});

test("a text that cannot be read is told with its line", async () => {
  const schema = (await service.get("/v1/plan-kinds")).json.items.find((kind) => kind.kind === "estimate").schema;
  for (const [strategy, status, pointer, detail] of [
    [{ format: "megatron", text: "--micro-batch-size 2\n--tensor-model-parallel-size eight" }, 422, "/strategy/text", /line 2: tensor-model-parallel-size/],
    [{ format: "megatron", text: "--tensor-model-parallel-size 3" }, 422, "/strategy/text", /64 devices/],
    [{ format: "megatron", text: "--tensor-model-parallel-size 64" }, 422, "/strategy/text", /heads/],
    [{ format: "megatron", text: "--global-batch-size 64" }, 422, "/strategy/text", /64 sequences/],
    [{ format: "mindformers", text: "parallel_config:\n\tdata_parallel: 2" }, 422, "/strategy/text", /line 2/],
    [{ format: "torchtitan", text: "[parallelism\n" }, 422, "/strategy/text", /line 1/],
    [{ format: "deepspeed", text: "{\"train_batch_size\": 1, \"train_batch_size\": 2}" }, 422, "/strategy/text", /line 1/],
    [{ format: "env", text: "TP=4\nTP=8" }, 422, "/strategy/text", /TP stands twice/],
    [{ format: "smoke", text: "" }, 422, "/strategy/format", /./],
    [{ format: "env" }, 400, "/strategy/text", /./],
    [{ format: "env", text: "", devices: 65 }, 422, "/strategy/devices", /./],
    [{ format: "env", text: "", tp: 2 }, 400, "/strategy/tp", /./],
  ]) {
    const answer = await service.post("/v1/plans", { ...PLAN, strategy });
    assert.equal(answer.status, status, JSON.stringify([strategy, answer.json]));
    assert.equal(answer.json.errors[0].pointer, pointer, JSON.stringify([strategy, answer.json]));
    assert.match(JSON.stringify(answer.json), detail);
  }
  assert.deepEqual(errorsOf(schema, schema, { ...PLAN, strategy: { format: "env", text: "TP=2", devices: 8 } }), []);
  // half of the cluster
  const half = await service.post("/v1/plans", { ...PLAN, strategy: { format: "env", text: "TP=8", devices: 32 } });
  assert.deepEqual([half.json.solution.dp, half.json.solution.tp, half.json.solution.devices_used], [4, 8, 32]);
  assert.ok(half.json.warnings.some((warning) => warning.code === "attention_assumed"));
});

test("a refusal says what would do, and that does", async () => {
  const formats = ["megatron", "mindspeed", "deepspeed", "mindformers", "torchtitan", "env"];
  const plan = async (constraints, model) => (await service.post("/v1/plans", { kind: "strategy", model, cluster: { preset: "dgx-h100", nodes: 64 },
    batch: { global_sequences: 512 }, constraints, limit: 0 })).json;
  const exported = (id, format) => service.get(`/v1/plans/${id}/export?format=${format}`);
  let refused = 0;
  for (const [model, start] of [["llama3-405b", {}], ["llama3-405b", { cp: 2, offload: "none" }], ["deepseek-v3", { tp: 2, offload: "none" }]]) {
    const first = await plan(start, model);
    for (const format of formats) {
      let constraints = start, answer = await exported(first.id, format);
      for (let step = 0; answer.status !== 200; step++) {
        const { status, json: { detail } } = answer;
        assert.equal(status, 422, `${format}: ${detail}`);
        refused++;
        for (const other of /it can be exported as: ([\w, ]+)$/.exec(detail)?.[1].split(", ") ?? [])
          if (step === 0) assert.equal((await exported(first.id, other)).status, 200, `${other} beside ${format}`);
        const found = /"constraints": (\{.*?\}) avoids it/.exec(detail);
        assert.ok(found && step < 5, `${format}: ${detail}`);
        constraints = { ...constraints, ...JSON.parse(found[1]) };
        const next = await plan(constraints, model);
        if (!next.id) break; // it may be that nothing fits then, and why is told with the plan
        answer = await exported(next.id, format);
      }
    }
  }
  assert.ok(refused > 3, `${refused}`);
});

test("without a server", async () => {
  const done = await run(["plan", "-", "--export", "torchtitan"], { input: JSON.stringify(PLAN) });
  assert.equal(done.code, 0, done.stderr);
  assert.match(done.stdout.toString(), /tensor_parallel_degree = 4/);
});
