#include "kernel_object.h"

#include <cmath>
#include <string>
#include <vector>

#include "buffer_object.h"
#include "jobs.h"
#include "kernel_timer.h"
#include "peers.h"

namespace p2p {

namespace {

constexpr double kMaxDeadlineMs = 24 * 3600 * 1e3;
constexpr double kMaxRepetitions = 1e6;

LaunchShape shapeOf(const Napi::Float64Array& values, const char* function) {
  static constexpr const char* kNames[] = {"grid.x",  "grid.y",  "grid.z", "block.x",
                                           "block.y", "block.z", "shared"};
  if (values.ElementLength() != 7)
    throw usage(
        std::string(function) + ": shape has " + std::to_string(values.ElementLength()) + " elements, not 7",
        "");
  LaunchShape shape;
  std::uint32_t* const fields[] = {&shape.grid[0],  &shape.grid[1],  &shape.grid[2],    &shape.block[0],
                                   &shape.block[1], &shape.block[2], &shape.sharedBytes};
  for (std::size_t i = 0; i < 7; ++i) {
    const double value = values[i];
    if (!(value >= 0 && value <= 4294967295.0) || value != std::floor(value))
      throw usage(std::string(function) + ": " + kNames[i] + " must be a whole number from 0 to 4294967295",
                  "");
    *fields[i] = static_cast<std::uint32_t>(value);
  }
  return shape;
}

std::string parameterList(const KernelArguments& arguments) {
  std::string list;
  for (std::size_t i = 0; i < arguments.count(); ++i)
    list += (i == 0 ? "" : ", ") + arguments.parameter(i).text;
  return list;
}

void setBigInt(KernelArguments& arguments, std::size_t index, Napi::BigInt value, AddonData& data,
               Uses& uses) {
  int sign = 0;
  std::size_t words = 2;
  std::uint64_t digits[2] = {};
  value.ToWords(&sign, &words, digits);
  const bool fits = words <= 1;
  if (!arguments.takesAddress(index)) return arguments.setInteger(index, sign != 0, digits[0], fits);
  const Block block = fits && sign == 0 ? data.blockAt(digits[0]) : nullptr;
  if (block) uses.blocks.push_back(block);
  if (arguments.parameter(index).type != ParameterType::kPointer)
    return arguments.setInteger(index, sign != 0, digits[0], fits);
  if (!block && (!fits || sign != 0 || digits[0] != 0)) {
    throw usage(arguments.refusal(index, "an address that lies in no open buffer"),
                "Give the buffer itself, or an address inside it: buffer.address + 64n.");
  }
  arguments.setAddress(index, digits[0]);
}

void setArgument(KernelArguments& arguments, std::size_t index, const Napi::Value& value, AddonData& data,
                 Uses& uses) {
  if (BufferObject::is(value)) {
    const Block& block = BufferObject::blockOf(value, "argument " + std::to_string(index + 1));
    arguments.setAddress(index, block->address());
    uses.blocks.push_back(block);
  } else if (value.IsBigInt()) {
    setBigInt(arguments, index, value.As<Napi::BigInt>(), data, uses);
  } else if (value.IsNumber()) {
    arguments.setNumber(index, value.As<Napi::Number>().DoubleValue());
  } else if (value.IsBoolean()) {
    arguments.setBoolean(index, value.As<Napi::Boolean>().Value());
  } else if (value.IsTypedArray()) {
    Napi::Uint8Array bytes = uint8ArrayOf(value, arguments.refusal(index, "another array"));
    arguments.setBytes(index,
                       std::span(reinterpret_cast<const std::byte*>(bytes.Data()), bytes.ByteLength()));
  } else {
    throw usage(arguments.refusal(index, describe(value)),
                "The kernel's parameters are given in its signature, in order.");
  }
}

// What time() works with off the event loop.
struct TimingJob {
  LaunchRequest request;
  KernelTimerOptions options;
  std::shared_ptr<WorkStream> stream;
  Peers::InFlight peers;
  void cancel() { stream->cancelWaits(); }
};

Napi::Float64Array arrayOf(Napi::Env env, const std::vector<double>& values) {
  Napi::Float64Array array = Napi::Float64Array::New(env, values.size());
  std::copy(values.begin(), values.end(), array.Data());
  return array;
}

}  // namespace

LaunchRequest launchRequest(const Arguments& arguments, std::size_t first, const char* function) {
  const auto& kernel = KernelObject::of(arguments.value(first), std::string(function) + ": kernel");
  const Napi::Array values = arguments.list(first + 2, "arguments");
  LaunchRequest request{
      kernel, shapeOf(arguments.doubles(first + 1, "shape"), function), kernel->arguments(), {}};
  KernelArguments& own = request.arguments;
  if (values.Length() != own.count()) {
    throw usage(kernel->name() + " takes " + std::to_string(own.count()) +
                    (own.count() == 1 ? " argument (" : " arguments (") + parameterList(own) + "), not " +
                    std::to_string(values.Length()),
                "Give one for each parameter of the kernel, in order.");
  }
  AddonData& data = addonData(values.Env());
  for (std::uint32_t i = 0; i < values.Length(); ++i) {
    const Napi::HandleScope scope(values.Env());
    setArgument(own, i, values.Get(i), data, request.uses);
  }
  return request;
}

void KernelObject::install(Napi::Env env, AddonData& data) {
  data.kernelClass = Napi::Persistent(DefineClass(
      env, "NativeKernel",
      {InstanceAccessor<&KernelObject::gpu>("gpu"), InstanceAccessor<&KernelObject::facts>("facts"),
       InstanceMethod<&KernelObject::time>("time"), InstanceMethod<&KernelObject::cancel>("cancel"),
       InstanceMethod<&KernelObject::close>("close")}));
}

Napi::Value KernelObject::gpu(const Napi::CallbackInfo& info) {
  return throwing(info.Env(),
                  [&]() -> Napi::Value { return Napi::Number::New(info.Env(), open()->context()->gpu()); });
}

Napi::Value KernelObject::facts(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return throwing(env, [&]() -> Napi::Value {
    const KernelFacts& facts = open()->facts();
    Napi::Object result = Napi::Object::New(env);
    result.Set("registers", facts.registers);
    result.Set("staticSharedBytes", facts.staticSharedBytes);
    result.Set("localBytes", facts.localBytes);
    result.Set("constBytes", facts.constBytes);
    result.Set("maxThreadsPerBlock", facts.maxThreadsPerBlock);
    result.Set("ptxVersion", facts.ptxVersion);
    result.Set("binaryVersion", facts.binaryVersion);
    return result;
  });
}

Napi::Value KernelObject::time(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return rejecting(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "time", 6);
    if (!timing_.expired())
      throw usage("another timing of this kernel is in flight", "Wait for it, or cancel it.");
    AddonData& data = addonData(env);
    LaunchRequest request = launchRequest(arguments, 0, "time");
    KernelTimerOptions options;
    options.repetitions = arguments.whole(3, "repetitions", 1, kMaxRepetitions);
    options.warmup = arguments.whole(4, "warmup", 0, kMaxRepetitions);
    options.deadlineMs = arguments.number(5, "deadlineMs", 1e-3, kMaxDeadlineMs);
    // Work in flight on other streams is over before anything is timed.
    data.settle(nullptr);
    auto stream = std::make_shared<WorkStream>(request.kernel->context());
    data.track(stream);
    timing_ = stream;
    options.cancels = stream->cancels();
    auto timing = std::make_shared<TimingJob>(
        TimingJob{std::move(request), options, std::move(stream), Peers::instance().hold({})});
    return startJob<KernelTimes, TimingJob>(
        env, std::move(timing),
        [](TimingJob& own) {
          return timeKernel(*own.stream, own.request.kernel, own.request.shape, own.request.arguments,
                            own.request.uses, own.options);
        },
        [](Napi::Env finishEnv, KernelTimes& times) -> Napi::Value {
          Napi::Object result = Napi::Object::New(finishEnv);
          result.Set("kernelNs", arrayOf(finishEnv, times.kernelNs));
          result.Set("emptyNs", arrayOf(finishEnv, times.emptyNs));
          result.Set("late", static_cast<double>(times.late));
          result.Set("cancelled", times.cancelled);
          return result;
        });
  });
}

void KernelObject::cancel(const Napi::CallbackInfo&) {
  if (const auto stream = timing_.lock()) stream->cancelWaits();
}

}  // namespace p2p
