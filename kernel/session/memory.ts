/**
 * Gives memory back between cells: each cell leaves a program of TypeScript behind, and V8 collects such garbage only when its heap
 * has doubled.
 */
import v8 from "node:v8";
import vm from "node:vm";

/** Less garbage than this is not worth a collection, which takes a tenth of a second: while cells follow each other, and at rest. */
const WORTH_BYTES = { busy: 48e6, resting: 16e6 };

let collect: (() => void) | null = null;
let left: number | null = null;

const used = () => v8.getHeapStatistics().used_heap_size;

/** The first call only looks how much memory there is. */
export function collectGarbage(when: keyof typeof WORTH_BYTES): void {
  left ??= used();
  if (used() - left < WORTH_BYTES[when]) return;
  if (!collect) {
    v8.setFlagsFromString("--expose-gc");
    collect = vm.runInNewContext("gc") as () => void;
  }
  collect();
  left = used();
}
