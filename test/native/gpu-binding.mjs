/**
 * Proof of the driver binding on a real GPU (two where there are two), run by hand after `npm run build:addon && npm run
 * build`:
 *
 *     node test/native/gpu-binding.mjs [--keep TRACE.json]
 *
 * Prints one JSON object: a row a check with `ok` and what was seen; exits 1 when something that must hold does not. It
 * judges no time. NVRTC must be found (P2PLAB_NVRTC names it elsewhere). `--keep` also writes the Chrome trace of a traced
 * run.
 */
import { spawnSync } from "node:child_process";
import { cuda, lab } from "../../dist/kernel/lab/index.js";

const SOURCE = `#include <cstdint>
extern "C" __global__ void touch(int* p) { atomicAdd(p, 1); }
extern "C" __global__ void fill(std::uint32_t* p, std::uint64_t n, std::uint32_t value) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t(blockDim.x) + threadIdx.x; i < n; i += std::uint64_t(gridDim.x) * blockDim.x)
    p[i] = value + std::uint32_t(i);
}
struct Pair { int a; float b; double c; };
extern "C" __global__ void echo(double* out, char a, unsigned char b, short c, unsigned short d, int e, unsigned f,
                                long long g, unsigned long long h, float i, double j, bool k, Pair pair) {
  const double all[] = {double(a), double(b), double(c), double(d), double(e), double(f), double(g), double(h),
                        double(i), j, double(k), double(pair.a), double(pair.b), pair.c};
  for (int n = 0; n < 14; ++n) out[n] = all[n];
}
extern "C" __global__ void spin(unsigned long long ns) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); while (now - begin < ns);
}
extern "C" __global__ void empty() {}
extern "C" __global__ void shared(int* out) {
  extern __shared__ int room[];
  room[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) *out = room[blockDim.x - 1];
}
extern "C" __global__ void fault(int* p) { *(volatile int*)(p + (1ull << 40)) = 1; }
template <typename T> __global__ void scale(T* p, T factor) { p[threadIdx.x] *= factor; }
`;

const result = { checks: [] };

function check(name, ok, seen) {
  result.checks.push({ name, ok: Boolean(ok), seen });
}

async function attempt(name, work) {
  try {
    await work();
  } catch (error) {
    check(name, false, `${error.name} ${error.code}: ${error.message} → ${error.hint ?? ""}`);
  }
}

/** A script in a process of its own, with `cuda` and SOURCE; its last line of output, parsed. */
function inChild(body) {
  const from = JSON.stringify(new URL("../../dist/kernel/lab/index.js", import.meta.url).href);
  const script = `import { cuda } from ${from}; const SOURCE = ${JSON.stringify(SOURCE)}; ${body}`;
  const began = performance.now();
  const child = spawnSync(process.execPath, ["--input-type=module", "--expose-gc", "-e", script], {
    encoding: "utf8",
    timeout: 120_000,
  });
  const line = child.stdout.trim().split("\n").at(-1);
  return {
    status: child.status,
    signal: child.signal,
    tookMs: performance.now() - began,
    stderr: child.stderr.slice(-500),
    printed: line ? JSON.parse(line) : null,
  };
}

const counts = cuda.devices().length;
result.devices = cuda
  .devices()
  .map(({ name, computeMajor, computeMinor }) => ({ name, computeMajor, computeMinor }));
result.limits = cuda.limits(0);
result.memory = cuda.memory(0);

const counter = cuda.alloc(0, 4);
await attempt("three lines: compile, launch, result", () => {
  counter.as("i32").fill(0);
  const began = performance.now();
  const touch = cuda.compile(`extern "C" __global__ void touch(int* p) { atomicAdd(p, 1); }`, "touch");
  const compiledMs = performance.now() - began;
  touch.launch({ grid: 1, block: 32 }, counter);
  const seen = counter.as("i32").get(0);
  check("three lines: compile, launch, result", seen === 32, {
    seen,
    compiledMs,
    nvrtc: cuda.availability().nvrtc,
  });
  touch.close();
});

