#include "setup_object.h"

#include <algorithm>
#include <cstring>

#include "addon_data.h"
#include "arguments.h"
#include "js_errors.h"
#include "promise_worker.h"

namespace p2p {

namespace {

constexpr double kMaxBytes = 70368744177664.0;  // 2^46
constexpr double kMaxNodes = 100'000;
constexpr double kMaxRepetitions = 1e6;
constexpr double kMaxBudgetMs = 24 * 3600 * 1e3;

SetupRequest requestOf(const Napi::CallbackInfo& info) {
  const Arguments arguments(info, "setup", 6);
  SetupRequest request;
#define P2P_WORD(enumerator, word) word,
  request.kind = static_cast<SetupKind>(arguments.oneOf(0, "kind", {P2P_SETUP_KINDS(P2P_WORD)}));
#undef P2P_WORD
  request.gpu = arguments.ordinal(1, "gpu");
  request.peer = static_cast<int>(arguments.number(2, "peer", -1, 1023));
  if (request.peer >= 0) request.peer = arguments.ordinal(2, "peer");
  request.bytes = arguments.whole(3, "bytes", 0, kMaxBytes);
  request.nodes = static_cast<unsigned>(arguments.whole(4, "nodes", 0, kMaxNodes));
  const std::string needs = missingOf(request);
  if (!needs.empty())
    throw usage("setup: this kind needs " + needs, "See SetupOperation in kernel/lab/operations.ts.");
  if (request.kind == SetupKind::kVmmImport) {
    request.file = static_cast<int>(arguments.whole(5, "handle", 0, 2147483647));
    return request;
  }
  if (request.kind != SetupKind::kIpcOpen && request.kind != SetupKind::kIpcOpenAgain &&
      request.kind != SetupKind::kIpcClose)
    return request;
  const Napi::Uint8Array handle = arguments.bytes(5, "handle");
  if (handle.ByteLength() != sizeof request.handle.reserved)
    throw usage("setup: handle must be of " + std::to_string(sizeof request.handle.reserved) +
                    " bytes, not " + std::to_string(handle.ByteLength()),
                "Give the handle of exportMemory().");
  std::memcpy(request.handle.reserved, handle.Data(), sizeof request.handle.reserved);
  return request;
}

}  // namespace

Napi::Function SetupObject::define(Napi::Env env) {
  return DefineClass(
      env, "NativeSetup",
      {InstanceMethod<&SetupObject::time>("time"), InstanceMethod<&SetupObject::checked>("checked"),
       InstanceMethod<&SetupObject::cancel>("cancel"), InstanceMethod<&SetupObject::close>("close")});
}

Napi::Value SetupObject::prepare(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return rejecting(env, [&]() -> Napi::Value {
    const SetupRequest request = requestOf(info);
    AddonData& data = addonData(env);
    data.retain(request.gpu);
    if (request.peer >= 0) data.retain(request.peer);
    return PromiseWorker<std::shared_ptr<SetupCosts>>::start(
        env, [request] { return std::make_shared<SetupCosts>(request); },
        [](Napi::Env finishEnv, std::shared_ptr<SetupCosts>& costs) -> Napi::Value {
          return addonData(finishEnv).setupClass.New(
              {Napi::External<std::shared_ptr<SetupCosts>>::New(finishEnv, &costs)});
        });
  });
}

SetupObject::SetupObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<SetupObject>(info) {
  if (info.Length() != 1 || !info[0].IsExternal())
    throw toJsError(info.Env(), usage("set-up work cannot be made by new", "Use setup(kind, …)."));
  costs_ = *info[0].As<Napi::External<std::shared_ptr<SetupCosts>>>().Data();
  AddonData::track(addonData(info.Env()).setups, costs_);
}

Napi::Value SetupObject::time(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return rejecting(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "time", 2);
    const std::uint64_t repetitions = arguments.whole(0, "repetitions", 1, kMaxRepetitions);
    const double budgetMs = arguments.number(1, "budgetMs", 0, kMaxBudgetMs);
    auto right = std::make_shared<std::shared_ptr<void>>(costs_->begin());
    return PromiseWorker<SetupCosts::Timing>::start(
        env,
        [costs = costs_, right, repetitions, budgetMs] {
          // Over when the work is, whether or not JavaScript still hears of it.
          const std::shared_ptr<void> held = std::move(*right);
          return costs->time(held, repetitions, budgetMs);
        },
        [](Napi::Env finishEnv, SetupCosts::Timing& timing) -> Napi::Value {
          Napi::Float64Array ns = Napi::Float64Array::New(finishEnv, timing.ns.size());
          std::copy(timing.ns.begin(), timing.ns.end(), ns.Data());
          Napi::Object result = Napi::Object::New(finishEnv);
          result.Set("ns", ns);
          result.Set("cancelled", timing.cancelled);
          return result;
        });
  });
}

