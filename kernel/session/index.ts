export {
  type Activity,
  CELL_RECORD,
  type CellRecord,
  type Environment,
  environment,
  type MachineFacts,
  machineFacts,
  p2plabVersion,
  sourceDigest,
} from "./activity.js";
export type { Candidate, Completion, Inspection } from "./assistance.js";
export type { Completeness } from "./completeness.js";
export type { CellOutput, CommOutgoing, FrontEnd, OutputSink } from "./outputs.js";
export { type ExecuteOptions, type ExecuteResult, Session, type SessionOptions } from "./session.js";
export type { CellError } from "./trace.js";
