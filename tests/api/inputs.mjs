// Inputs made here: traces, archives and broken files.
import zlib from "node:zlib";

// A small seeded generator (xorshift32), so that a failing run can be repeated. SEED=n repeats one.
export function random(seed) {
  let x = seed >>> 0 || 1;
  return () => {
    x ^= x << 13; x >>>= 0;
    x ^= x >>> 17;
    x ^= x << 5; x >>>= 0;
    return x / 4294967296;
  };
}
export const seedOf = () => Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31) + 1);

// A Kineto trace: `kernels` kernels of 10 us, one every 20 us on device 0, each launched from the host.
export function kineto(kernels = 10, name = "gemm") {
  const events = [];
  for (let i = 0; i < kernels; i++) {
    const ts = 1000 + 20 * i;
    events.push({ ph: "X", cat: "cuda_runtime", name: "cudaLaunchKernel", pid: 100, tid: 1, ts: ts - 5, dur: 2,
      args: { correlation: i + 1 } });
    events.push({ ph: "X", cat: "kernel", name: `${name}_${i % 3}`, pid: 0, tid: 7, ts, dur: 10,
      args: { device: 0, stream: 7, correlation: i + 1 } });
  }
  return Buffer.from(JSON.stringify({ schemaVersion: 1, deviceProperties: [{ id: 0, name: "Test GPU" }],
    distributedInfo: { rank: 0, world_size: 1, backend: "nccl" }, traceEvents: events }));
}

export function tar(files) {
  const parts = [];
  for (const [name, data] of files) {
    const head = Buffer.alloc(512);
    head.write(name, 0, 100);
    head.write("0000644\0", 100);
    head.write("0000000\0", 108);
    head.write("0000000\0", 116);
    head.write(`${data.length.toString(8).padStart(11, "0")}\0`, 124);
    head.write("00000000000\0", 136);
    head.write("        ", 148);
    head.write("0", 156);
    head.write("ustar\x0000", 257);
    head.write(`${head.reduce((a, b) => a + b, 0).toString(8).padStart(6, "0")}\0 `, 148);
    parts.push(head, data, Buffer.alloc((512 - (data.length % 512)) % 512));
  }
  parts.push(Buffer.alloc(1024));
  return Buffer.concat(parts);
}

const CRC = Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n >>> 0;
});

export function crc32(data) {
  let c = 0xffffffff;
  for (const b of data) c = CRC[(c ^ b) & 255] ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

export function zip(files) {
  const parts = [], central = [];
  let offset = 0;
  for (const [name, data] of files) {
    const packed = zlib.deflateRawSync(data), label = Buffer.from(name), head = Buffer.alloc(30);
    head.writeUInt32LE(0x04034b50, 0);
    head.writeUInt16LE(20, 4);
    head.writeUInt16LE(8, 8);
    head.writeUInt32LE(crc32(data), 14);
    head.writeUInt32LE(packed.length, 18);
    head.writeUInt32LE(data.length, 22);
    head.writeUInt16LE(label.length, 26);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(20, 4);
    head.copy(entry, 6, 4, 30);
    entry.writeUInt32LE(offset, 42);
    parts.push(head, label, packed);
    central.push(entry, label);
    offset += 30 + label.length + packed.length;
  }
  const list = Buffer.concat(central), end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(list.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, list, end]);
}

// A multipart/form-data body. parts: [{name, filename?, data}].
export function form(parts, boundary = "----test-boundary-7MA4YWxk") {
  const out = [];
  for (const { name, filename, data } of parts) {
    const file = filename === undefined ? "" : `; filename="${filename}"`;
    out.push(Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n` +
      `${filename === undefined ? "" : "Content-Type: application/octet-stream\r\n"}\r\n`), Buffer.from(data), Buffer.from("\r\n"));
  }
  out.push(Buffer.from(`--${boundary}--\r\n`));
  return { body: Buffer.concat(out), type: `multipart/form-data; boundary=${boundary}` };
}

// Of 100 us, compute takes 0 to 20 and a collective 10 to 90: enough overlap to be no poor one, 70 us exposed, and
// only 10 us of compute to hide them under.
export function exposed() {
  const device = (i, name, ts, dur, stream) => ({ ph: "X", cat: "kernel", name, pid: 0, tid: stream, ts: 100 * i + ts, dur,
    args: { device: 0, stream, correlation: i } });
  const events = Array.from({ length: 20 }, (_, i) => [device(i, "gemm", 0, 20, 7), device(i, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 10, 80, 8)]).flat();
  return Buffer.from(JSON.stringify({ schemaVersion: 1, traceEvents: events }));
}
