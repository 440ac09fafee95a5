import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { TASKS } from "../../../kernel/lab/help/tasks.js";
import { aq, cuda, lab, type P2pError, plot, richDisplay } from "../../../kernel/lab/index.js";
import type { Table } from "../../../kernel/lab/measure/table.js";

const help = suite("help");

const FACES: Record<string, object> = { lab, plot, cuda };
const MACHINES = ["recorded:h200x2+twin", "sim:pcie-gen4-2"];

help("each name by task exists, and has its signature and a description", () => {
  for (const name of TASKS.flatMap((task) => task.names)) {
    const [face = "", own = ""] = name.split(".");
    assert.is(typeof (FACES[face] as Record<string, unknown>)[own], "function", name);
    const text = String(lab.help(name));
    assert.match(text, new RegExp(`^${name.replace(".", "\\.")}: (async )?(function|class) `), name);
    assert.ok(text.split("\n\n").length >= 2, `${name} is described`);
  }
});

help("a name brings options with their units, and the example that uses it", () => {
  const text = String(lab.help("sweep", { lang: "en" }));
  assert.match(text, /total_us/);
  assert.match(text, /interface TransferOptions \{/);
  assert.match(text, /Example \(lab\.examples\("latency"\)\)/);
  assert.is(String(lab.help("lab.sweep(machine, …)", { lang: "en" })), text);
  assert.match(String(lab.help("import")), /^lab\.import: function importFile\(/);
});

help("the overview fits on a screen in both languages", () => {
  for (const lang of ["zh", "en"] as const) {
    const view = lab.help(undefined, { lang });
    assert.ok(String(view).split("\n").length <= 45);
    for (const task of TASKS) assert.ok(String(view).includes(task.title[lang]));
    assert.match(String(view[richDisplay]()["text/html"]), /<code>lab\.sweep<\/code>/);
  }
});

help("what does not exist ends in a typed error that names what is near", () => {
  const refused = (use: () => unknown, hint: RegExp) => {
    try {
      use();
      assert.unreachable();
    } catch (error) {
      assert.is((error as P2pError).code, "usage");
      assert.match((error as P2pError).hint, hint);
    }
  };
  refused(() => lab.help("breakdowns"), /lab\.breakdown, plot\.breakdown/);
  refused(() => lab.help(3 as never), /lab\.help\(\)/);
  refused(() => lab.help("__proto__"), /./);
  refused(() => lab.help("sweep", { lang: "fr" as never }), /zh.*en/);
  refused(() => lab.help("sweep", null as never), /zh.*en/);
  refused(() => lab.examples("nothing"), /latency, breakdown/);
});

/** A cell's code as the body of a function: its last expression is what it returns. */
async function resultOf(code: string, spec: string): Promise<unknown> {
  const lines = code.trimEnd().split("\n");
  const body = [...lines.slice(0, -1), `return (${lines.at(-1)});`].join("\n");
  const run = new Function("lab", "plot", "aq", "display", `return (async () => {\n${body}\n})();`);
  const here = { ...lab, open: () => lab.open(spec) };
  return await run(here, plot, aq, () => {});
}

help("ten examples, each runs as it stands on a recording with its twin and on a model", async () => {
  const all = lab.examples();
  assert.is(all.length, 10);
  assert.is(new Set(all.map((example) => example.name)).size, 10);
  const before = process.env.P2PLAB_LEDGER;
  process.env.P2PLAB_LEDGER = join(tmpdir(), `p2plab-help-${process.pid}`, "ledger.json");
  try {
    for (const spec of MACHINES) {
      for (const { name, code } of all) {
        const shown = await resultOf(code, spec);
        const figure = shown as { data?: unknown[] };
        const table = shown as Table;
        if (Array.isArray(figure.data))
          assert.ok(figure.data.length > 0, `${name} on ${spec} draws something`);
        else if (typeof table.numRows === "function") {
          const value = ["total_us", "launch_us", "gbps"].find((column) =>
            table.columnNames().includes(column),
          );
          const numbers = Array.from(table.array(value as string) as unknown as unknown[]);
          assert.ok(
            numbers.some((number) => Number(number) > 0),
            `${name} on ${spec} has numbers`,
          );
          assert.ok(table.columnNames().includes("provenance"), `${name} names its provenance`);
        } else assert.match(String(shown), /supported|refuted/, `${name} on ${spec}`);
      }
    }
    assert.ok(existsSync(process.env.P2PLAB_LEDGER));
  } finally {
    if (before === undefined) delete process.env.P2PLAB_LEDGER;
    else process.env.P2PLAB_LEDGER = before;
  }
});

help("an opened machine says what it is, how far to trust it, and what to do next", async () => {
  const text = String((await lab.open("sim:hgx-h100-8"))[richDisplay]()["text/plain"]);
  assert.match(text, /^simulated: /);
  assert.match(text, /not from a measurement/);
  assert.match(text, /P2P: 56\/56/);
  assert.match(text, /lab\.help\(\)/);
});

help.run();
