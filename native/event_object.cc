#include "event_object.h"

namespace p2p {

void EventObject::install(Napi::Env env, AddonData& data, Napi::Object exports) {
  data.eventClass = Napi::Persistent(DefineClass(
      env, "NativeEvent",
      {InstanceAccessor<&EventObject::gpu>("gpu"), InstanceMethod<&EventObject::query>("query"),
       InstanceMethod<&EventObject::sync>("sync"), InstanceMethod<&EventObject::elapsedNs>("elapsedNs"),
       InstanceMethod<&EventObject::close>("close")}));
  exports.Set("openEvent", Napi::Function::New<openEvent>(env, "openEvent"));
}

Napi::Value EventObject::openEvent(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return throwing(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "openEvent", 2);
    const int gpu = arguments.ordinal(0, "gpu");
    const bool timing = arguments.boolean(1, "timing");
    return make(env, std::make_shared<WorkEvent>(addonData(env).retain(gpu), timing));
  });
}

Napi::Value EventObject::gpu(const Napi::CallbackInfo& info) {
  return throwing(info.Env(), [&]() -> Napi::Value { return Napi::Number::New(info.Env(), open()->gpu()); });
}

Napi::Value EventObject::query(const Napi::CallbackInfo& info) {
  return throwing(info.Env(),
                  [&]() -> Napi::Value { return Napi::Boolean::New(info.Env(), open()->query()); });
}

void EventObject::sync(const Napi::CallbackInfo& info) {
  throwing(info.Env(), [&] {
    const Arguments arguments(info, "sync", 1);
    constexpr double kMaxDeadlineMs = 24 * 3600 * 1e3;
    open()->sync(arguments.number(0, "deadlineMs", 1e-3, kMaxDeadlineMs));
  });
}

Napi::Value EventObject::elapsedNs(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return throwing(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "elapsedNs", 1);
    const auto& since = of(arguments.value(0), "elapsedNs: since");
    return Napi::Number::New(env, open()->elapsedNs(*since));
  });
}

}  // namespace p2p
