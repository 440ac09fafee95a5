/**
 * The doctor on a real machine, run by hand after `npm run build:addon && npm run build`:
 *
 *     node test/native/gpu-doctor.mjs [--html FILE]
 *
 * Prints one JSON object: how long `p2plab doctor` takes with the verdict ladder and without, its exit status, its findings
 * that are not passed, and the whole of `--json --redact`. Exits 1 when something that must hold does not (`failures`).
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../dist/kernel/cli/main.js", import.meta.url));
/** The bar for two H200, ladder included. */
const BAR_S = 10;

const failures = [];
function must(holds, what) {
  if (!holds) failures.push(what);
}

function doctor(...args) {
  const begin = performance.now();
  const child = spawnSync(process.execPath, [MAIN, "doctor", ...args], {
    encoding: "utf8",
    maxBuffer: 2 ** 27,
  });
  return { seconds: (performance.now() - begin) / 1000, ...child };
}

// The first run may wake the GPUs and the driver.
const runs = Array.from({ length: 3 }, () => doctor("--json", "--redact"));
const bare = doctor("--json", "--redact", "--no-ladder");
const [first] = runs;
const json = first.stdout === "" ? null : JSON.parse(first.stdout);
for (const run of [...runs, bare]) {
  must(run.stderr === "", `nothing on stderr: ${run.stderr}`);
  must([0, 1, 2].includes(run.status), `exit status ${run.status}`);
  must(run.seconds <= BAR_S, `${run.seconds.toFixed(1)} s are more than ${BAR_S} s`);
}
if (json !== null) {
  const count = json.gpus.length;
  must(json.provenance === "measured", "it is measured");
  must(count > 0, "there is a GPU");
  must(json.late.length === 0 && json.driver.broken_off === null, "everything answered");
  must(
    json.gpus.every((gpu) => gpu.uuid?.startsWith("GPU-redacted")),
    "UUIDs are redacted",
  );
  must(
    json.verdicts.unasked > 0 || json.verdicts.verdicts.length === count * (count - 1) * 3,
    "every pair and kind of memory has a verdict",
  );
  must(
    json.pairs.every((pair) => pair.link !== null || pair.reason !== null),
    "every pair has a class, or the reason why not",
  );
}
const [, file] = process.argv[2] === "--html" ? process.argv.slice(2) : [];
if (file !== undefined) must([0, 1, 2].includes(doctor("--html", file).status), `writes ${file}`);
const text = doctor("--all");
process.stderr.write(text.stdout);
console.log(
  JSON.stringify(
    {
      failures,
      seconds: runs.map((run) => run.seconds),
      secondsWithoutLadder: bare.seconds,
      status: first.status,
      findings: json?.findings
        .filter(({ status }) => status !== "pass")
        .map(({ id, status, evidence }) => ({ id, status, seen: evidence.en })),
      json,
    },
    null,
    1,
  ),
);
process.exit(failures.length > 0 ? 1 : 0);
