#!/usr/bin/env node
/** The `p2plab` command: starts its code, from one file where set-up has made one. */
import { packedPart } from "../session/packed-program.js";

const program = await (packedPart<typeof import("./program.js")>("command") ?? import("./program.js"));
await program.runCommand();
