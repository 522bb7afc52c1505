// What was dropped or picked, as a flat list of {file, path}: folders are walked, relative paths kept.
const MOST = 100000; // files an upload, as the service allows by default

function children(reader) {
  return new Promise((resolve, reject) => reader.readEntries(resolve, reject));
}
const fileOf = (entry) => new Promise((resolve, reject) => entry.file(resolve, reject));

async function walk(entry, out) {
  if (out.length >= MOST) return;
  if (entry.isFile) {
    out.push({ file: await fileOf(entry), path: entry.fullPath.replace(/^\/+/, '') });
    return;
  }
  const reader = entry.createReader();
  // readEntries() gives at most 100 at a time, and an empty list at the end
  for (let batch = await children(reader); batch.length > 0; batch = await children(reader))
    for (const child of batch) await walk(child, out);
}

const flat = (files) => [...files].map((file) => ({ file, path: file.webkitRelativePath || file.name }));

// Must be called inside the drop event: the items are gone after it.
export async function filesOfDrop(transfer) {
  const entries = [...(transfer.items ?? [])].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const plain = flat(transfer.files ?? []);
  if (!entries.some((entry) => entry.isDirectory)) return plain;
  const out = [];
  for (const entry of entries) await walk(entry, out);
  return out;
}

export const filesOfInput = (input) => flat(input.files);

// A folder's name, a single file's name, or the first file's and how many more.
export function nameOf(files) {
  const roots = new Set(files.map(({ path }) => path.split('/')[0]));
  if (roots.size === 1) return [...roots][0];
  return `${files[0].path} and ${files.length - 1} more`;
}
