/**
 * Gives memory back between cells: each cell leaves a program of TypeScript behind, and V8 collects such garbage only when its
 * heap has grown by half.
 */
import v8 from "node:v8";
import vm from "node:vm";

/** Less garbage than this is not worth a collection, which takes a tenth of a second. */
const WORTH_BYTES = 64e6;

let collect: (() => void) | null = null;
let left = 0;

export function collectGarbage(): void {
  const { heapUsed } = process.memoryUsage();
  if (heapUsed - left < WORTH_BYTES) return;
  if (!collect) {
    v8.setFlagsFromString("--expose-gc");
    collect = vm.runInNewContext("gc") as () => void;
  }
  collect();
  left = process.memoryUsage().heapUsed;
}
