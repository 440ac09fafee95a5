// NativeGraph: a captured graph; a stream launches it.
#pragma once

#include "captured_graph.h"
#include "handle_object.h"

namespace p2p {

class GraphObject : public HandleObject<GraphObject, CapturedGraph> {
 public:
  static constexpr napi_type_tag kTag = {0x57b3ac90e12f648d, 0xc4096de5b8137fa2};
  static constexpr const char* kWord = "graph";
  static constexpr Napi::FunctionReference AddonData::*kClass = &AddonData::graphClass;

  using HandleObject::HandleObject;
  static void install(Napi::Env env, AddonData& data);

 private:
  void close(const Napi::CallbackInfo&) { release(); }
  Napi::Value gpu(const Napi::CallbackInfo& info);
  Napi::Value nodes(const Napi::CallbackInfo& info);
};

}  // namespace p2p
