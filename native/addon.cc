// The exports of p2p.node; kernel/lab/native.ts declares them for TypeScript.
#include <napi.h>

#include <functional>
#include <string>

#include "addon_data.h"
#include "arguments.h"
#include "binding_object.h"
#include "buffer_object.h"
#include "clock.h"
#include "cupti_library.h"
#include "devices.h"
#include "driver_library.h"
#include "executor_object.h"
#include "js_errors.h"
#include "kept_host_memory.h"
#include "nvml_object.h"
#include "nvrtc_library.h"
#include "peers.h"
#include "probe_object.h"
#include "promise_worker.h"
#include "setup_object.h"

namespace p2p {

namespace {

Napi::Object libraryObject(Napi::Env env, bool available, const std::string& reason, int version,
                           const std::string& path) {
  const auto textOrNull = [&](const std::string& text) {
    return text.empty() ? env.Null() : Napi::Value(Napi::String::New(env, text));
  };
  Napi::Object library = Napi::Object::New(env);
  library.Set("available", available);
  library.Set("reason", textOrNull(reason));
  library.Set("version", version == 0 ? env.Null() : Napi::Value(Napi::Number::New(env, version)));
  library.Set("path", textOrNull(path));
  return library;
}

Napi::Value availability(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return throwing(env, [&]() -> Napi::Value {
    const DriverState& cuda = driverState();
    const CuptiState cupti = cuptiState();
    const std::string kernelModule = kernelModuleVersion();
    Napi::Object result = Napi::Object::New(env);
    result.Set("cuda", libraryObject(env, cuda.available, cuda.reason, cuda.version, cuda.path));
    result.Set("cupti", libraryObject(env, cupti.available, cupti.reason, cupti.version, cupti.path));
    result.Set("nvml", nvmlAvailability(env));
    const NvrtcState nvrtc = nvrtcState();
    result.Set("nvrtc", libraryObject(env, nvrtc.available, nvrtc.reason, nvrtc.version, nvrtc.path));
    result.Set("deviceCount", cuda.deviceCount);
    result.Set("kernelModule",
               kernelModule.empty() ? env.Null() : Napi::Value(Napi::String::New(env, kernelModule)));
    return result;
  });
}

Napi::Value devices(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return throwing(env, [&]() -> Napi::Value {
    (void)driver();  // throws with the reason when there is none
    Napi::Array list = Napi::Array::New(env);
    for (int gpu = 0; gpu < driverState().deviceCount; ++gpu) {
      const DeviceFacts facts = deviceFacts(gpu);
      Napi::Object device = Napi::Object::New(env);
      device.Set("index", facts.index);
      device.Set("name", facts.name);
      device.Set("uuid", facts.uuid);
      device.Set("pci", facts.pci);
      device.Set("memoryBytes", facts.memoryBytes);
      device.Set("computeMajor", facts.computeMajor);
      device.Set("computeMinor", facts.computeMinor);
      device.Set("multiprocessors", facts.multiprocessors);
      device.Set("copyEngines", facts.copyEngines);
      device.Set("clockKhz", facts.clockKhz);
      device.Set("memoryClockKhz", facts.memoryClockKhz);
      device.Set("l2Bytes", facts.l2Bytes);
      device.Set("unifiedAddressing", facts.unifiedAddressing);
      device.Set("canMapHostMemory", facts.canMapHostMemory);
      const auto flag = [&](const std::optional<bool>& value) {
        return value ? Napi::Value(Napi::Boolean::New(env, *value)) : env.Null();
      };
      device.Set("gpuDirectRdma", flag(facts.gpuDirectRdma));
      device.Set("dmaBuf", flag(facts.dmaBuf));
      device.Set("numaNode", facts.numaNode);
      list.Set(static_cast<std::uint32_t>(gpu), device);
    }
    return list;
  });
}

Napi::Value peer(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return throwing(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "peer", 2);
    const PeerFacts facts = peerFacts(arguments.ordinal(0, "from"), arguments.ordinal(1, "to"));
    Napi::Object result = Napi::Object::New(env);
    result.Set("access", facts.access);
    result.Set("nativeAtomics", facts.nativeAtomics);
    result.Set("cudaArrayAccess", facts.cudaArrayAccess);
    result.Set("performanceRank", facts.performanceRank);
    return result;
  });
}

Napi::Value clock(const Napi::CallbackInfo& info) {
  const ClockFacts facts = measureClock();
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("name", facts.name);
  result.Set("resolutionNs", facts.resolutionNs);
  result.Set("costNs", facts.costNs);
  return result;
}

