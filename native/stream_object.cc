#include "stream_object.h"

#include <string>

#include "buffer_object.h"
#include "event_object.h"
#include "graph_object.h"
#include "jobs.h"
#include "kernel_object.h"

namespace p2p {

namespace {

constexpr double kMaxDeadlineMs = 24 * 3600 * 1e3;
constexpr double kMaxWhole = Arguments::kMaxSafeInteger;

// What done() works with off the event loop.
struct Waiting {
  std::shared_ptr<WorkStream> stream;
  double deadlineMs;
  unsigned cancels;  // as it stood at the call
  void cancel() { stream->cancelWaits(); }
};

}  // namespace

void StreamObject::install(Napi::Env env, AddonData& data, Napi::Object exports) {
  data.streamClass = Napi::Persistent(DefineClass(
      env, "NativeStream",
      {InstanceAccessor<&StreamObject::gpu>("gpu"), InstanceMethod<&StreamObject::launch>("launch"),
       InstanceMethod<&StreamObject::launchGraph>("launchGraph"), InstanceMethod<&StreamObject::copy>("copy"),
       InstanceMethod<&StreamObject::fill>("fill"), InstanceMethod<&StreamObject::record>("record"),
       InstanceMethod<&StreamObject::wait>("wait"), InstanceMethod<&StreamObject::query>("query"),
       InstanceMethod<&StreamObject::sync>("sync"), InstanceMethod<&StreamObject::done>("done"),
       InstanceMethod<&StreamObject::cancel>("cancel"),
       InstanceMethod<&StreamObject::beginCapture>("beginCapture"),
       InstanceMethod<&StreamObject::endCapture>("endCapture"),
       InstanceMethod<&StreamObject::close>("close")}));
  exports.Set("openStream", Napi::Function::New<openStream>(env, "openStream"));
}

Napi::Value StreamObject::openStream(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return throwing(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "openStream", 1);
    AddonData& data = addonData(env);
    auto stream = std::make_shared<WorkStream>(data.retain(arguments.ordinal(0, "gpu")));
    data.track(stream);
    return make(env, std::move(stream));
  });
}

Napi::Value StreamObject::gpu(const Napi::CallbackInfo& info) {
  return throwing(info.Env(), [&]() -> Napi::Value { return Napi::Number::New(info.Env(), open()->gpu()); });
}

void StreamObject::launch(const Napi::CallbackInfo& info) {
  throwing(info.Env(), [&] {
    const Arguments arguments(info, "launch", 3);
    LaunchRequest request = launchRequest(arguments, 0, "launch");
    open()->launch(request.kernel, request.shape, request.arguments, std::move(request.uses));
  });
}

void StreamObject::launchGraph(const Napi::CallbackInfo& info) {
  throwing(info.Env(), [&] {
    const Arguments arguments(info, "launchGraph", 1);
    const auto graph = GraphObject::of(arguments.value(0), "launchGraph: graph");
    open()->launch(graph);
  });
}

void StreamObject::copy(const Napi::CallbackInfo& info) {
  throwing(info.Env(), [&] {
    const Arguments arguments(info, "copy", 5);
    const Block dst = BufferObject::blockOf(arguments.value(0), "copy: dst");
    const std::uint64_t dstOffset = arguments.whole(1, "dstOffset", 0, kMaxWhole);
    const Block src = BufferObject::blockOf(arguments.value(2), "copy: src");
    const std::uint64_t srcOffset = arguments.whole(3, "srcOffset", 0, kMaxWhole);
    open()->copy(dst, dstOffset, src, srcOffset, arguments.whole(4, "bytes", 0, kMaxWhole));
  });
}

void StreamObject::fill(const Napi::CallbackInfo& info) {
  throwing(info.Env(), [&] {
    const Arguments arguments(info, "fill", 5);
    const Block dst = BufferObject::blockOf(arguments.value(0), "fill: buffer");
    const std::uint64_t offset = arguments.whole(1, "offset", 0, kMaxWhole);
    const auto width = static_cast<unsigned>(arguments.whole(2, "width", 1, 4));
    if (width == 3) throw usage("fill: width must be 1, 2 or 4, not number 3", "");
    const double most = static_cast<double>((std::uint64_t{1} << (8 * width)) - 1);
    const auto value = static_cast<std::uint32_t>(arguments.whole(3, "value", 0, most));
    open()->fill(dst, offset, value, width, arguments.whole(4, "count", 0, kMaxWhole));
  });
}

void StreamObject::record(const Napi::CallbackInfo& info) {
  throwing(info.Env(), [&] {
    const Arguments arguments(info, "record", 1);
    open()->record(EventObject::of(arguments.value(0), "record: event"));
  });
}

void StreamObject::wait(const Napi::CallbackInfo& info) {
  throwing(info.Env(), [&] {
    const Arguments arguments(info, "wait", 1);
    open()->wait(EventObject::of(arguments.value(0), "wait: event"));
  });
}

Napi::Value StreamObject::query(const Napi::CallbackInfo& info) {
  return throwing(info.Env(),
                  [&]() -> Napi::Value { return Napi::Boolean::New(info.Env(), open()->query()); });
}

void StreamObject::sync(const Napi::CallbackInfo& info) {
  throwing(info.Env(), [&] {
    const Arguments arguments(info, "sync", 1);
    open()->sync(arguments.number(0, "deadlineMs", 1e-3, kMaxDeadlineMs));
  });
}

Napi::Value StreamObject::done(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return rejecting(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "done", 1);
    const double deadlineMs = arguments.number(0, "deadlineMs", 1e-3, kMaxDeadlineMs);
    auto waiting = std::make_shared<Waiting>(Waiting{open(), deadlineMs, open()->cancels()});
    return startJob<bool, Waiting>(
        env, std::move(waiting), [](Waiting& own) { return own.stream->sync(own.deadlineMs, own.cancels); },
        [](Napi::Env finishEnv, bool& done) { return Napi::Boolean::New(finishEnv, done); });
  });
}

void StreamObject::cancel(const Napi::CallbackInfo& info) {
  throwing(info.Env(), [&] { open()->cancelWaits(); });
}

void StreamObject::beginCapture(const Napi::CallbackInfo& info) {
  throwing(info.Env(), [&] { open()->beginCapture(); });
}

Napi::Value StreamObject::endCapture(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return throwing(env, [&]() -> Napi::Value { return GraphObject::make(env, open()->endCapture()); });
}

}  // namespace p2p
