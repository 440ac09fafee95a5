/**
 * Writes the map of the course anew, after a chapter has been added:
 *
 *     node dist/test/notebooks/write-contents.js
 */
import { writeFileSync } from "node:fs";
import { contentsFiles } from "./contents.js";

for (const { file, text } of contentsFiles()) writeFileSync(file, text);
