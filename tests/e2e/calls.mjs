// Makes calls as gRPC for Node.js does: `node calls.mjs ADDRESS METHOD REQUEST WAY [NUMBER] [CONFIG]`.
//
// REQUEST is a message in Base64, the environment's TABLEVEIL_TOKEN the token. The WAYS to make calls:
//   at-once   so many, each with one answer, under a service config if there is one
//   reset     so many, each cancelled as soon as it is sent
//   cancel, deadline, vanish   a stream that is left after its first answer, the last time as by a crash
//   half      a stream of requests that closes after the first one
// It prints how often which status came, as JSON.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const require = createRequire(join(dirname(fileURLToPath(import.meta.url)), "..", "..", "examples", "node", "client.mjs"));
const grpc = require("@grpc/grpc-js");

const SECONDS = 300;
const [address, method, base64, way, number = "1", config] = process.argv.slice(2);
const request = Buffer.from(base64, "base64");
const same = (bytes) => bytes;
const metadata = new grpc.Metadata();
metadata.set("authorization", `Bearer ${process.env.TABLEVEIL_TOKEN}`);
const client = new grpc.Client(address, grpc.credentials.createInsecure(), {
  "grpc.max_receive_message_length": -1,
  ...(config ? { "grpc.service_config": readFileSync(config, "utf-8") } : {}),
});

const counts = {};
const count = (error) => {
  const status = error ? `${grpc.status[error.code]} ${error.details}` : "OK";
  counts[status] = (counts[status] ?? 0) + 1;
};
const within = (seconds) => ({ deadline: new Date(Date.now() + seconds * 1000) });

function answered() {
  return new Promise((done) => {
    client.makeUnaryRequest(method, same, same, request, metadata, within(SECONDS), (error) => done(count(error)));
  });
}

async function reset() {
  const calls = [];
  for (let made = 0; made < Number(number); made++) {
    calls.push(new Promise((done) => {
      const call = client.makeUnaryRequest(method, same, same, request, metadata, within(SECONDS), (error) => done(count(error)));
      setImmediate(() => call.cancel());
    }));
    // Lets the requests of one turn leave before they are cancelled.
    if (made % 100 === 99) await new Promise(setImmediate);
  }
  await Promise.all(calls);
}

function left() {
  return new Promise((done) => {
    const limit = within(way === "deadline" ? Number(number) : SECONDS);
    const stream = client.makeServerStreamRequest(method, same, same, request, metadata, limit);
    stream.on("error", (error) => done(count(error)));
    stream.on("end", () => done(count()));
    stream.once("data", () => {
      if (way === "vanish") process.kill(process.pid, "SIGKILL");
      if (way === "cancel") stream.cancel();
      // It reads no more, and so the server waits.
      stream.pause();
    });
  });
}

function halfClosed() {
  return new Promise((done) => {
    const stream = client.makeClientStreamRequest(method, same, same, metadata, within(SECONDS), (error) => done(count(error)));
    stream.end(request);
  });
}

if (way === "reset") await reset();
else if (way === "at-once") await Promise.all(Array.from({ length: Number(number) }, answered));
else await (way === "half" ? halfClosed() : left());
console.log(JSON.stringify(counts));
client.close();
