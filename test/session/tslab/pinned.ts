/** tslab's specs that do not hold of this kernel: by title, the defect of tslab (ANCHORS' number) that they pin, and what is so here. */
const SPLIT =
  "24: a helper of tslab's exports, not of its interface; here each imported name is a statement of its own from the beginning";

export const PINNED: Readonly<Record<string, string>> = {
  "converter diagnostics › lastExpressionVar":
    "24: a cell's value is a variable among the exports, renamed where a cell has one of its name; here it is none",
  "keepNamesInImport › keep named import": SPLIT,
  "keepNamesInImport › keep renamed import": SPLIT,
  "keepNamesInImport › keep default import": SPLIT,
  "keepNamesInImport › keep default and named import": SPLIT,
  "keepNamesInImport › keep namespace": SPLIT,
  "keepNamesInImport › keep default remove namespace": SPLIT,
  "keepNamesInImport › wrong names": SPLIT,
  "esModuleToCommonJSModule › import": "25: the text of __importStar as TypeScript 5.0 writes it",
  "execute › immediate":
    "4: the value is printed while the call still runs; here it is a result that is published when the cell has ended",
  "execute › calculate numbers": "4: counts what was printed, the value of the spec before it among it",
  "interrupt › interrupt": "11b: wants the words of an interrupt that leaves the cell running",
  "browswer › inspect": "25: wants no documentation, which TypeScript 5.0's DOM had none of",
};

/** Specs that judge time: whatever they say of a machine that is busy with other work is no finding. */
export const TIMED: ReadonlySet<string> = new Set(["execute › performance", "execute › overhead"]);