let all = null;
await attempt("a module with headers compiles", () => {
  all = cuda.module(SOURCE);
  check("a module with headers compiles", all.kernels.length === 8, {
    kernels: all.kernels,
    architecture: all.architecture,
    log: all.log,
  });
});
if (all) {
  const kernel = (name, options) => all.kernel(name, options);
  await attempt("arguments of every type arrive", () => {
    const pair = new ArrayBuffer(16);
    const view = new DataView(pair);
    view.setInt32(0, -7, true);
    view.setFloat32(4, 0.25, true);
    view.setFloat64(8, 1e100, true);
    const out = cuda.alloc(0, 14 * 8);
    kernel("echo", {
      parameters: [
        "ptr",
        "i8",
        "u8",
        "i16",
        "u16",
        "i32",
        "u32",
        "i64",
        "u64",
        "f32",
        "f64",
        "bool",
        "bytes:16",
      ],
    }).launch(
      { grid: 1, block: 1 },
      out,
      -128,
      255,
      -32768,
      65535,
      -2147483648,
      4294967295,
      -(2n ** 40n),
      2n ** 50n,
      1.5,
      -0.1,
      true,
      pair,
    );
    const seen = [...out.as("f64")];
    const wanted = [
      -128,
      255,
      -32768,
      65535,
      -2147483648,
      4294967295,
      -(2 ** 40),
      2 ** 50,
      1.5,
      -0.1,
      1,
      -7,
      0.25,
      1e100,
    ];
    check("arguments of every type arrive", JSON.stringify(seen) === JSON.stringify(wanted), seen);
  });
  await attempt("a declared size that is not the kernel's is refused (CUDA 12.4)", () => {
    let seen = "accepted";
    try {
      kernel("touch", { parameters: ["i32"] });
    } catch (error) {
      seen = error.message;
    }
    const version = cuda.availability().cuda.version;
    check(
      "a declared size that is not the kernel's is refused (CUDA 12.4)",
      version < 12040 || /has 8 bytes/.test(seen),
      { seen, version },
    );
  });
  await attempt("an instance of a template", () => {
    const data = cuda.alloc(0, 16).as("f32").write([1, 2, 3, 4]);
    kernel("scale<float>", { parameters: ["ptr", "f32"] }).launch({ grid: 1, block: 4 }, data, 2.5);
    check("an instance of a template", String([...data]) === "2.5,5,7.5,10", [...data]);
  });
  await attempt("more shared memory than a block has unasked", () => {
    const bytes = result.limits.maxSharedBytesOptIn;
    kernel("shared").launch({ grid: 1, block: 256, shared: bytes }, counter);
    check("more shared memory than a block has unasked", counter.as("i32").get(0) === 255, {
      bytes,
      seen: counter.as("i32").get(0),
    });
  });
  await attempt("a large fill is right to the last word", () => {
    const bytes = 256 * 2 ** 20;
    const data = cuda.alloc(0, bytes);
    kernel("fill").launch({ grid: 1024, block: 256 }, data, bytes / 4, 3);
    const words = data.as("u32");
    const seen = [words.get(0), words.get(12345678), words.get(words.length - 1)];
    check(
      "a large fill is right to the last word",
      String(seen) === String([3, 12345681, words.length + 2]),
      seen,
    );
    data.close();
  });
  const stream = cuda.stream(0);
  await attempt("streams, events, done()", async () => {
    const begin = stream.record();
    kernel("spin").launch({ grid: 1, block: 1, stream }, 100e6);
    const end = stream.record();
    const busy = !stream.idle && !end.reached;
    const submitted = performance.now();
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    await stream.done();
    clearInterval(timer);
    const waitedMs = performance.now() - submitted;
    const elapsedNs = end.elapsedNs(begin);
    check("streams, events, done()", busy && turns > 2 && elapsedNs >= 100e6 && elapsedNs < 120e6, {
      busy,
      turns,
      waitedMs,
      elapsedNs,
    });
  });
  await attempt("a deadline ends a wait, the work goes on", async () => {
    kernel("spin").launch({ grid: 1, block: 1, stream }, 200e6);
    let code = null;
    try {
      stream.sync({ deadlineMs: 10 });
    } catch (error) {
      code = error.resultName;
    }
    await stream.done();
    check("a deadline ends a wait, the work goes on", code === "CUDA_ERROR_NOT_READY" && stream.idle, {
      code,
    });
  });
  await attempt("memory that is closed under a kernel is kept until it is done", async () => {
    const data = cuda.alloc(0, 2 ** 20);
    kernel("spin").launch({ grid: 1, block: 1, stream }, 50e6);
    kernel("fill").launch({ grid: 64, block: 256, stream }, data, 2 ** 18, 1);
    data.close();
    await stream.done();
    check("memory that is closed under a kernel is kept until it is done", true, null);
  });
  await attempt("a graph", () => {
    counter.as("i32").fill(0);
    const touch = kernel("touch");
    const second = cuda.stream(0);
    const graph = cuda.graph(stream, () => {
      for (let i = 0; i < 10; i++) touch.launch({ grid: 1, block: 32, stream }, counter);
      second.wait(stream.record());
      touch.launch({ grid: 1, block: 1, stream: second }, counter);
      stream.wait(second.record());
    });
    for (let i = 0; i < 100; i++) graph.launch();
    stream.sync();
    const seen = counter.as("i32").get(0);
    let unjoined = null;
    try {
      cuda.graph(stream, () => {
        second.wait(stream.record());
        touch.launch({ grid: 1, block: 1, stream: second }, counter);
      });
    } catch (error) {
      unjoined = error.resultName;
    }
    touch.launch({ grid: 1, block: 1, stream }, counter);
    stream.sync();
    check(
      "a graph",
      seen === 32100 && graph.nodes === 11 && unjoined === "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
      { seen, nodes: graph.nodes, unjoined },
    );
  });
  await attempt("kernel.time", async () => {
    const times = {};
    for (const ns of [5e3, 20e3, 100e3]) {
      const timing = await kernel("spin").time({ grid: 1, block: 1, repetitions: 200 }, ns);
      times[ns] = {
        medianNs: timing.medianNs,
        floorNs: timing.floorNs,
        late: timing.late,
        text: String(timing),
      };
      check(
        `kernel.time recovers a spin of ${ns / 1e3} µs`,
        timing.medianNs >= ns && timing.medianNs < ns + 10e3,
        times[ns],
      );
    }
    const empty = await kernel("empty").time({ grid: 1, block: 1, repetitions: 500 });
    result.empty = {
      medianNs: empty.medianNs,
      reason: empty.reason,
      floorNs: empty.floorNs,
      late: empty.late,
    };
  });
  await attempt("what the host waits for a launch", () => {
    const empty = kernel("empty");
    const samples = [];
    for (let i = 0; i < 2000; i++) {
      const began = process.hrtime.bigint();
      empty.launch({ grid: 1, block: 1 });
      samples.push(Number(process.hrtime.bigint() - began));
    }
    result.launchAndWaitUs = lab.median(Float64Array.from(samples)) / 1e3;
  });
  if (counts > 1) {
    await attempt("a kernel writes a peer's memory once access is on", () => {
      const there = cuda.alloc(1, 4);
      there.as("i32").fill(0);
      let refused = null;
      try {
        kernel("touch").launch({ grid: 1, block: 1, gpu: 0 }, there);
      } catch (error) {
        refused = error.message;
      }
      cuda.enablePeer(0, 1);
      kernel("touch").launch({ grid: 1, block: 7, gpu: 0 }, there);
      kernel("touch").launch({ grid: 1, block: 7 }, there);
      check("a kernel writes a peer's memory once access is on", refused && there.as("i32").get(0) === 14, {
        refused,
        seen: there.as("i32").get(0),
      });
    });
  }
}

