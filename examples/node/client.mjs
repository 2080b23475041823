// A client of Tableveil in Node.js: `node client.mjs policy.json`. It tries the policy by a dry run, follows the job,
// and prints what the policy would release. docs/reference/grpc.md explains each step.
//
// TABLEVEIL_SERVER is the server's address, TABLEVEIL_TOKEN the token. TABLEVEIL_CA names the file of the certificate
// authority of a server with TLS; without it the client speaks without encryption, as on the same machine.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import grpc from "@grpc/grpc-js";
import { fromJSON } from "@grpc/proto-loader";
import protobuf from "protobufjs";

const PROTOS = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "proto");
const ENDED = ["SUCCEEDED", "FAILED", "CANCELLED", "INTERRUPTED"].map((state) => `JOB_STATE_${state}`);

// The annotations of google/api are for tools: a client works without them.
const root = new protobuf.Root();
root.resolvePath = (_, path) => (path.startsWith("google/api/") ? null : join(PROTOS, path));
root.loadSync(["dry_run", "job", "admin"].map((name) => `tableveil/v1/${name}_service.proto`), { keepCase: true });
root.loadSync("tableveil/v1/faults.proto", { keepCase: true });
protobuf.parse(
  `syntax = "proto3"; package google.rpc;
   message Packed { string type_url = 1; bytes value = 2; }
   message Status { int32 code = 1; string message = 2; repeated Packed details = 3; }`,
  root,
  { keepCase: true },
);
const options = { keepCase: true, enums: String, longs: String, defaults: true };
const { v1 } = grpc.loadPackageDefinition(fromJSON(root.toJSON(), options)).tableveil;

const address = process.env.TABLEVEIL_SERVER ?? "127.0.0.1:50651";
const authority = process.env.TABLEVEIL_CA;
const channel = [
  address,
  authority ? grpc.credentials.createSsl(readFileSync(authority)) : grpc.credentials.createInsecure(),
  // Frontiers and releases can be larger than gRPC's 4 MiB; the server ends connections that ping more often than this.
  { "grpc.max_receive_message_length": -1, "grpc.keepalive_time_ms": 310_000 },
];

const metadata = new grpc.Metadata();
metadata.set("authorization", `Bearer ${process.env.TABLEVEIL_TOKEN}`);

// One call, with a deadline: reading a large table for a check takes minutes, other calls take milliseconds.
function ask(client, method, request) {
  const deadline = new Date(Date.now() + 300_000);
  return new Promise((resolve, reject) => {
    client[method](request, metadata, { deadline }, (error, answer) => (error ? reject(error) : resolve(answer)));
  });
}

// The job once it has ended. A stream has no deadline, because a job may take hours.
async function followed(jobs, name) {
  let job;
  for await (const message of jobs.WatchJob({ name }, metadata)) {
    ({ job } = message);
    console.error(`${job.name} ${job.state} ${job.phase}`);
  }
  if (!ENDED.includes(job?.state)) throw new Error("the stream ended before the job: watch it again");
  return job;
}

// The details of a failed call: code, message and faults; undefined if the failure is not the server's.
function failureOf(error) {
  const [bytes] = error.metadata?.get("grpc-status-details-bin") ?? [];
  if (!bytes) return undefined;
  const status = root.lookupType("google.rpc.Status").decode(bytes);
  const detail = status.details.find(({ type_url }) => type_url.endsWith("/tableveil.v1.Failure"));
  return detail && root.lookupType("tableveil.v1.Failure").decode(detail.value);
}

function report(failure) {
  console.error(`${failure.code}: ${failure.message}`);
  for (const { field, found, expected, hint } of failure.faults) {
    console.error(`  ${field}: found ${found}; expected ${expected}. ${hint}`);
  }
}

async function main(file) {
  const policy = JSON.parse(readFileSync(file, "utf-8"));
  const { version, principal } = await ask(new v1.AdminService(...channel), "GetServerInfo", {});
  console.error(`Tableveil ${version} knows you as ${principal}`);
  const dryRuns = new v1.DryRunService(...channel);
  // A request id makes it safe to run this again: the same policy is the same job.
  const submitted = await ask(dryRuns, "SubmitDryRun", { policy, request_id: process.env.REQUEST_ID ?? "" });
  const job = await followed(new v1.JobService(...channel), submitted.name);
  if (job.state !== "JOB_STATE_SUCCEEDED") {
    report(job.failure);
    return 1;
  }
  const { release, refusals } = await ask(dryRuns, "GetDryRun", { name: job.result });
  for (const { column, level, top_level, loss } of release.attributes) {
    console.log(`${column}: level ${level} of ${top_level}, loss ${loss.toFixed(3)}`);
  }
  console.log(`${release.suppressed_records} of ${release.records} records suppressed`);
  for (const text of [...release.warnings, ...refusals]) console.log(text);
  return 0;
}

try {
  process.exitCode = await main(process.argv[2]);
} catch (error) {
  const failure = failureOf(error);
  if (failure) report(failure);
  else console.error(String(error));
  process.exitCode = 1;
}
