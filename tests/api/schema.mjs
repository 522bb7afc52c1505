// A checker for the part of JSON Schema 2020-12 that an OpenAPI 3.1 file needs, and of answers against it.
// A keyword that it does not know is an error: nothing is passed over in silence.

const ANNOTATIONS = new Set(["$ref", "description", "title", "default", "examples", "example", "deprecated",
  "readOnly", "writeOnly", "$comment", "$schema", "$id", "$defs", "format", "discriminator", "externalDocs",
  "contentMediaType", "contentEncoding"]);

function typeOf(v) {
  if (v === null) return "null";
  if (Array.isArray(v)) return "array";
  return typeof v;
}

const isType = (v, t) => (t === "integer" ? Number.isInteger(v) : typeOf(v) === t);
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

function resolve(root, ref) {
  if (!ref.startsWith("#/")) throw new Error(`foreign $ref ${ref}`);
  let at = root;
  for (const part of ref.slice(2).split("/")) at = at?.[part.replace(/~1/g, "/").replace(/~0/g, "~")];
  if (at === undefined) throw new Error(`$ref ${ref} leads nowhere`);
  return at;
}

const CHECKS = {
  type: (s, v, e) => [s.type].flat().some((t) => isType(v, t)) || e(`is ${typeOf(v)}, not ${s.type}`),
  enum: (s, v, e) => s.enum.some((x) => same(x, v)) || e(`${JSON.stringify(v)} is none of ${JSON.stringify(s.enum)}`),
  const: (s, v, e) => same(s.const, v) || e(`is not ${JSON.stringify(s.const)}`),
  minimum: (s, v, e) => typeof v !== "number" || v >= s.minimum || e(`${v} < ${s.minimum}`),
  maximum: (s, v, e) => typeof v !== "number" || v <= s.maximum || e(`${v} > ${s.maximum}`),
  exclusiveMinimum: (s, v, e) => typeof v !== "number" || v > s.exclusiveMinimum || e(`${v} <= ${s.exclusiveMinimum}`),
  exclusiveMaximum: (s, v, e) => typeof v !== "number" || v < s.exclusiveMaximum || e(`${v} >= ${s.exclusiveMaximum}`),
  multipleOf: (s, v, e) => typeof v !== "number" || Number.isInteger(v / s.multipleOf) || e(`no multiple of ${s.multipleOf}`),
  minLength: (s, v, e) => typeof v !== "string" || [...v].length >= s.minLength || e("too short"),
  maxLength: (s, v, e) => typeof v !== "string" || [...v].length <= s.maxLength || e("too long"),
  pattern: (s, v, e) => typeof v !== "string" || new RegExp(s.pattern, "u").test(v) || e(`${v} does not match ${s.pattern}`),
  minItems: (s, v, e) => !Array.isArray(v) || v.length >= s.minItems || e("too few items"),
  maxItems: (s, v, e) => !Array.isArray(v) || v.length <= s.maxItems || e("too many items"),
  uniqueItems: (s, v, e) => !Array.isArray(v) || new Set(v.map((x) => JSON.stringify(x))).size === v.length || e("repeats an item"),
  minProperties: (s, v, e) => typeOf(v) !== "object" || Object.keys(v).length >= s.minProperties || e("too few members"),
  maxProperties: (s, v, e) => typeOf(v) !== "object" || Object.keys(v).length <= s.maxProperties || e("too many members"),
  dependentRequired: (s, v, e) => typeOf(v) !== "object" || Object.entries(s.dependentRequired).every(([k, more]) => !(k in v) ||
    more.every((m) => m in v || e(`lacks "${m}" beside "${k}"`))),
  required: (s, v, e) => typeOf(v) !== "object" || s.required.every((k) => k in v || e(`lacks "${k}"`)),
};

// Those that look inside: ctx(schema, value, path) checks and returns the number of errors it added.
const NESTED = {
  items: (s, v, at, inside) => Array.isArray(v) &&
    v.forEach((x, i) => i < (s.prefixItems?.length ?? 0) || inside(s.items, x, `${at}/${i}`)),
  prefixItems: (s, v, at, inside) => Array.isArray(v) &&
    s.prefixItems.forEach((x, i) => i < v.length && inside(x, v[i], `${at}/${i}`)),
  properties: (s, v, at, inside) => typeOf(v) === "object" &&
    Object.entries(s.properties).forEach(([k, x]) => k in v && inside(x, v[k], `${at}/${k}`)),
  additionalProperties: (s, v, at, inside) => typeOf(v) === "object" && Object.keys(v).forEach((k) =>
    k in (s.properties ?? {}) || Object.keys(s.patternProperties ?? {}).some((p) => new RegExp(p, "u").test(k)) ||
    inside(s.additionalProperties, v[k], `${at}/${k}`)),
  patternProperties: (s, v, at, inside) => typeOf(v) === "object" &&
    Object.entries(s.patternProperties).forEach(([p, x]) =>
      Object.keys(v).forEach((k) => new RegExp(p, "u").test(k) && inside(x, v[k], `${at}/${k}`))),
  propertyNames: (s, v, at, inside) => typeOf(v) === "object" && Object.keys(v).forEach((k) => inside(s.propertyNames, k, `${at}/${k}`)),
  dependentSchemas: (s, v, at, inside) => typeOf(v) === "object" &&
    Object.entries(s.dependentSchemas).forEach(([k, x]) => k in v && inside(x, v, at)),
  allOf: (s, v, at, inside) => s.allOf.forEach((x) => inside(x, v, at)),
};

