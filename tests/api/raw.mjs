// Bytes over a plain socket, for what no HTTP client would send.
import net from "node:net";
import { PATIENCE_MS } from "./service.mjs";

// Sends text (or pieces with pauses in ms between them) and gathers what comes back until the other side
// closes, or until enough(received) says so. Never rejects: { text, closed, error }.
export function exchange(service, pieces, { enough, timeout = PATIENCE_MS } = {}) {
  return new Promise((done) => {
    const socket = net.connect(service.port, service.host);
    let text = "", error = null, over = false;
    const finish = (closed) => {
      if (over) return;
      over = true;
      clearTimeout(timer);
      socket.destroy();
      done({ text, closed, error });
    };
    const timer = setTimeout(() => finish(false), timeout);
    socket.setNoDelay(true);
    socket.on("data", (d) => {
      text += d.toString("latin1");
      if (enough?.(text)) finish(false);
    });
    socket.on("error", (e) => (error = e));
    socket.on("close", () => finish(true));
    (async () => {
      for (const piece of [pieces].flat()) {
        if (over) return;
        if (typeof piece === "number") await new Promise((r) => setTimeout(r, piece));
        else if (!socket.write(piece, "latin1"))
          await new Promise((r) => { socket.once("drain", r); socket.once("close", r); });
      }
    })();
  });
}

// The statuses of all answers in a stream, in order.
export function statuses(text) {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((m) => Number(m[1]));
}

// The header block and body of the first final answer.
export function first(text) {
  const at = text.replace(/^HTTP\/1\.1 100 [^]*?\r\n\r\n/, "");
  const end = at.indexOf("\r\n\r\n");
  const headers = {};
  for (const line of at.slice(0, end).split("\r\n").slice(1)) {
    const colon = line.indexOf(":");
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  return { status: Number(at.slice(9, 12)), headers, body: at.slice(end + 4) };
}

// True once a whole answer with its Content-Length is there.
export function whole(text) {
  const a = first(text);
  return a.status > 0 && a.headers["content-length"] !== undefined && a.body.length >= Number(a.headers["content-length"]);
}
