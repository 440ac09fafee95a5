// The driver binding without Node.js against the stand-in driver and compiler, under sanitizers. Runs the
// test named by its argument; the environment of the stand-ins is set by binding.test.ts.
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "device_limits.h"
#include "expect.h"
#include "kernel_timer.h"
#include "nvrtc_library.h"
#include "peers.h"
#include "source_compiler.h"
#include "work_stream.h"

using namespace p2p;

namespace {

constexpr const char* kSource = R"(extern "C" __global__ void touch(int* p) { atomicAdd(p, 1); }
extern "C" __global__ void scale(float* p, float factor, int count) {}
extern "C" __global__ void echo(unsigned long long* out, char a, bool b, short c, int d, float e, double f, long long g, Pair h) {}
extern "C" __global__ void pause(unsigned long long ns) {}
extern "C" __global__ void stuck(int* p) {}
extern "C" __global__ void fault(int* p) {}
extern "C" __global__ void empty() {}
template <typename T> __global__ void scale_any(T* p) {}
)";

CompiledSource compiled(const std::string& source, std::vector<std::string> names = {},
                        std::vector<std::string> options = {}) {
  SourceRequest request;
  request.source = source;
  request.names = std::move(names);
  request.options = std::move(options);
  request.computeMajor = 9;
  return compileSource(request);
}

std::vector<Parameter> parametersOf(std::initializer_list<const char*> words) {
  std::vector<Parameter> parameters;
  for (const char* word : words) parameters.push_back(parameterOf(word, word));
  return parameters;
}

struct Gpu {
  std::shared_ptr<DeviceContext> context = DeviceContext::of(0);
  std::shared_ptr<LoadedModule> module = std::make_shared<LoadedModule>(context, compiled(kSource).image);

  std::shared_ptr<DeviceKernel> kernel(const char* name, std::initializer_list<const char*> words) const {
    return std::make_shared<DeviceKernel>(module, name, parametersOf(words));
  }
};

template <typename Word>
Word wordOf(const Block& block, std::uint64_t offset = 0) {
  Word word{};
  readBlock(block, offset, reinterpret_cast<std::byte*>(&word), sizeof word);
  return word;
}

void launchTouch(WorkStream& stream, const std::shared_ptr<DeviceKernel>& touch, const Block& counter,
                 std::uint32_t threads) {
  KernelArguments arguments = touch->arguments();
  arguments.setAddress(0, counter->address());
  stream.launch(touch, {{1, 1, 1}, {threads, 1, 1}, 0}, arguments, {{counter}, {}});
}

Block zeroed(WorkStream& stream, std::uint64_t bytes) {
  Block block = MemoryBlock::allocate(MemoryKind::kDevice, stream.gpu(), bytes);
  stream.fill(block, 0, 0, 1, bytes);
  return block;
}

void compiles() {
  const CompiledSource code = compiled(kSource, {"touch", "scale_any<float>"});
  EXPECT(code.cubin);
  EXPECT_TEXT(code.architecture, "sm_90");
  EXPECT_TEXT(code.log, "");
  EXPECT_EQ(code.compiler, 13000);
  EXPECT_TEXT(code.loweredNames.at(0), "touch");
  EXPECT_TEXT(code.loweredNames.at(1), "_Zscale_any_float_");
  EXPECT(compiled("#warning\n").log.find("warning") != std::string::npos);
  EXPECT_TEXT(nvrtcState().reason, "");
}

void compileFails() {
  const Failure failure = FAILURE((void)compiled("int a;\nint b;\n#error no such thing\n"));
  EXPECT(failure.code == FailureCode::kCompile);
  EXPECT(failure.log.find("cell.cu(3): catastrophic error: #error no such thing") == 0);
  EXPECT(std::string(failure.what()).find("NVRTC cannot compile cell.cu\ncell.cu(3)") == 0);
  EXPECT(FAILURE((void)compiled(kSource, {"tuch"})).code == FailureCode::kCompile);
  EXPECT(FAILURE((void)compiled(kSource, {}, {"--bogus"})).code == FailureCode::kUsage);
  EXPECT(FAILURE((void)compiled(kSource, {}, {"-arch=sm_80"})).code == FailureCode::kUsage);
  EXPECT(FAILURE((void)compiled(std::string("a\0b", 3))).code == FailureCode::kUsage);
}