// Errors of value against schema, as texts; root is the document that $ref looks in.
export function errorsOf(root, schema, value, at = "") {
  const errors = [];
  const add = (text) => { errors.push(`${at || "/"}: ${text}`); return false; };
  const inside = (s, v, where) => errors.push(...errorsOf(root, s, v, where));
  const fits = (s) => errorsOf(root, s, value, at).length === 0;
  if (schema === true) return errors;
  if (schema === false) { add("is not allowed here"); return errors; }
  if (schema.$ref !== undefined) inside(resolve(root, schema.$ref), value, at);
  for (const key of Object.keys(schema)) {
    if (CHECKS[key]) CHECKS[key](schema, value, add);
    else if (NESTED[key]) NESTED[key](schema, value, at, inside);
    else if (key === "anyOf") schema.anyOf.some(fits) || add("fits none of anyOf");
    else if (key === "oneOf") {
      const n = schema.oneOf.filter(fits).length;
      if (n !== 1) add(`fits ${n} of oneOf: ${schema.oneOf.map((s) => errorsOf(root, s, value, at)[0] ?? "fits").join(" | ")}`);
    } else if (key === "not") !fits(schema.not) || add("fits what it must not");
    else if (key === "if") {
      const then = fits(schema.if) ? schema.then : schema.else;
      if (then !== undefined) inside(then, value, at);
    } else if (!ANNOTATIONS.has(key) && key !== "then" && key !== "else" && !key.startsWith("x-"))
      throw new Error(`the checker does not know the keyword "${key}"`);
  }
  return errors;
}

// The operation of an OpenAPI document for a request, or null.
export function operationOf(api, method, target) {
  const parts = target.split("?")[0].split("/");
  const fits = (template) => {
    const want = template.split("/");
    return want.length === parts.length && want.every((w, i) => (/^\{.*\}$/.test(w) ? parts[i] !== "" : w === parts[i]));
  };
  const templates = Object.keys(api.paths).filter(fits)
    .sort((a, b) => (a.match(/\{/g)?.length ?? 0) - (b.match(/\{/g)?.length ?? 0));
  return templates.length ? api.paths[templates[0]][method.toLowerCase()] ?? null : null;
}

const PROBLEM = ["type", "title", "status", "detail", "code"];

async function document(service) {
  service.openapi ??= service.request("GET", "/openapi.json", { check: false }).then((a) => a.json);
  return service.openapi;
}

// Throws when an answer is not what /openapi.json says, or when a problem document is malformed.
export async function checkAnswer(service, method, target, answer) {
  const where = `${method} ${target} -> ${answer.status}`;
  const type = (answer.headers["content-type"] ?? "").split(";")[0];
  if (answer.status >= 400 && method !== "HEAD") {
    if (type !== "application/problem+json") throw new Error(`${where}: ${type}, not a problem document`);
    for (const member of PROBLEM)
      if (!(member in answer.json)) throw new Error(`${where}: the problem document lacks "${member}"`);
    if (answer.json.status !== answer.status) throw new Error(`${where}: the problem says ${answer.json.status}`);
  }
  if (method === "HEAD" || answer.headers["content-encoding"]) return;
  const api = await document(service);
  const operation = operationOf(api, method, target);
  if (!operation) return;
  const wanted = operation.responses[answer.status] ?? operation.responses[`${String(answer.status)[0]}XX`] ??
    operation.responses.default;
  if (!wanted) throw new Error(`${where}: /openapi.json does not know this status`);
  const response = wanted.$ref ? resolve(api, wanted.$ref) : wanted;
  if (!response.content) {
    if (answer.body.length) throw new Error(`${where}: a body where /openapi.json has none`);
    return;
  }
  const content = response.content[type] ?? response.content["*/*"];
  if (!content) throw new Error(`${where}: /openapi.json does not know the type ${type}`);
  if (content.schema && answer.json !== undefined) {
    const errors = errorsOf(api, content.schema, answer.json);
    if (errors.length) throw new Error(`${where}: against /openapi.json:\n  ${errors.slice(0, 8).join("\n  ")}`);
  }
}
