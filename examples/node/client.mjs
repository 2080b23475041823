// Submits a policy, waits for its job, and prints the released rows: `node client.mjs policy.json NAME`. After a broken
// connection run it again with the same NAME, and it follows the same job. TABLEVEIL_SERVER, TABLEVEIL_TOKEN and, for
// TLS, TABLEVEIL_CA say whom to ask. `tableveil document convert` makes the JSON; docs/reference/grpc.md explains.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import grpc from "@grpc/grpc-js";
import { fromJSON } from "@grpc/proto-loader";
import { RecordBatchReader } from "apache-arrow";
import protobuf from "protobufjs";

const RETRIES = `{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 5, "initialBackoff": "0.5s",
  "maxBackoff": "10s", "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"]}}]}`;
const STATUS = `syntax = "proto3"; package google.rpc; message Any { string type_url = 1; bytes value = 2; }
  message Status { int32 code = 1; string message = 2; repeated Any details = 3; }`;

const { root } = protobuf.parse(STATUS, { keepCase: true });
const inTree = (path) => fileURLToPath(new URL(`../../proto/${path}`, import.meta.url));
// The annotations of google/api are for tools: a client works without them.
root.resolvePath = (_, path) => (path.startsWith("google/api/") ? null : inTree(path));
root.loadSync(["tableveil/v1/job_service.proto", "tableveil/v1/release_service.proto"], { keepCase: true });
const { v1 } = grpc.loadPackageDefinition(fromJSON(root.toJSON(), { keepCase: true, enums: String })).tableveil;

const { TABLEVEIL_SERVER: server = "127.0.0.1:50651", TABLEVEIL_TOKEN: token, TABLEVEIL_CA: authority } = process.env;
const credentials = authority ? grpc.credentials.createSsl(readFileSync(authority)) : grpc.credentials.createInsecure();
const channel = [server, credentials, { "grpc.service_config": RETRIES }];
const [jobs, releases] = [new v1.JobService(...channel), new v1.ReleaseService(...channel)];
const metadata = new grpc.Metadata();
metadata.set("authorization", `Bearer ${token}`);

const [file, name] = process.argv.slice(2);
const policy = JSON.parse(readFileSync(file, "utf-8"));

function submit() {
  const deadline = Date.now() + 300_000; // The server may read the whole table before it answers.
  const request = { policy, request_id: name };
  return new Promise((resolve, reject) => {
    jobs.SubmitJob(request, metadata, { deadline }, (error, job) => (error ? reject(error) : resolve(job)));
  });
}

async function* rowsOf(release) {
  const call = releases.ReadObject({ release, object: policy.release.name }, metadata);
  const pieces = (async function* () {
    for await (const { arrow_ipc: piece } of call) yield piece;
  })();
  for await (const batch of await RecordBatchReader.from(pieces)) yield* batch;
}

// What a call or a job failed with; undefined if it is not the server that says so.
function failureOf({ failure, metadata }) {
  const [bytes] = metadata?.get("grpc-status-details-bin") ?? [];
  const details = bytes ? root.lookupType("google.rpc.Status").decode(bytes).details : [];
  const packed = details.find(({ type_url: type }) => type.endsWith("/tableveil.v1.Failure"));
  return packed ? root.lookupType("tableveil.v1.Failure").decode(packed.value) : failure;
}

try {
  let job = await submit();
  for await (const answer of jobs.WatchJob({ name: job.name }, metadata)) ({ job } = answer);
  if (job.state !== "JOB_STATE_SUCCEEDED") throw Object.assign(new Error(`${name} is ${job.state}`), job);
  for await (const row of rowsOf(job.result)) console.log(String(row));
} catch (error) {
  const { code, message, faults } = failureOf(error) ?? { code: "CLIENT", message: String(error), faults: [] };
  console.error(`${code}: ${message}`);
  for (const { field, found, expected, hint } of faults) {
    const column = policy.attributes?.[/^attributes\[(\d+)\]/.exec(field)?.[1]]?.column;
    console.error(`  ${field}${column ? ` (column ${column})` : ""}: found ${found}; expected ${expected}. ${hint}`);
  }
  process.exitCode = 1;
}
