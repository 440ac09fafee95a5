import { CompileError, P2pError, shown } from "../errors.js";
import type { NativeCompiled, NativeModule } from "../native-binding.js";
import { call } from "./addon.js";
import { expectGpu, expectOptions, expectText } from "./expect.js";
import { CudaKernel } from "./kernel.js";
import {
  kernelsOfPtx,
  kernelsOfSource,
  type Parameter,
  type ParameterType,
  type Signature,
} from "./signature.js";

export interface ModuleOptions {
  /** GPU to compile for and to run on. Default: to compile for 0, to run on that of the buffers. */
  gpu?: number;
  /** What the compiler's messages call the source; default `cell.cu`. */
  file?: string;
  /** Options of NVRTC, such as `-DN=4` or `--use_fast_math`; the architecture is the GPU's. */
  options?: readonly string[];
}

export interface KernelOptions {
  /** Types of the parameters, in order, where the source does not tell them: `["ptr", "i32", "bytes:12"]`. */
  parameters?: readonly ParameterType[];
}

const MODULE_NAMES = ["gpu", "file", "options"];

/**
 * Device code: CUDA C++ source, compiled by NVRTC for the GPU's architecture; or PTX text; or the bytes of a cubin or fat
 * binary.
 * @throws CompileError with NVRTC's log; P2pError `not-available` when a source is given and there is no NVRTC.
 */
export function module(code: string | Uint8Array, options: ModuleOptions = {}): CudaModule {
  expectOptions(options, MODULE_NAMES, "cuda.module");
  return new CudaModule(code, options);
}

/**
 * Compiles CUDA C++ (or loads PTX) and gives one of its kernels, which owns the module:
 *
 *     const touch = cuda.compile(`extern "C" __global__ void touch(int* p) { atomicAdd(p, 1); }`, "touch");
 *     touch.launch({ grid: 1, block: 32 }, buffer);
 *
 * @param name of the kernel; an instance of a template as C++ writes it: `scale<float>`.
 */
export function compile(
  code: string | Uint8Array,
  name: string,
  options: ModuleOptions & KernelOptions = {},
): CudaKernel {
  expectText(name, "cuda.compile", "the name of the kernel");
  expectOptions(options, [...MODULE_NAMES, "parameters"], "cuda.compile");
  const own = new CudaModule(code, options, name);
  try {
    return own.kernel(name, options, () => own.close());
  } catch (error) {
    own.close();
    throw error;
  }
}

/** An image, and for compiled sources what the compiler said. */
interface Image {
  readonly bytes: Uint8Array;
  readonly compiled: NativeCompiled | null;
  /** Name in the image of the kernel that it was compiled for. */
  readonly loweredName: string | null;
}

/** Device code that was given or compiled; loaded on each GPU that its kernels are launched on. */
export class CudaModule {
  /** What the compiler warned of; empty when it did not, or nothing was compiled. */
  readonly log: string;
  /** `sm_90`, `compute_90`; null when nothing was compiled. */
  readonly architecture: string | null;
  readonly #code: string | Uint8Array;
  readonly #options: ModuleOptions;
  /** Of the source; null for a cubin. */
  readonly #signatures: Map<string, Signature> | null;
  readonly #isSource: boolean;
  /** By GPU and wanted kernel. */
  readonly #images = new Map<string, Image>();
  readonly #modules = new Map<string, NativeModule>();
  #closed = false;

  /** @param first kernel that the code is compiled for at once; without one it is compiled for its plain names. */
  constructor(code: string | Uint8Array, options: ModuleOptions = {}, first: string | null = null) {
    if (typeof code !== "string" && !(code instanceof Uint8Array)) {
      throw new P2pError(
        "usage",
        `device code is a text or a Uint8Array, not ${typeof code}`,
        "Give CUDA C++ source, PTX text, or the bytes of a cubin.",
      );
    }
    expectModuleOptions(options);
    this.#code = code;
    this.#options = options;
    const ptx = typeof code === "string" && /^\s*\.version\s/m.test(code);
    this.#isSource = typeof code === "string" && !ptx;
    this.#signatures = typeof code !== "string" ? null : ptx ? kernelsOfPtx(code) : kernelsOfSource(code);
    const image = this.#isSource ? this.#image(options.gpu ?? 0, first && this.#wanted(first)) : null;
    this.log = image?.compiled?.log ?? "";
    this.architecture = image?.compiled?.architecture ?? null;
  }

