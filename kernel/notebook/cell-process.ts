/** The process in which one notebook's cells run. A crash of user code or of a driver ends this process alone. */
import { packedPart } from "../session/packed-program.js";

const cells = await (packedPart<typeof import("./cell-session.js")>("cells") ?? import("./cell-session.js"));
cells.serveCells();
