import { suite } from "uvu";
import * as assert from "uvu/assert";
import { inLab, missing } from "../../native/toolchain.js";

export const TIME_LIMIT_S = 300;

const test = suite("tables of transfers on the stand-in driver");

const url = (file: string) =>
  JSON.stringify(new URL(`../../../kernel/lab/measure/${file}.js`, import.meta.url).href);
const OPEN = `import { sweep } from ${url("sweep")};
  import { matrix } from ${url("matrix")};
  const machine = await CudaMachine.open();`;

const reason = missing("compiler") ?? missing("addon");
if (reason) test.skip(`skipped: ${reason}`, () => {});
else register();

function register(): void {
  test("every axis is verified and timed, and says what was thrown away to warm up", () => {
    const { lines, stderr } = inLab(`${OPEN}
      const axes = [{ engine: ["copy-engine", "kernel-write", "kernel-read"] }, { sync: ["spin", "yield", "block", "poll-event", "poll-flag"] },
        { streams: [1, 3] }, { chunk: ["whole", 100], path: ["peer", "staged", "driver-staged"] }, { submit: ["stream", "graph"], streams: [1, 2] },
        { allocator: ["malloc", "pool", "vmm"] }, { direction: ["one-way", "both-ways"] }, { initiator: ["source", "destination"] },
        { metric: "bandwidth", streams: [1, 2] }];
      for (const axis of axes) {
        const table = await sweep(machine, { from: 0, to: 1, bytes: 1000, sampling: quick, ...axis });
        print({ rows: table.numRows(), verified: [...new Set(table.array("verified"))], warm: table.array("warmup").every((n) => n === null || n > 0),
          positive: table.array("total_us").every((us) => us > 0), ended: table.array("ended").every((word) => typeof word === "string") });
      }`);
    assert.is(stderr, "");
    const good = { verified: ["ok"], warm: true, positive: true, ended: true };
    assert.equal(
      lines,
      [3, 5, 2, 6, 4, 3, 2, 2, 2].map((rows) => ({ rows, ...good })),
    );
  });

  test("each cell of a sweep is visited twice, and its samples are those of both visits", () => {
    const [rows] = inLab(`${OPEN}
      const options = { from: 0, to: 1, bytes: [64, 128], sampling: { target: 1e-9, budgetMs: 60_000, minSamples: 10, maxSamples: 50, warmup: 0 } };
      print([(await sweep(machine, options)).array("n"), (await sweep(machine, { ...options, rounds: 1 })).array("n")]);`).lines;
    assert.equal(rows, [
      [50, 50],
      [50, 50],
    ]);
  });

  test("where a GPU cannot have all peers at once, a pair of an earlier program makes room, one asked for by itself does not", () => {
    const [free, held] = inLab(
      `${OPEN}
      const cells = (table) => table.objects().filter((row) => row.path === "peer").map(({ arrow, reason }) => arrow + " " + (reason ?? "ok"));
      const options = { metric: "bandwidth", bytes: 4096, sampling: quick };
      print(cells(await matrix(machine, options)));
      cuda.enablePeer(0, 1);
      print(cells(await matrix(machine, options)));`,
      { P2PLAB_FAKE_DEVICES: "3", P2PLAB_FAKE_MAX_PEERS: "1" },
    ).lines as string[][];
    assert.is(free?.length, 6);
    assert.ok(
      free?.every((cell) => cell.endsWith(" ok")),
      String(free),
    );
    const failed = held?.filter((cell) => !cell.endsWith(" ok")) ?? [];
    assert.ok(
      failed.length > 0 && failed.every((cell) => /CUDA_ERROR_TOO_MANY_PEERS/.test(cell)),
      String(held),
    );
  });

  test("a matrix of bandwidth measures disjoint pairs at once, with the verdict of each", () => {
    const [cells] = inLab(
      `${OPEN}
      const table = await matrix(machine, { metric: "bandwidth", bytes: 4096, sampling: quick });
      print(table.objects().map(({ arrow, path, verdict, verified, measured, gbps }) => [arrow, path, verdict, verified, /^with 1 other pair$|^alone/.test(measured), gbps > 0]));`,
      { P2PLAB_FAKE_DEVICES: "4" },
    ).lines;
    assert.is(cells.length, 16);
    for (const [arrow, path, verdict, ...rest] of cells) {
      const local = arrow[0] === arrow.at(-1);
      assert.equal(
        [path, verdict, ...rest],
        [local ? "local" : "peer", local ? null : "ok", "ok", true, true],
      );
    }
  });

  test("a pair that loses bytes is host-staged in the matrix, and the other way is P2P", () => {
    const [cells] = inLab(
      `${OPEN}
      const table = await matrix(machine, { sampling: quick });
      print(table.objects().map(({ arrow, path, verdict, verified }) => [arrow, path, verdict, verified]));`,
      { P2PLAB_FAKE_MODE: "corrupt", P2PLAB_FAKE_PAIRS: "0>1" },
    ).lines;
    assert.equal(cells[1].slice(0, 2), ["0 → 1", "host-staged"]);
    assert.is.not(cells[1][2], "ok");
    assert.is(cells[1][3], "ok");
  });
}

test.run();
