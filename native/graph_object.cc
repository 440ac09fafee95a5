#include "graph_object.h"

namespace p2p {

void GraphObject::install(Napi::Env env, AddonData& data) {
  data.graphClass = Napi::Persistent(
      DefineClass(env, "NativeGraph",
                  {InstanceAccessor<&GraphObject::gpu>("gpu"), InstanceAccessor<&GraphObject::nodes>("nodes"),
                   InstanceMethod<&GraphObject::close>("close")}));
}

Napi::Value GraphObject::gpu(const Napi::CallbackInfo& info) {
  return throwing(info.Env(), [&]() -> Napi::Value { return Napi::Number::New(info.Env(), open()->gpu()); });
}

Napi::Value GraphObject::nodes(const Napi::CallbackInfo& info) {
  return throwing(info.Env(), [&]() -> Napi::Value {
    return Napi::Number::New(info.Env(), static_cast<double>(open()->nodes()));
  });
}

}  // namespace p2p