Napi::Value setPeer(const Napi::CallbackInfo& info, const char* function, bool enabled) {
  const Napi::Env env = info.Env();
  return throwing(env, [&]() -> Napi::Value {
    const Arguments arguments(info, function, 2);
    const int from = arguments.ordinal(0, "from");
    const int to = arguments.ordinal(1, "to");
    AddonData& data = addonData(env);
    // Work in flight may rely on access as it is.
    data.settle(nullptr);
    return Napi::Boolean::New(env, Peers::instance().set({data.retain(from), data.retain(to), enabled}));
  });
}

Napi::Value enablePeer(const Napi::CallbackInfo& info) {
  return setPeer(info, "enablePeer", true);
}

Napi::Value disablePeer(const Napi::CallbackInfo& info) {
  return setPeer(info, "disablePeer", false);
}

void retainContext(const Napi::CallbackInfo& info) {
  throwing(info.Env(), [&] {
    const Arguments arguments(info, "retainContext", 1);
    addonData(info.Env()).retain(arguments.ordinal(0, "gpu"));
  });
}

// Off the event loop, because freeing much page-locked memory takes a tenth of a second.
Napi::Value releaseKeptMemory(const Napi::CallbackInfo& info) {
  return PromiseWorker<bool>::start(
      info.Env(),
      [] {
        KeptHostMemory::instance().release();
        return true;
      },
      [](Napi::Env env, bool&) { return env.Undefined(); });
}

Napi::Object initialize(Napi::Env env, Napi::Object exports) {
  auto data = std::make_unique<AddonData>();
  data->executorClass = Napi::Persistent(ExecutorObject::define(env));
  data->probeClass = Napi::Persistent(ProbeObject::define(env));
  data->bufferClass = Napi::Persistent(BufferObject::define(env));
  data->setupClass = Napi::Persistent(SetupObject::define(env));
  data->exportClass = Napi::Persistent(ExportObject::define(env));
  installBinding(env, *data, exports);
  env.SetInstanceData(data.release());  // Node-API deletes it with the environment
  const Napi::Object process = env.Global().Get("process").As<Napi::Object>();
  const auto atExit = [](const Napi::CallbackInfo& info) {
    throwing(info.Env(), [&] { addonData(info.Env()).closeAll(); });
  };
  process.Get("once").As<Napi::Function>().Call(
      process, {Napi::String::New(env, "exit"), Napi::Function::New(env, atExit, "closeAll")});
  exports.Set("availability", Napi::Function::New<availability>(env, "availability"));
  exports.Set("devices", Napi::Function::New<devices>(env, "devices"));
  exports.Set("peer", Napi::Function::New<peer>(env, "peer"));
  exports.Set("clock", Napi::Function::New<clock>(env, "clock"));
  exports.Set("prepare", Napi::Function::New<ExecutorObject::prepare>(env, "prepare"));
  exports.Set("prepareProbe", Napi::Function::New<ProbeObject::prepare>(env, "prepareProbe"));
  exports.Set("alloc", Napi::Function::New<BufferObject::alloc>(env, "alloc"));
  exports.Set("copy", Napi::Function::New<BufferObject::copy>(env, "copy"));
  exports.Set("enablePeer", Napi::Function::New<enablePeer>(env, "enablePeer"));
  exports.Set("disablePeer", Napi::Function::New<disablePeer>(env, "disablePeer"));
  exports.Set("retainContext", Napi::Function::New<retainContext>(env, "retainContext"));
  exports.Set("releaseKeptMemory", Napi::Function::New<releaseKeptMemory>(env, "releaseKeptMemory"));
  exports.Set("nvmlFacts", Napi::Function::New<nvmlFacts>(env, "nvmlFacts"));
  exports.Set("nvmlState", Napi::Function::New<nvmlState>(env, "nvmlState"));
  exports.Set("nvmlStateLater", Napi::Function::New<nvmlStateLater>(env, "nvmlStateLater"));
  exports.Set("nvmlClocks", Napi::Function::New<nvmlClocks>(env, "nvmlClocks"));
  exports.Set("nvmlPair", Napi::Function::New<nvmlPair>(env, "nvmlPair"));
  exports.Set("setup", Napi::Function::New<SetupObject::prepare>(env, "setup"));
  exports.Set("exportMemory", Napi::Function::New<ExportObject::prepare>(env, "exportMemory"));
  return exports;
}

}  // namespace

}  // namespace p2p

Napi::Object p2pInitialize(Napi::Env env, Napi::Object exports) {
  return p2p::initialize(env, exports);
}

NODE_API_MODULE(p2p, p2pInitialize)
