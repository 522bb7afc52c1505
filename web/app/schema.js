// Fields of a form from the JSON Schema that the service gives for a kind of plan.
import { memberName, words } from './format.js';

// "#/$defs/x" inside the same document; anything else stays as it is.
function resolved(schema, node, depth = 0) {
  if (!node?.$ref?.startsWith('#/') || depth > 8) return node ?? {};
  const target = node.$ref.slice(2).split('/').reduce((at, key) => at?.[key], schema);
  return resolved(schema, target, depth + 1);
}

const property = (schema, name) => resolved(schema, resolved(schema, schema)?.properties?.[name]);
const typeOf = (node) => (Array.isArray(node.type) ? node.type.find((t) => t !== 'null') : node.type);

export function enumOf(schema, name) {
  const values = property(schema, name)?.enum;
  return Array.isArray(values) ? values.filter((v) => typeof v === 'string') : [];
}

// What is typed has no unit of its own, so the label names it.
const labelOf = (name) => {
  const unit = /_(bytes_per_second|bytes|seconds|us)$/.exec(name);
  return memberName(name) + (unit ? ` (${words(unit[1])})` : '');
};

const scalar = (text) => (/^(true|false|-?\d+(\.\d+)?)$/.test(text) ? JSON.parse(text) : text);

// A member of any type: one value, or several with commas between.
const readAny = (text) => {
  const values = text.split(',').map((part) => part.trim()).filter(Boolean).map(scalar);
  return values.length === 1 ? values[0] : values;
};

function fieldOf(name, node) {
  // one value or a list of them: the form offers the one value
  const variants = node.oneOf ?? node.anyOf;
  if (Array.isArray(variants)) {
    const field = variants.map((v) => fieldOf(name, v)).find(Boolean);
    return field ? { ...field, title: node.description ?? field.title } : null;
  }
  const field = { name, label: labelOf(name), title: node.description };
  const type = typeOf(node);
  if (Array.isArray(node.enum)) {
    const values = node.enum.filter((v) => v !== null && v !== false);
    return { ...field, options: values, read: (text) => values.find((v) => String(v) === text) };
  }
  if (type === 'boolean') return { ...field, options: [true, false], read: (text) => text === 'true' };
  if (type === 'integer' || type === 'number')
    return { ...field, whole: type === 'integer', minimum: node.minimum, read: Number };
  if (!type) return { ...field, text: true, read: readAny };
  return null; // lists and objects go through the JSON field
}

export function constraintFields(schema) {
  const properties = property(schema, 'constraints')?.properties ?? {};
  return Object.entries(properties).map(([name, node]) => fieldOf(name, resolved(schema, node))).filter(Boolean);
}
