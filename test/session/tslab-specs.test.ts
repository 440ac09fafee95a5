/**
 * tslab's own specs of its converter and executor, run on this kernel's: P2PLAB_TSLAB names a checkout of tslab. Those that pin
 * a defect that this kernel does not have are listed with the defect; every other one passes.
 */
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { build, type Plugin } from "esbuild";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { packagePath } from "../../kernel/lab/index.js";
import { declarationTexts, javaScript, sameDeclarations } from "./tslab/converter.js";
import { Jest, type SpecResult } from "./tslab/jest.js";
import { PINNED, TIMED } from "./tslab/pinned.js";

export const TIME_LIMIT_S = 240;

const specs = suite("tslab's specs");
const checkout = process.env.P2PLAB_TSLAB;

/** Of two JavaScripts only their being there is compared: what runs is the kernel's own form, and the executor's specs run it. */
function equality(received: unknown, expected: unknown): boolean | null {
  if (typeof received === "string" && typeof expected === "string") {
    if (javaScript.has(received) && expected.includes("exports")) return true;
    return declarationTexts.has(received) ? sameDeclarations(received, expected) : null;
  }
  if (!isConverted(received) || !isConverted(expected)) return null;
  const { output, ...rest } = received;
  const { output: wanted, ...others } = expected;
  return equality(output, wanted) === true && isDeepStrictEqual(rest, others);
}

function isConverted(value: unknown): value is { output: unknown } {
  return typeof value === "object" && value !== null && "output" in value;
}

/** Names of tslab's modules, and what stands for them. */
const STAND_INS: Record<string, string> = {
  "./converter": pathToFileURL(packagePath("dist/test/session/tslab/converter.js")).href,
  "./executor": pathToFileURL(packagePath("dist/test/session/tslab/executor.js")).href,
  "@tslab/typescript-for-tslab": "typescript",
};

const standIns: Plugin = {
  name: "stand-ins",
  setup({ onResolve }) {
    onResolve({ filter: /./ }, ({ path, kind }) => {
      const other = STAND_INS[path];
      if (kind === "entry-point" || other === undefined) return null;
      return {
        path: other.startsWith("file:") ? other : packagePath("node_modules/typescript/lib/typescript.js"),
        external: true,
      };
    });
  },
};

async function resultsOf(spec: string, folder: string): Promise<SpecResult[]> {
  const outfile = join(folder, `${spec}.mjs`);
  await build({
    entryPoints: [join(checkout as string, "src", spec)],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    plugins: [standIns],
    logLevel: "silent",
  });
  const jest = new Jest(equality);
  Object.assign(globalThis, jest.globals());
  await import(pathToFileURL(outfile).href);
  return jest.run();
}

if (checkout === undefined) {
  const reason = "P2PLAB_TSLAB names no checkout of tslab (git clone https://github.com/yunabe/tslab)";
  console.log(`skipped: ${reason}`);
  specs.skip(`skipped (optional): ${reason}`, () => undefined);
} else {
  for (const spec of ["converter.spec.ts", "executor.spec.ts"])
    specs(spec, async () => {
      const { version } = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8")) as {
        version: string;
      };
      assert.is(version, "1.0.22", "the list of pinned defects is of another version");
      const folder = realpathSync(mkdtempSync(join(tmpdir(), "p2plab-tslab-")));
      process.chdir(folder);
      try {
        const results = await resultsOf(spec, folder);
        const failing = results.filter(({ failures }) => failures.length > 0);
        const unexpected = failing.filter(({ title }) => !Object.hasOwn(PINNED, title) && !TIMED.has(title));
        const told = unexpected.map(({ title, failures }) => `${title}\n    ${failures.join("\n    ")}`);
        assert.is(told.join("\n"), "");
        const titles = new Set(failing.map(({ title }) => title));
        const passing = results.filter(({ title }) => Object.hasOwn(PINNED, title) && !titles.has(title));
        assert.equal(
          passing.map(({ title }) => title),
          [],
          "listed, and pass",
        );
        assert.ok(results.length > 30, `${results.length} specs`);
      } finally {
        process.chdir(packagePath("."));
        rmSync(folder, { recursive: true, force: true });
      }
    });
}

specs.run();
