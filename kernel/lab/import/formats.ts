import type { Importer } from "./importer.js";
import { importer as ncclTests } from "./nccl-tests.js";
import { importer as nvbandwidth } from "./nvbandwidth.js";
import { importer as p2pTest } from "./p2p-test.js";

/** Every format that can be imported. */
export const IMPORTERS: readonly Importer[] = [ncclTests, nvbandwidth, p2pTest];
