/** Writes the fixtures anew: `node dist/test/lab/doctor/write-machines.js`. */
import { makeFolder, packagePath, writeFileAtomic } from "../../../kernel/lab/index.js";
import { fileOf, MACHINES } from "./machines.js";

for (const machine of MACHINES) {
  const folder = packagePath(`test/fixtures/machines/${machine.name}`);
  makeFolder(folder);
  writeFileAtomic(`${folder}/machine.json`, fileOf(machine));
}