await attempt("a source that does not compile gives its line", () => {
  try {
    cuda.compile('int a;\nextern "C" __global__ void k(int* p) {\n  p[0] = nothing;\n}', "k");
    check("a source that does not compile gives its line", false, "compiled");
  } catch (error) {
    check(
      "a source that does not compile gives its line",
      error.name === "CompileError" &&
        /cell\.cu\(3\): error: identifier "nothing" is undefined/.test(error.message),
      error.message,
    );
  }
});
await attempt("a kernel that is not there is named", () => {
  try {
    cuda.compile(SOURCE, "tuch");
    check("a kernel that is not there is named", false, "compiled");
  } catch (error) {
    check(
      "a kernel that is not there is named",
      /there is no kernel tuch; the source has touch/.test(error.message),
      error.message,
    );
  }
});
const damaged = inChild(`
  const seen = [];
  for (const code of [new Uint8Array(200), "x .version 99.9", ".version 7.0 .target sm_70 nonsense"])
    try { cuda.compile(code, "k", { parameters: [] }); seen.push("accepted"); } catch (error) { seen.push(error.resultName ?? error.message); }
  console.log(JSON.stringify(seen));`);
check(
  "damaged device code is refused",
  damaged.status === 0 && !damaged.printed?.includes("accepted"),
  damaged,
);