// The newest architecture that the compiler knows is older than the GPU.
void compilesPtx() {
  const CompiledSource code = compiled(kSource);
  EXPECT(!code.cubin);
  EXPECT_TEXT(code.architecture, "compute_80");
  EXPECT(code.image.back() != '\0');
  const LoadedModule module(DeviceContext::of(0), code.image);
  EXPECT(module.handle() != nullptr);
}

void gpuTooOld() {
  const Failure failure = FAILURE((void)compiled(kSource));
  EXPECT(failure.code == FailureCode::kNotAvailable);
  EXPECT(std::string(failure.what()).find("does not compile for compute capability 9.0") !=
         std::string::npos);
}

void noCompiler() {
  EXPECT(!nvrtcState().available);
  EXPECT_TEXT(nvrtcState().reason, "there is no file /no/nvrtc");
  const Failure failure = FAILURE((void)compiled(kSource));
  EXPECT(failure.code == FailureCode::kNotAvailable);
  EXPECT(failure.hint.find("Install NVRTC") == 0);
}

void images() {
  const auto context = DeviceContext::of(0);
  const auto refused = [&](const std::string& image) {
    return std::string(FAILURE(LoadedModule(context, image)).what());
  };
  EXPECT_TEXT(refused("not code"), "the device code is neither PTX text nor a cubin nor a fat binary");
  EXPECT_TEXT(refused(""), "the device code is neither PTX text nor a cubin nor a fat binary");
  std::string elf(64, '\0');
  std::memcpy(elf.data(),
              "\x7f"
              "ELF",
              4);
  EXPECT_TEXT(refused(elf.substr(0, 20)), "the device code is cut short");
  elf[40] = 100;  // the table of sections lies behind the end
  EXPECT_TEXT(refused(elf), "the device code is cut short");
  std::string fat("\x50\xed\x55\xba\1\0\x10\0\xff\0\0\0\0\0\0\0", 16);
  EXPECT_TEXT(refused(fat), "the device code is cut short");
  const Failure newer = FAILURE(LoadedModule(context, ".version 99.9\n.target sm_90\n"));
  EXPECT_EQ(newer.result, cu::kUnsupportedPtxVersion);
  EXPECT(newer.hint.find("PTX newer than the driver") != std::string::npos);
}

void kernels() {
  const Gpu gpu;
  EXPECT_EQ(gpu.kernel("touch", {"ptr"})->facts().maxThreadsPerBlock, 1024);
  EXPECT_EQ(FAILURE((void)gpu.kernel("none", {})).result, cu::kNotFound);
  const auto message = [&](std::initializer_list<const char*> words) {
    return std::string(FAILURE((void)gpu.kernel("scale", words)).what());
  };
  EXPECT_TEXT(message({"ptr", "f32"}), "scale has more than the 2 parameters that are declared");
  EXPECT_TEXT(message({"ptr", "f32", "i32", "i32"}), "scale has 3 parameters, and 4 are declared");
  EXPECT_TEXT(message({"ptr", "f64", "i32"}), "scale: parameter 2 (f64) has 4 bytes, but is declared with 8");
  for (const char* word : {"", "int", "bytes:", "bytes:0", "bytes:-1", "bytes:99999999", "bytes:4x"})
    EXPECT(FAILURE((void)parameterOf(word, "")).code == FailureCode::kUsage);
}

