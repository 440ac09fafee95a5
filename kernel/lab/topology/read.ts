import { messageOf, P2pError } from "../errors.js";
import { readRegularFile } from "../files.js";
import type { Description } from "./description.js";
import { readHwlocXml } from "./readers/hwloc-xml.js";
import { readNcclXml } from "./readers/nccl-xml.js";
import { readOwnJson } from "./readers/own-json.js";
import { decode, errorAt, MAX_BYTES, placeOf } from "./readers/text.js";
import { looksLikeTopoM, readTopoM } from "./readers/topo-m.js";
import { parseXml } from "./readers/xml.js";

const FORMATS =
  "Give the output of nvidia-smi topo -m, an NCCL topology or hwloc XML file, or a topology that this library wrote.";

/**
 * Reads a topology, in whichever of the known formats it is.
 * @param content text, or the bytes of a file.
 * @throws P2pError `topology` for what is of no known format or malformed, with line and column where it has them.
 */
export function parseTopology(content: string | Uint8Array): Description {
  if (typeof content !== "string" && !(content instanceof Uint8Array)) {
    throw new P2pError("usage", `a topology of ${content === null ? "null" : typeof content}`, FORMATS);
  }
  const text = decode(typeof content === "string" ? new TextEncoder().encode(content) : content);
  const first = text.trimStart()[0];
  if (first === "{") return readOwnJson(text);
  if (first === "<") {
    const root = parseXml(text);
    if (root.name === "system") return readNcclXml(root);
    if (root.name === "topology") return readHwlocXml(root);
    throw errorAt(
      `an XML file with the root element "${root.name.slice(0, 40)}"`,
      root,
      root.name === "graphs"
        ? "This is an NCCL graph file; give the topology that NCCL_TOPO_DUMP_FILE writes."
        : FORMATS,
    );
  }
  if (looksLikeTopoM(text)) return readTopoM(text);
  throw errorAt("the text is no topology of a known format", placeOf(text, 0), FORMATS);
}

/**
 * Reads a topology file, see {@link parseTopology}.
 * @throws P2pError `topology`, its message beginning with the file's name.
 */
export function readTopology(file: string): Description {
  if (typeof file !== "string" || file === "") {
    throw new P2pError("usage", "no topology file is named", "Give the path of a file.");
  }
  let bytes: Uint8Array;
  try {
    bytes = readRegularFile(file, MAX_BYTES);
  } catch (error) {
    const what = `cannot read the topology file ${file}: ${messageOf(error)}`;
    throw new P2pError("topology", what, "Check the path.", { cause: error });
  }
  try {
    return parseTopology(bytes);
  } catch (error) {
    if (!(error instanceof P2pError)) throw error;
    throw new P2pError(error.code, `${file}: ${error.message}`, error.hint, { cause: error });
  }
}