const faulted = inChild(`
  const counter = cuda.alloc(0, 4), fault = cuda.compile(SOURCE, "fault"), seen = {};
  try { fault.launch({ grid: 1, block: 1 }, counter); } catch (error) { seen.first = { result: error.resultName, hint: error.hint }; }
  try { cuda.alloc(0, 4); } catch (error) { seen.then = error.resultName; }
  counter.close(); fault.close();
  console.log(JSON.stringify(seen));`);
check(
  "an illegal address says that the context is lost, and the process still ends",
  faulted.status === 0 &&
    faulted.printed?.first?.result === "CUDA_ERROR_ILLEGAL_ADDRESS" &&
    /context is lost/.test(faulted.printed.first.hint),
  faulted,
);
const exit = (body) =>
  inChild(`
  const s = cuda.stream(0), b = cuda.alloc(0, 1e6), spin = cuda.compile(SOURCE, "spin");
  globalThis.kept = [s, b, spin];
  ${body}
  console.log(JSON.stringify("here")); process.exit(3);`);
const objects = exit("");
check("a process ends with objects open", objects.status === 3, objects);
const short = exit("spin.launch({ grid: 1, block: 1, stream: s }, 500e6); s.done().catch(() => {});");
check("a process ends with work in flight and a wait in progress", short.status === 3, short);
const long = exit("spin.launch({ grid: 1, block: 1, stream: s }, 20e9);");
check("a process ends while a kernel of 20 s runs", long.status === 3, long);
const collected = inChild(`
  const before = cuda.memory(0).freeBytes;
  for (let i = 0; i < 20; i++) { cuda.alloc(0, "64 MiB"); cuda.stream(0); cuda.event(0); }
  for (let i = 0; i < 10; i++) { gc(); await new Promise((resolve) => setTimeout(resolve, 10)); }
  console.log(JSON.stringify(before - cuda.memory(0).freeBytes));`);
check("collected objects are freed", collected.status === 0 && collected.printed < 64 * 2 ** 20, collected);

if (counts > 1) {
  await attempt("a full trace", async () => {
    const machine = await lab.open("cuda");
    const run = await machine.run(lab.transfer({ from: 0, to: 1, bytes: "1 MiB", path: "staged" }), {
      trace: "full",
      traceIterations: 20,
    });
    const trace = lab.chromeTrace(run);
    const of = (ph) => trace.traceEvents.filter((event) => event.ph === ph).length;
    check("a full trace", of("X") > 60 && of("s") === of("f") && of("s") >= 40, {
      X: of("X"),
      arrows: of("s"),
      kinds: [...new Set(run.trace?.timeline.kind)],
      names: [...new Set(run.trace?.timeline.name)].slice(0, 30),
      warnings: run.warnings,
    });
    const keep = process.argv.indexOf("--keep");
    if (keep > 0) lab.writeTrace(run, process.argv[keep + 1]);
    await machine.close();
  });
}

result.ok = result.checks.every(({ ok }) => ok);
console.log(JSON.stringify(result, null, 2));
process.exitCode = result.ok ? 0 : 1;