  /** Kernels that the source names; empty for a cubin. */
  get kernels(): string[] {
    return [...(this.#signatures?.keys() ?? [])];
  }

  /**
   * One of its kernels.
   * @param options.parameters types, where the source does not tell them.
   * @throws P2pError `usage` when there is no such kernel or a type is not known.
   */
  kernel(name: string, options: KernelOptions = {}, onClose?: () => void): CudaKernel {
    expectText(name, "module.kernel", "the name");
    if (this.#closed) throw new P2pError("usage", "the module is closed", "Compile it again.");
    const parameters = this.#parametersOf(name, options.parameters);
    const texts = parameters.map(({ text }) => text);
    const types = parameters.map(({ type }) => type as string);
    const load = (gpu: number) => {
      const wanted = this.#wanted(name);
      const loaded = this.#module(gpu, wanted);
      return loaded.kernel(this.#image(gpu, wanted).loweredName ?? name, types, texts);
    };
    // Names that are wrong show now, not at the first launch.
    const gpu = this.#options.gpu ?? 0;
    const first = new Map([[gpu, call(() => load(gpu))]]);
    const loader = (on: number) => {
      const known = first.get(on);
      first.delete(on);
      return known ?? load(on);
    };
    return new CudaKernel(name, texts, loader, this.#options.gpu ?? null, onClose);
  }

  /** Unloads it; kernels that were taken from it go on to work until they are closed. Safe to call twice. */
  close(): void {
    this.#closed = true;
    for (const loaded of this.#modules.values()) loaded.close();
    this.#modules.clear();
    this.#images.clear();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  toString(): string {
    const names = this.kernels.length > 0 ? this.kernels.join(", ") : "device code";
    return `module: ${names}${this.architecture ? ` for ${this.architecture}` : ""}`;
  }

  /** The name that NVRTC must be asked for; null where the kernel has its plain name in the image. */
  #wanted(name: string): string | null {
    return this.#isSource && !this.#signatures?.get(name)?.plainName ? name : null;
  }

  #module(gpu: number, wanted: string | null): NativeModule {
    const key = `${gpu} ${wanted ?? ""}`;
    const known =
      this.#modules.get(key) ?? call((addon) => addon.loadModule(gpu, this.#image(gpu, wanted).bytes));
    this.#modules.set(key, known);
    return known;
  }

  #image(gpu: number, wanted: string | null): Image {
    const key = `${gpu} ${wanted ?? ""}`;
    const known = this.#images.get(key) ?? this.#makeImage(gpu, wanted);
    this.#images.set(key, known);
    return known;
  }

  #makeImage(gpu: number, wanted: string | null): Image {
    if (typeof this.#code !== "string") return { bytes: this.#code, compiled: null, loweredName: null };
    const source = this.#code;
    if (!this.#isSource) {
      return { bytes: new TextEncoder().encode(source), compiled: null, loweredName: null };
    }
    const { file = "cell.cu", options = [] } = this.#options;
    try {
      const names = wanted === null ? [] : [wanted];
      const compiled = call((addon) => addon.compileSource(gpu, source, file, [...options], names));
      return { bytes: compiled.image, compiled, loweredName: compiled.names[0] ?? null };
    } catch (error) {
      if (error instanceof CompileError && /name expression/i.test(error.log))
        throw this.#noKernel(wanted ?? "");
      throw error;
    }
  }

  #parametersOf(name: string, declared: readonly ParameterType[] | undefined): Parameter[] {
    const plain = name.replace(/<.*$/, "").replace(/^.*::/, "");
    const signature = this.#signatures?.get(name) ?? this.#signatures?.get(plain);
    if (!signature && this.#signatures && !this.#isSource) throw this.#noKernel(name);
    if (declared) {
      if (signature && signature.parameters.length !== declared.length) {
        throw new P2pError(
          "usage",
          `${name} has ${signature.parameters.length} parameters (${signature.parameters.map(({ text }) => text).join(", ")}), and ${declared.length} are declared`,
          "Declare every parameter, in order.",
        );
      }
      return declared.map((type, i) => ({ type, text: signature?.parameters[i]?.text ?? type }));
    }
    if (!signature) {
      throw new P2pError(
        "usage",
        `the parameters of ${name} are not known${this.#signatures ? `: the source shows ${this.kernels.join(", ") || "no kernel"}` : " from a cubin"}`,
        'Declare them: { parameters: ["ptr", "i32"] }.',
      );
    }
    const unknown = signature.parameters.find(({ type }) => type === null);
    if (unknown) {
      throw new P2pError(
        "usage",
        `${name}: the source does not tell the type of the parameter ${unknown.text}`,
        'Declare all of them, structures by their size: { parameters: ["ptr", "bytes:12"] }.',
      );
    }
    return [...signature.parameters];
  }

  #noKernel(name: string): P2pError {
    return new P2pError(
      "usage",
      `there is no kernel ${name}; the source has ${this.kernels.join(", ") || "none"}`,
      'Name one of them; an instance of a template as C++ writes it: "scale<float>".',
    );
  }
}

function expectModuleOptions({ gpu, file, options }: ModuleOptions): void {
  if (gpu !== undefined) expectGpu(gpu, "cuda.compile");
  if (file !== undefined) expectText(file, "cuda.compile", "file");
  if (options === undefined) return;
  if (Array.isArray(options) && options.every((option) => typeof option === "string")) return;
  throw new P2pError(
    "usage",
    `cuda.compile: options are ${shown(options)}`,
    'Give a list of texts: ["-DN=4", "--use_fast_math"].',
  );
}
