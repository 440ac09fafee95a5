/** The names that every session has from its beginning. */

/** By module: each name, and the export that it stands for; `*` for all of them. */
type Imports = Readonly<Record<string, Readonly<Record<string, string>>>>;

// Arquero is imported by its own name, so that TypeScript can name its types in what cells declare.
export const PRELOAD: Imports = {
  arquero: { aq: "*", op: "op" },
  p2plab: { lab: "lab", cuda: "cuda", plot: "plot" },
  "p2plab/notebook": { comms: "comms", display: "display", prompt: "prompt" },
};

/** The same as import statements, a line each. */
export function importsText(imports: Imports): string {
  const statements = Object.entries(imports).flatMap(([module, names]) =>
    Object.entries(names).map(([name, exported]) => {
      const what = exported === "*" ? `* as ${name}` : `{ ${exported} as ${name} }`;
      return `import ${what} from ${JSON.stringify(module)};`;
    }),
  );
  return statements.join("\n");
}
