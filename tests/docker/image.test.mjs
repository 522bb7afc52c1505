// No container engine runs here: what the files say is held against the tree, the program and Debian's packages.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { PROGRAM, start } from "../support/service.mjs";

const dockerfile = readFileSync("docker/Dockerfile", "utf8").replace(/\\\n/g, " ");
const compose = readFileSync("docker/compose.yml", "utf8");
const scrape = readFileSync("docker/prometheus.yml", "utf8");
const [, build, final] = dockerfile.split(/^FROM /m);

function instruction(stage, word) {
  const found = [...stage.matchAll(new RegExp(`^${word} (.*)$`, "gm"))].map((match) => match[1].trim());
  assert.ok(found.length > 0, `${word} is missing`);
  return found;
}
function exec_form(text) {
  const list = JSON.parse(/\[.*\]/.exec(text)[0]);
  assert.ok(Array.isArray(list) && list.every((word) => typeof word === "string"));
  return list;
}
function packages(stage) {
  return [...stage.matchAll(/apt-get install -y --no-install-recommends\s+([^&]+)/g)].flatMap((match) => match[1].trim().split(/\s+/));
}
const command = exec_form(instruction(final, "CMD").at(-1));
const entry = exec_form(instruction(final, "ENTRYPOINT")[0]);
const data = command[command.indexOf("--data") + 1];
const port = command[command.indexOf("--listen") + 1].split(":").at(-1);

function get(url, headers) {
  return new Promise((done, fail) => {
    http.get(url, { headers }, (answer) => {
      let body = "";
      answer.on("data", (bytes) => (body += bytes));
      answer.on("end", () => done({ status: answer.statusCode, type: answer.headers["content-type"], body }));
    }).on("error", fail);
  });
}

test("the packages exist in Debian", (t) => {
  const wanted = [...packages(build), ...packages(final)];
  assert.ok(wanted.length > 10);
  const known = spawnSync("apt-cache", ["show", "--no-all-versions", "libc6"], { encoding: "utf8" });
  if (known.status !== 0) return t.skip("apt has no package lists here");
  const shown = spawnSync("apt-cache", ["show", "--no-all-versions", ...wanted], { encoding: "utf8", maxBuffer: 1 << 26 });
  const found = new Set([...shown.stdout.matchAll(/^Package: (.*)$/gm)].map((match) => match[1]));
  assert.deepEqual(wanted.filter((name) => !found.has(name)), []);
});

