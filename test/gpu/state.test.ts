/** What NVML tells of real GPUs must fit what the driver does, and what nvidia-smi prints. */
import { spawnSync } from "node:child_process";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { cuda, lab } from "../../kernel/lab/index.js";
import { type Machine, QUICK, type Run, realGpus } from "./real.js";

export const TIME_LIMIT_S = 240;

const state = suite("state of real GPUs");
const { noGpu, noPair } = realGpus();
const { nvml } = cuda.availability();
const noState = noGpu ?? (nvml.available ? null : `no NVML: ${nvml.reason}`);

/** Opened right away: which of these tests there are depends on its links. */
const machine: Machine | null = noState ? null : await lab.open("cuda");
state.after(async () => {
  await machine?.close();
});

let told = false;
/** Registers tests, or says once why there are none. */
function when(missing: string | null, register: () => void): void {
  if (missing === null) return register();
  console.log(`skipped: ${missing}`);
  if (!told) state.skip(`skipped (optional): ${missing}`, () => {});
  told = true;
}

const BYTES = 2 ** 26;

function copy(from: number, to: number): Promise<Run> {
  const program = lab
    .program()
    .buffer("src", { gpu: from, bytes: BYTES })
    .buffer("dst", { gpu: to, bytes: BYTES })
    .stream("s", { gpu: from })
    .copy("s", "src", "dst")
    .sync("s");
  return (machine as Machine).run(program, { sampling: QUICK });
}

/** Prints of nvidia-smi without colours; null where there is no nvidia-smi. */
function nvidiaSmi(...args: string[]): string | null {
  const run = spawnSync("nvidia-smi", args, { encoding: "utf8" });
  const colour = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, "g");
  return run.status === 0 ? run.stdout.replace(colour, "") : null;
}

when(noState, () => {
  state(
    "a run has the state of its GPU before and after: a clock, a temperature, no error by the way",
    async () => {
      const run = await copy(0, 0);
      assert.is(run.stateReason, null);
      for (const reading of [run.state?.before[0], run.state?.after[0]]) {
        assert.is(reading?.gpu, 0);
        assert.ok((reading?.smClockMhz ?? 1) > 0, JSON.stringify(reading));
        assert.ok((reading?.temperatureC ?? 20) > 0 && (reading?.temperatureC ?? 20) < 120);
      }
      assert.equal(
        run.warnings.filter((warning) => /^(nvlink|ecc):/.test(warning)),
        [],
      );
    },
  );

  state("the PCIe generation and width are none that the GPU cannot do", async () => {
    const after = (await copy(0, 0)).state?.after[0];
    assert.ok([null, 1, 2, 4, 8, 16, 32].includes(after?.pcieWidth ?? null), String(after?.pcieWidth));
    assert.ok((after?.pcieGeneration ?? 1) >= 1 && (after?.pcieGeneration ?? 1) <= 7);
  });
});

const smi = noState ? null : nvidiaSmi("topo", "-m");
const uuids = noState ? null : nvidiaSmi("--query-gpu=uuid", "--format=csv,noheader");
const noTable = noPair ?? (smi && uuids ? null : "nvidia-smi cannot be run");
when(noState ?? noTable, () => {
  state("the class of each link is the one that nvidia-smi topo -m prints", () => {
    const order = (uuids as string).trim().split("\n");
    const rows = (smi as string).split("\n").map((line) => line.split("\t").map((cell) => cell.trim()));
    const place = cuda.devices().map((device) => order.indexOf(device.uuid));
    for (const { from, to, link } of (machine as Machine).info.pairs) {
      const row = rows.find(([name]) => name === `GPU${place[from]}`);
      assert.is(link, row?.[1 + (place[to] as number)], `GPU ${from} to GPU ${to}`);
    }
  });
});

const link = machine?.info.pairs.find(({ from, to }) => from === 0 && to === 1)?.link ?? null;
const noLinks = link?.startsWith("NV")
  ? null
  : `GPUs 0 and 1 are joined by ${link ?? "no known link"}, not by NVLink`;
when(noState ?? noPair ?? noLinks, () => {
  state(
    "what a peer copy moves leaves by the links of one GPU and comes in by those of the other",
    async () => {
      const run = await copy(0, 1);
      const grown = (gpu: 0 | 1, counter: "txBytes" | "rxBytes") => {
        const [before, after] = [run.state?.before[gpu]?.nvlink, run.state?.after[gpu]?.nvlink];
        const [first, last] = [before?.[counter] ?? null, after?.[counter] ?? null];
        return first === null || last === null ? null : last - first;
      };
      const copied = run.samples.convergence.n * BYTES;
      for (const counted of [grown(0, "txBytes"), grown(1, "rxBytes")]) {
        // Some GPUs do not count; those that do count no less than was copied.
        assert.ok(counted === null || counted >= 0.99 * copied, `${counted} of ${copied} bytes`);
      }
    },
  );
});

state.run();