void arguments() {
  const Gpu gpu;
  WorkStream stream(gpu.context);
  const auto echo = gpu.kernel("echo", {"ptr", "i8", "bool", "i16", "i32", "f32", "f64", "i64", "bytes:12"});
  const Block out = MemoryBlock::allocate(MemoryKind::kDevice, 0, 64);
  KernelArguments values = echo->arguments();
  values.setAddress(0, out->address());
  values.setNumber(1, -128);
  values.setBoolean(2, true);
  values.setInteger(3, true, 2, true);
  values.setNumber(4, 2147483647);
  values.setNumber(5, 1.5);
  values.setNumber(6, -0.25);
  values.setInteger(7, true, std::uint64_t{1} << 63, true);
  const std::byte structure[12] = {std::byte{7}};
  values.setBytes(8, structure);
  stream.launch(echo, {{1, 1, 1}, {1, 1, 1}, 0}, values, {{out}, {}});
  stream.sync(1000);
  EXPECT_EQ(wordOf<std::uint64_t>(out, 0), 0x80u);
  EXPECT_EQ(wordOf<std::uint64_t>(out, 8), 1u);
  EXPECT_EQ(wordOf<std::uint64_t>(out, 16), 0xfffeu);
  EXPECT_EQ(wordOf<std::uint64_t>(out, 24), 0x7fffffffu);
  EXPECT_EQ(wordOf<float>(out, 32), 1.5f);
  EXPECT_EQ(wordOf<double>(out, 40), -0.25);
  EXPECT_EQ(wordOf<std::int64_t>(out, 48), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(wordOf<std::uint64_t>(out, 56), 7u);
}

void argumentsRefused() {
  const auto refused = [](const char* word, const std::function<void(KernelArguments&)>& set) {
    KernelArguments values("k", {parameterOf(word, "T x")});
    return std::string(FAILURE(set(values)).what());
  };
  const auto number = [&](const char* word, double value) {
    return refused(word, [&](KernelArguments& values) { values.setNumber(0, value); });
  };
  EXPECT_TEXT(number("i32", 2147483648.0),
              "k: argument 1 (T x) must be a whole number from -2147483648 to 2147483647, not 2147483648");
  EXPECT_TEXT(number("u8", -1), "k: argument 1 (T x) must be a whole number from 0 to 255, not -1");
  EXPECT_TEXT(number("i8", 1.5),
              "k: argument 1 (T x) must be a whole number from -128 to 127, not number 1.500000");
  const double infinity = std::numeric_limits<double>::infinity();
  for (const char* word : {"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "b32", "b64"}) {
    for (const double value : {std::nan(""), infinity, -infinity, 0.5, 1e300, 9007199254740992.0})
      EXPECT(!number(word, value).empty());
  }
  EXPECT(!number("ptr", 4096).empty() && !number("bool", 1).empty() && !number("bytes:4", 1).empty());
  EXPECT(!number("f32", 1e300).empty());
  KernelArguments floats("k", parametersOf({"f32", "f64"}));
  for (const double value : {std::nan(""), infinity, 3.4e38, -0.0}) {
    floats.setNumber(0, value);
    floats.setNumber(1, value);
  }
  EXPECT(!refused("u64", [](KernelArguments& values) { values.setInteger(0, true, 1, true); }).empty());
  EXPECT(!refused("i64", [](KernelArguments& values) {
            values.setInteger(0, false, std::uint64_t{1} << 63, true);
          }).empty());
  EXPECT(!refused("u64", [](KernelArguments& values) { values.setInteger(0, false, 0, false); }).empty());
  EXPECT(!refused("i32", [](KernelArguments& values) { values.setAddress(0, 8); }).empty());
  EXPECT(!refused("i32", [](KernelArguments& values) { values.setBoolean(0, true); }).empty());
  const std::byte three[3] = {};
  EXPECT(!refused("bytes:4", [&](KernelArguments& values) { values.setBytes(0, three); }).empty());
}

void shapes() {
  const Gpu gpu;
  const auto touch = gpu.kernel("touch", {"ptr"});
  const auto refused = [&](LaunchShape shape) { return std::string(FAILURE(touch->prepare(shape)).what()); };
  EXPECT_TEXT(refused({{0, 1, 1}, {1, 1, 1}, 0}), "grid.x is 0, not from 1 to 2147483647");
  EXPECT_TEXT(refused({{1, 65536, 1}, {1, 1, 1}, 0}), "grid.y is 65536, not from 1 to 65535");
  EXPECT_TEXT(refused({{1, 1, 1}, {1025, 1, 1}, 0}), "block.x is 1025, not from 1 to 1024");
  EXPECT_TEXT(refused({{1, 1, 1}, {1, 1, 65}, 0}), "block.z is 65, not from 1 to 64");
  EXPECT_TEXT(refused({{1, 1, 1}, {1024, 2, 1}, 0}),
              "touch: a block has 2048 threads, more than the 1024 that this kernel takes");
  EXPECT(refused({{1, 1, 1}, {1, 1, 1}, 228 << 10}).find("dynamic shared memory") != std::string::npos);
  touch->prepare({{1, 1, 1}, {1024, 1, 1}, 200 << 10});
  EXPECT_EQ(deviceLimits(0).warpSize, 32);
}

void launches() {
  const Gpu gpu;
  WorkStream stream(gpu.context);
  const Block counter = zeroed(stream, 4);
  const auto touch = gpu.kernel("touch", {"ptr"});
  for (int i = 0; i < 100; ++i) launchTouch(stream, touch, counter, 32);
  EXPECT(stream.uses(*counter));
  stream.sync(1000);
  EXPECT(!stream.uses(*counter) && stream.query());
  EXPECT_EQ(wordOf<std::uint32_t>(counter), 3200u);
  stream.fill(counter, 2, 0xabcd, 2, 1);
  stream.sync(1000);
  EXPECT_EQ(wordOf<std::uint32_t>(counter), 0xabcd0c80u);
  EXPECT(FAILURE(stream.fill(counter, 1, 0, 2, 1)).code == FailureCode::kUsage);
  EXPECT(FAILURE(stream.fill(counter, 0, 0, 4, 2)).code == FailureCode::kUsage);
  EXPECT(FAILURE(stream.fill(counter, 0, 0, 4, UINT64_MAX / 4 + 1)).code == FailureCode::kUsage);
}

void places() {
  const Gpu gpu;
  WorkStream stream(gpu.context);
  const auto touch = gpu.kernel("touch", {"ptr"});
  const Block pinned = MemoryBlock::allocate(MemoryKind::kPinned, -1, 4);
  std::memset(pinned->host(), 0, 4);
  launchTouch(stream, touch, pinned, 3);
  stream.sync(1000);
  EXPECT_EQ(wordOf<std::uint32_t>(pinned), 3u);
  const Block pageable = MemoryBlock::allocate(MemoryKind::kPageable, -1, 4);
  EXPECT(FAILURE(launchTouch(stream, touch, pageable, 1)).hint.find("cuda.hostAlloc") != std::string::npos);
  EXPECT(FAILURE(stream.copy(pageable, 0, pinned, 0, 4)).code == FailureCode::kUsage);
  const Block peer = MemoryBlock::allocate(MemoryKind::kDevice, 1, 4);
  EXPECT(FAILURE(launchTouch(stream, touch, peer, 1)).hint.find("cuda.enablePeer(0, 1)") !=
         std::string::npos);
  const auto other = DeviceContext::of(1);
  Peers::instance().set({gpu.context, other, true});
  stream.copy(peer, 0, pinned, 0, 4);
  launchTouch(stream, touch, peer, 4);
  stream.sync(1000);
  EXPECT_EQ(wordOf<std::uint32_t>(peer), 7u);
  WorkStream elsewhere(other);
  EXPECT(FAILURE(launchTouch(elsewhere, touch, peer, 1)).code == FailureCode::kUsage);
}

void events() {
  const Gpu gpu;
  WorkStream stream(gpu.context);
  WorkStream second(gpu.context);
  const auto begin = std::make_shared<WorkEvent>(gpu.context, true);
  const auto end = std::make_shared<WorkEvent>(gpu.context, true);
  EXPECT(FAILURE((void)begin->query()).code == FailureCode::kUsage);
  EXPECT(FAILURE(second.wait(begin)).code == FailureCode::kUsage);
  const auto pause = gpu.kernel("pause", {"u64"});
  KernelArguments ns = pause->arguments();
  ns.setNumber(0, 300e6);
  stream.record(begin);
  stream.launch(pause, {}, ns, {});
  stream.record(end);
  EXPECT(FAILURE((void)end->elapsedNs(*begin)).code == FailureCode::kUsage);
  second.wait(end);
  EXPECT(!second.query());
  second.sync(5000);
  EXPECT(end->query());
  end->sync(1000);
  const double elapsed = end->elapsedNs(*begin);
  EXPECT(elapsed >= 300e6);
  EXPECT(begin->elapsedNs(*end) <= -300e6);
  const auto plain = std::make_shared<WorkEvent>(gpu.context, false);
  stream.record(plain);
  plain->sync(1000);
  EXPECT(FAILURE((void)plain->elapsedNs(*begin)).code == FailureCode::kUsage);
  const auto other = std::make_shared<WorkEvent>(DeviceContext::of(1), true);
  EXPECT(FAILURE(stream.record(other)).code == FailureCode::kUsage);
}

void graphs() {
  const Gpu gpu;
  WorkStream stream(gpu.context);
  WorkStream second(gpu.context);
  const auto touch = gpu.kernel("touch", {"ptr"});
  std::shared_ptr<CapturedGraph> graph;
  std::weak_ptr<MemoryBlock> memory;
  const Block counter = zeroed(stream, 4);
  stream.sync(1000);
  {
    const Block inner = MemoryBlock::allocate(MemoryKind::kDevice, 0, 4);
    memory = inner;
    stream.beginCapture();
    EXPECT(FAILURE(second.beginCapture()).code == FailureCode::kUsage);
    EXPECT(FAILURE((void)stream.query()).code == FailureCode::kUsage);
    EXPECT(FAILURE(stream.sync(1000)).code == FailureCode::kUsage);
    launchTouch(stream, touch, counter, 5);
    stream.fill(inner, 0, 1, 4, 1);
    const auto fork = std::make_shared<WorkEvent>(gpu.context, false);
    stream.record(fork);
    second.wait(fork);
    launchTouch(second, touch, inner, 6);
    const auto join = std::make_shared<WorkEvent>(gpu.context, false);
    second.record(join);
    stream.wait(join);
    EXPECT(FAILURE((void)second.endCapture()).code == FailureCode::kUsage);
    graph = stream.endCapture();
  }
  EXPECT_EQ(graph->nodes(), 3u);
  EXPECT_EQ(wordOf<std::uint32_t>(counter), 0u);
  for (int i = 0; i < 3; ++i) stream.launch(graph);
  stream.sync(1000);
  EXPECT_EQ(wordOf<std::uint32_t>(counter), 15u);
  EXPECT_EQ(wordOf<std::uint32_t>(memory.lock()), 7u);
  stream.launch(graph);
  graph.reset();
  stream.sync(1000);
  EXPECT(memory.expired());
  // One that was left open by its stream does not keep others from being captured.
  {
    WorkStream third(gpu.context);
    third.beginCapture();
  }
  stream.beginCapture();
  EXPECT_EQ(stream.endCapture()->nodes(), 0u);
}

void keepsMemory() {
  const Gpu gpu;
  std::weak_ptr<MemoryBlock> memory;
  {
    WorkStream stream(gpu.context);
    const auto pause = gpu.kernel("pause", {"u64"});
    KernelArguments ns = pause->arguments();
    ns.setNumber(0, 50e6);
    Block block = MemoryBlock::allocate(MemoryKind::kDevice, 0, 4);
    memory = block;
    stream.launch(pause, {}, ns, {{block}, {}});
  }
  EXPECT(!memory.expired());
  EXPECT(!releaseFinishedWork());
  while (!releaseFinishedWork()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT(memory.expired());
}

void stuck() {
  const Gpu gpu;
  WorkStream stream(gpu.context);
  const auto kernel = gpu.kernel("stuck", {"ptr"});
  KernelArguments none = kernel->arguments();
  none.setAddress(0, 0);
  stream.launch(kernel, {}, none, {});
  const Failure failure = FAILURE(stream.sync(20));
  EXPECT_EQ(failure.result, cu::kNotReady);
  EXPECT(failure.hint.find("goes on") != std::string::npos);
  const auto event = std::make_shared<WorkEvent>(gpu.context, false);
  stream.record(event);
  EXPECT_EQ(FAILURE(event->sync(20)).result, cu::kNotReady);
  const unsigned before = stream.cancels();
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stream.cancelWaits();
  });
  EXPECT(!stream.sync(60'000, before));
  other.join();
  EXPECT(!stream.sync(60'000, before));
  EXPECT(stream.busy());
  std::_Exit(0);  // the stand-in's worker never ends by itself
}

void faults() {
  const Gpu gpu;
  WorkStream stream(gpu.context);
  const Block block = MemoryBlock::allocate(MemoryKind::kDevice, 0, 4);
  const auto kernel = gpu.kernel("fault", {"ptr"});
  KernelArguments arguments = kernel->arguments();
  arguments.setAddress(0, block->address());
  stream.launch(kernel, {}, arguments, {{block}, {}});
  const Failure failure = FAILURE(stream.sync(1000));
  EXPECT_EQ(failure.result, cu::kIllegalAddress);
  EXPECT(contextLost(failure.result));
  EXPECT(failure.hint.find("Restart the kernel") != std::string::npos);
  EXPECT(!stream.busy() && !stream.uses(*block));
  EXPECT_EQ(FAILURE(stream.launch(kernel, {}, arguments, {})).result, cu::kIllegalAddress);
  std::_Exit(0);  // everything that is released from here on answers the same
}

void timesKernels() {
  const Gpu gpu;
  WorkStream stream(gpu.context);
  const auto pause = gpu.kernel("pause", {"u64"});
  KernelArguments ns = pause->arguments();
  ns.setNumber(0, 300e3);
  const KernelTimes times = timeKernel(stream, pause, {}, ns, {}, {20, 2, 1000, stream.cancels()});
  EXPECT(!times.cancelled);
  EXPECT_EQ(times.kernelNs.size(), 20u);
  EXPECT_EQ(times.emptyNs.size(), 20u);
  for (const double sample : times.kernelNs) EXPECT(sample >= 299e3);
  for (const double sample : times.emptyNs) EXPECT(sample >= 0);
  stream.cancelWaits();
  EXPECT(timeKernel(stream, pause, {}, ns, {}, {20, 0, 1000, stream.cancels() - 1}).cancelled);
  ns.setNumber(0, 200e6);
  EXPECT_EQ(FAILURE((void)timeKernel(stream, pause, {}, ns, {}, {1, 0, 20, stream.cancels()})).result,
            cu::kNotReady);
  stream.sync(1000);
}

// Every driver call of the binding that fails, named by P2PLAB_FAKE_FAIL: an error, and nothing left behind.
void failingCall() {
  int failures = 0;
  const auto attempt = [&](const std::function<void()>& work) {
    try {
      work();
    } catch (const Failure& failure) {
      EXPECT(failure.code == FailureCode::kCuda && failure.result == 801);
      ++failures;
    }
  };
  attempt([] {
    const Gpu gpu;
    WorkStream stream(gpu.context);
    const auto touch = gpu.kernel("touch", {"ptr"});
    const Block counter = zeroed(stream, 4);
    const auto event = std::make_shared<WorkEvent>(gpu.context, true);
    stream.record(event);
    launchTouch(stream, touch, counter, 1);
    const auto end = std::make_shared<WorkEvent>(gpu.context, true);
    stream.record(end);
    stream.wait(event);
    stream.sync(1000);
    end->sync(1000);
    (void)end->elapsedNs(*event);
    touch->prepare({{1, 1, 1}, {1, 1, 1}, 100 << 10});
    stream.beginCapture();
    launchTouch(stream, touch, counter, 1);
    const auto graph = stream.endCapture();
    stream.launch(graph);
    stream.sync(1000);
    (void)memoryInfo(*gpu.context);
  });
  EXPECT_EQ(failures, 1);
  while (!releaseFinishedWork()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace

int main(int argc, char** argv) {
  return runTest({{"compiles", compiles},
                  {"compile-fails", compileFails},
                  {"compiles-ptx", compilesPtx},
                  {"gpu-too-old", gpuTooOld},
                  {"no-compiler", noCompiler},
                  {"images", images},
                  {"kernels", kernels},
                  {"arguments", arguments},
                  {"arguments-refused", argumentsRefused},
                  {"shapes", shapes},
                  {"launches", launches},
                  {"places", places},
                  {"events", events},
                  {"graphs", graphs},
                  {"keeps-memory", keepsMemory},
                  {"stuck", stuck},
                  {"faults", faults},
                  {"times-kernels", timesKernels},
                  {"failing-call", failingCall}},
                 argc, argv);
}
