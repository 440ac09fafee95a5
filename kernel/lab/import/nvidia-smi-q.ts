import { P2pError } from "../errors.js";
import { monthDate } from "./date.js";
import { Imported, type Importer, importedTable } from "./importer.js";
import { machineOf } from "./machine-name.js";
import { numberIn } from "./number.js";
import { filled, RowColumns } from "./records.js";
import { headText, textOf } from "./text.js";

/** Fields that name a person's hardware or programs: not taken over. */
const PRIVATE =
  /^(?:Serial Number|GPU UUID|MIG UUID|Board ID|Chassis Serial Number|GPU Fabric GUID|Name|GPU PDI|Process ID)$/;
/** Where processes are listed. */
const PRIVATE_SECTION = /^Processes$/;

/** The text of `nvidia-smi -q`: a field a line, indented below its sections. */
export const importer: Importer = {
  format: "nvidia-smi-q",
  title: "text of nvidia-smi -q",
  detect: (head) => (/^=+NVSMI LOG=+\s*$/m.test(headText(head)) ? 0.97 : 0),
  async read(source) {
    const { lines, notes: odd } = await textOf(source);
    const rows = new RowColumns(["gpu", "pci", "section", "field", "value", "number", "unit"]);
    const sections: { indent: number; name: string }[] = [];
    const names: (string | null)[] = [];
    let gpu: number | null = null;
    let pci: string | null = null;
    let date: string | null = null;
    let left = 0;
    for (const line of lines) {
      if (line.trim() === "" || /^=+NVSMI LOG=+\s*$/.test(line)) continue;
      const heading = /^GPU ([\da-fA-F]{8}:[\da-fA-F]{2}:[\da-fA-F]{2}\.\d)\s*$/.exec(line);
      if (heading) {
        gpu = names.push(null) - 1;
        pci = heading[1] as string;
        sections.length = 0;
        continue;
      }
      const indent = line.length - line.trimStart().length;
      while (sections.length > 0 && (sections.at(-1)?.indent ?? 0) >= indent) sections.pop();
      const colon = line.search(/\s:(?:\s|$)/);
      if (colon < 0) {
        if (sections.length < 20) sections.push({ indent, name: line.trim().slice(0, 100) });
        continue;
      }
      const field = line.slice(0, colon).trim().slice(0, 100);
      const value = line.slice(line.indexOf(":", colon) + 1).trim();
      if (field === "Timestamp") date = monthDate(value);
      if (field === "Product Name" && gpu !== null) names[gpu] = value;
      if (PRIVATE.test(field) || sections.some(({ name }) => PRIVATE_SECTION.test(name))) {
        left++;
        continue;
      }
      const [, digits, unit = null] = /^(-?[\d.,]{1,30}) ?([A-Za-z%/]{1,10})?$/.exec(value) ?? [];
      const number = digits === undefined ? null : numberIn(digits);
      const missing = value === "" || /^\[?N\/A\]?$/.test(value);
      rows.add({
        gpu,
        pci,
        section: sections.map(({ name }) => name).join(" / ") || null,
        field,
        value: missing ? null : value.slice(0, 300),
        number,
        unit: number === null ? null : unit,
      });
    }
    if (rows.length === 0) {
      throw new P2pError(
        "import",
        "no field is below the heading",
        "Give the whole output of nvidia-smi -q.",
      );
    }
    const origin = { machine: machineOf(names), date };
    const notes = [
      ...odd,
      "number is as printed, in unit; the XML of nvidia-smi -q -x gives columns in the library's units.",
    ];
    if (left > 0) notes.push(`Serial numbers, UUIDs and processes are not taken over: ${left} lines.`);
    const attached = rows.columns.field?.indexOf("Attached GPUs") ?? -1;
    const told = attached < 0 ? null : rows.columns.number?.[attached];
    if (typeof told === "number" && told !== names.length) {
      notes.push(
        `Attached GPUs is ${told}, but the text holds ${names.length}: some were left out or the text was cut.`,
      );
    }
    if (date === null) notes.push("The text does not say when it was printed.");
    return new Imported({
      format: importer.format,
      title: importer.title,
      tables: filled({ fields: importedTable(rows.columns, origin) }),
      notes,
      source,
    });
  },
};
