#include "binding_object.h"

#include "buffer_object.h"
#include "device_limits.h"
#include "event_object.h"
#include "graph_object.h"
#include "kernel_object.h"
#include "module_object.h"
#include "stream_object.h"

namespace p2p {

namespace {

Napi::Value limits(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return throwing(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "limits", 1);
    const DeviceLimits& limits = deviceLimits(arguments.ordinal(0, "gpu"));
    const auto triple = [&](const int(&values)[3]) {
      Napi::Array list = Napi::Array::New(env, 3);
      for (std::uint32_t i = 0; i < 3; ++i) list.Set(i, values[i]);
      return list;
    };
    Napi::Object result = Napi::Object::New(env);
    result.Set("maxThreadsPerBlock", limits.maxThreadsPerBlock);
    result.Set("maxBlock", triple(limits.maxBlock));
    result.Set("maxGrid", triple(limits.maxGrid));
    result.Set("maxSharedBytes", limits.maxSharedBytes);
    result.Set("maxSharedBytesOptIn", limits.maxSharedBytesOptIn);
    result.Set("warpSize", limits.warpSize);
    return result;
  });
}

Napi::Value memory(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return throwing(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "memory", 1);
    const MemoryInfo memory = memoryInfo(*addonData(env).retain(arguments.ordinal(0, "gpu")));
    Napi::Object result = Napi::Object::New(env);
    result.Set("freeBytes", static_cast<double>(memory.freeBytes));
    result.Set("totalBytes", static_cast<double>(memory.totalBytes));
    return result;
  });
}

void settle(const Napi::CallbackInfo& info) {
  throwing(info.Env(), [&] {
    const Arguments arguments(info, "settle", 1);
    const Block block = BufferObject::blockOf(arguments.value(0), "settle: buffer");
    addonData(info.Env()).settle(block.get());
  });
}

}  // namespace

void installBinding(Napi::Env env, AddonData& data, Napi::Object exports) {
  StreamObject::install(env, data, exports);
  EventObject::install(env, data, exports);
  ModuleObject::install(env, data, exports);
  KernelObject::install(env, data);
  GraphObject::install(env, data);
  exports.Set("settle", Napi::Function::New<settle>(env, "settle"));
  exports.Set("limits", Napi::Function::New<limits>(env, "limits"));
  exports.Set("memory", Napi::Function::New<memory>(env, "memory"));
}

}  // namespace p2p
