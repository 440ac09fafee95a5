/** The session, and the packages that its cells share with it: what `index.ts` is, where the kernel is one file. */
import * as arquero from "arquero";
import * as library from "../lab/index.js";
import * as notebook from "./notebook.js";
import { provide } from "./provided.js";

provide({ arquero, p2plab: library, "p2plab/notebook": notebook });

export { keepCompiledForm } from "./compiled-form.js";
export { Session } from "./session.js";
