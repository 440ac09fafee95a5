/** What the one file of the command and the kernel exports: ways to its parts, so that a command need not load TypeScript. */
const session = () => import("../session/packed.js");

export const load = {
  command: (): Promise<typeof import("./program.js")> => import("./program.js"),
  session: (): Promise<typeof import("../session/packed.js")> => session(),
  // Cells get the library out of the one file.
  cells: async (): Promise<typeof import("../notebook/cell-session.js")> => {
    await session();
    return import("../notebook/cell-session.js");
  },
};
