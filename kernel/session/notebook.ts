/** What a notebook has beside the library: `import { display } from "p2plab/notebook"`, preloaded in every session. */
export { type Comm, type CommExtras, type CommMessage, type Comms, comms } from "./comm.js";
export { type Display, type DisplayHandle, display, type ProgressBar } from "./display.js";
export { type Prompt, prompt } from "./prompt.js";