test("the build stage has what `make deps-build` wants", () => {
  const script = readFileSync("tests/packages", "utf8");
  const list = /^build=\(([\s\S]*?)\)/m.exec(script)[1].match(/'[^']+'|\S+/g)
    .map((word) => word.replace(/'/g, "")).map((word) => (word.startsWith("lib") ? word.split("|")[0] : word.split("|").at(-1)));
  assert.deepEqual(packages(build).sort(), list.sort());
});

test("the final image has the libraries that the program needs, and no more", (t) => {
  const needed = [...execFileSync("readelf", ["-d", PROGRAM], { encoding: "utf8" }).matchAll(/\(NEEDED\).*\[(.*)\]/g)].map((m) => m[1]);
  if (needed.some((name) => /^lib(asan|tsan|ubsan)/.test(name))) return t.skip("a sanitizer build");
  const cache = execFileSync("/sbin/ldconfig", ["-p"], { encoding: "utf8" });
  const owners = new Set();
  for (const name of needed) {
    const path = new RegExp(`^\\s*${name.replace(/[.+]/g, "\\$&")} .*=> (\\S+)`, "m").exec(cache)?.[1];
    assert.ok(path, `${name} is not installed`);
    const owner = [path, path.replace(/^\/usr/, ""), `/usr${path}`, realpathSync(path)]
      .map((place) => spawnSync("dpkg-query", ["-S", place], { encoding: "utf8" }))
      .find((answer) => answer.status === 0);
    assert.ok(owner, `no package owns ${path}`);
    owners.add(owner.stdout.split(":")[0]);
  }
  for (const base of ["libc6", "libgcc-s1"]) owners.delete(base);
  // libcurl comes with GnuTLS or OpenSSL: the image builds with the former.
  if (owners.delete("libcurl4")) owners.add("libcurl3-gnutls");
  assert.deepEqual(packages(final).sort(), [...owners].sort());
});

test("the final image holds no compiler and no curl, and runs as a number", () => {
  assert.deepEqual(packages(final).filter((name) => /^(gcc|clang|make|curl|wget|nodejs|npm)|-dev$/.test(name)), []);
  assert.match(instruction(final, "USER").at(-1), /^[1-9]\d*:[1-9]\d*$/);
  assert.equal(instruction(final, "STOPSIGNAL")[0], "SIGTERM");
});

test("paths, ports and the version agree", () => {
  const user = instruction(final, "USER").at(-1).split(":");
  assert.deepEqual(exec_form(instruction(final, "VOLUME")[0]), [data]);
  assert.ok(final.includes(`install -d -o ${user[0]} -g ${user[1]} -m 0750 ${data}`));
  assert.equal(instruction(final, "EXPOSE")[0], port);
  const version = /SB_VERSION "(.*)"/.exec(readFileSync("base/version.h", "utf8"))[1];
  assert.ok(final.includes(`org.opencontainers.image.version="${version}"`));
  assert.ok(compose.includes(`image: signalbox:${version}`));
  assert.equal(execFileSync(PROGRAM, ["version"], { encoding: "utf8" }).trim(), `signalbox ${version}`);
  assert.ok(compose.includes(`- state:${data}`));
  assert.ok(compose.includes(`"127.0.0.1:${port}:${port}"`));
  const dockerfile_path = /dockerfile: (.*)/.exec(compose)[1];
  const context = /context: (.*)/.exec(compose)[1];
  assert.ok(existsSync(join("docker", context, dockerfile_path)));
  for (const [, path] of compose.matchAll(/- (\.\/\S+?):\//g)) assert.ok(existsSync(join("docker", path)), path);
  for (const [, target] of scrape.matchAll(/targets: \["(.*?)"\]/g)) {
    assert.equal(target.split(":")[1], port);
    assert.match(compose, new RegExp(`^  ${target.split(":")[0]}:$`, "m"));
  }
});

test("`make install` puts the program where the entry point looks", () => {
  const makefile = readFileSync("Makefile", "utf8");
  assert.match(build, /DESTDIR=\/out PREFIX=\/usr install/);
  assert.match(makefile, /\$\(DESTDIR\)\$\(PREFIX\)\/bin\/signalbox/);
  assert.deepEqual(entry, ["/usr/bin/signalbox"]);
});

test("the program takes the flags, and Prometheus gets its answer", async () => {
  const args = command.map((word) => (word === data ? "DATA" : word.endsWith(`:${port}`) ? "127.0.0.1:0" : word));
  const service = await start({ command: args });
  try {
    const path = /metrics_path: (.*)/.exec(scrape)[1];
    const target = /targets: \["(.*?)"\]/.exec(scrape)[1];
    const answer = await get(service.url + path, { Host: target });
    assert.equal(answer.status, 200);
    assert.match(answer.type, /^text\/plain; *version=0\.0\.4/);
    assert.ok(answer.body.endsWith("\n"));
    const health = exec_form(instruction(final, "HEALTHCHECK")[0].replace(/^.*?CMD/, ""));
    assert.equal(health[0], entry[0]);
    assert.equal(health.at(-1), `http://127.0.0.1:${port}`);
    const probe = spawnSync(PROGRAM, [...health.slice(1, -1), service.url], { encoding: "utf8" });
    assert.equal(probe.status, 0, probe.stderr);
  } finally {
    await service.stop();
  }
});

test("Prometheus accepts its configuration", (t) => {
  const answer = spawnSync("promtool", ["check", "config", "docker/prometheus.yml"], { encoding: "utf8" });
  if (answer.error) return t.skip("promtool is not installed");
  assert.equal(answer.status, 0, answer.stderr);
});