Napi::Value SetupObject::checked(const Napi::CallbackInfo& info) {
  return throwing(info.Env(),
                  [&]() -> Napi::Value { return Napi::String::New(info.Env(), costs_->checked()); });
}

void SetupObject::cancel(const Napi::CallbackInfo&) {
  costs_->cancel();
}

void SetupObject::close(const Napi::CallbackInfo& info) {
  throwing(info.Env(), [&] { costs_->close(); });
}

Napi::Function ExportObject::define(Napi::Env env) {
  return DefineClass(
      env, "NativeExport",
      {InstanceAccessor<&ExportObject::handle>("handle"), InstanceAccessor<&ExportObject::file>("file"),
       InstanceMethod<&ExportObject::changedBytes>("changedBytes"),
       InstanceMethod<&ExportObject::close>("close")});
}

Napi::Value ExportObject::prepare(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return rejecting(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "exportMemory", 3);
    const int gpu = arguments.ordinal(0, "gpu");
    const std::uint64_t bytes = arguments.whole(1, "bytes", 1, kMaxBytes);
    const auto kind = static_cast<ExportKind>(arguments.oneOf(2, "kind", {"ipc", "file"}));
    addonData(env).retain(gpu);
    return PromiseWorker<Exported>::start(
        env, [gpu, bytes, kind] { return std::make_shared<ExportedMemory>(gpu, bytes, kind); },
        [](Napi::Env finishEnv, Exported& memory) -> Napi::Value {
          return addonData(finishEnv).exportClass.New({Napi::External<Exported>::New(finishEnv, &memory)});
        });
  });
}

ExportObject::ExportObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<ExportObject>(info) {
  if (info.Length() != 1 || !info[0].IsExternal())
    throw toJsError(info.Env(),
                    usage("an export cannot be made by new", "Use exportMemory(gpu, bytes, kind)."));
  memory_ = std::make_shared<Exported>(*info[0].As<Napi::External<Exported>>().Data());
  AddonData::track(addonData(info.Env()).exports, memory_);
}

Napi::Value ExportObject::handle(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return throwing(env, [&]() -> Napi::Value {
    if (!*memory_) throw usage("the exported memory is closed", "Export it again.");
    const cu::IpcMemoryHandle& own = (*memory_)->handle();
    Napi::Uint8Array bytes = Napi::Uint8Array::New(env, sizeof own.reserved);
    std::memcpy(bytes.Data(), own.reserved, sizeof own.reserved);
    return bytes;
  });
}

Napi::Value ExportObject::file(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return throwing(env, [&]() -> Napi::Value {
    if (!*memory_) throw usage("the exported memory is closed", "Export it again.");
    return Napi::Number::New(env, (*memory_)->file());
  });
}

Napi::Value ExportObject::changedBytes(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return rejecting(env, [&]() -> Napi::Value {
    const Exported memory = *memory_;
    if (!memory) throw usage("the exported memory is closed", "Export it again.");
    return PromiseWorker<std::uint64_t>::start(
        env, [memory] { return memory->changedBytes(); },
        [](Napi::Env finishEnv, std::uint64_t& changed) -> Napi::Value {
          return Napi::Number::New(finishEnv, static_cast<double>(changed));
        });
  });
}

void ExportObject::close(const Napi::CallbackInfo& info) {
  throwing(info.Env(), [&] { memory_->reset(); });
}

}  // namespace p2p
