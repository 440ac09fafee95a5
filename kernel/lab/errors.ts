/** What went wrong, as a stable word that programs can branch on. */
export type ErrorCode =
  | "usage" // an argument is not what the function takes
  | "program" // a program that cannot run as written
  | "machine-spec" // a machine specification that names nothing
  | "not-available" // a stated condition: no driver, no GPU, no peer access, no CUPTI
  | "not-recorded" // a recording does not hold the program that was asked for
  | "recording" // a recording file that cannot be read
  | "topology" // a topology file that cannot be read
  | "import" // another tool's file that cannot be read
  | "notebook" // a notebook file that cannot be read
  | "output" // a file that cannot be written
  | "cuda" // a CUDA driver call failed
  | "compile" // NVRTC does not compile a CUDA C++ source
  | "verification" // bytes did not arrive as they were sent
  | "cancelled"; // stopped on request

/**
 * Every error this project raises on purpose: what happened (`message`), which input it was about, and what to do next
 * (`hint`). `toString()` gives all three, so that a bare print is already helpful.
 */
export class P2pError extends Error {
  readonly code: ErrorCode;
  /** What to do next, one sentence. */
  readonly hint: string;

  constructor(code: ErrorCode, message: string, hint: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "P2pError";
    this.code = code;
    this.hint = hint;
  }

  override toString(): string {
    return `${this.name} [${this.code}]: ${this.message}\n  → ${this.hint}`;
  }
}

/** A CUDA driver call that did not succeed. */
export class CudaError extends P2pError {
  /** Numeric CUresult. */
  readonly result: number;
  /** Symbolic CUresult, such as `CUDA_ERROR_OUT_OF_MEMORY`. */
  readonly resultName: string;
  /** The driver entry point that failed, such as `cuMemAlloc_v2`. */
  readonly call: string;

  constructor(result: number, resultName: string, call: string, hint: string) {
    super("cuda", `${call} failed: ${resultName} (${result})`, hint);
    this.name = "CudaError";
    this.result = result;
    this.resultName = resultName;
    this.call = call;
  }
}

/** A CUDA C++ source that does not compile. */
export class CompileError extends P2pError {
  /** What the compiler said, whole; lines in brackets are those of the source, counted from 1. */
  readonly log: string;

  constructor(message: string, hint: string, log: string) {
    super("compile", message, hint);
    this.name = "CompileError";
    this.log = log;
  }
}

/** A value that a caller handed in, short, for a message: whatever it is, this does not fail. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) return String(value);
  try {
    if (Array.isArray(value)) return `a list of ${value.length}`;
    const { name } = (value.constructor as { name?: unknown } | undefined) ?? {};
    return typeof name === "string" && name !== "Object" && name !== "" ? `a ${name}` : "an object";
  } catch {
    return "an object whose properties throw";
  }
}

/** The text of whatever was thrown, for messages that wrap a cause. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
