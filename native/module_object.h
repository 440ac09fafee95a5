// NativeModule: device code on a GPU; and the compiler that makes it from CUDA C++.
#pragma once

#include "device_code.h"
#include "handle_object.h"

namespace p2p {

class ModuleObject : public HandleObject<ModuleObject, LoadedModule> {
 public:
  static constexpr napi_type_tag kTag = {0xe8204fb15d93c76a, 0x16fd7a3c92e04b58};
  static constexpr const char* kWord = "module";
  static constexpr Napi::FunctionReference AddonData::*kClass = &AddonData::moduleClass;

  using HandleObject::HandleObject;
  // Makes the class and adds compileSource() and loadModule() to the exports.
  static void install(Napi::Env env, AddonData& data, Napi::Object exports);

 private:
  void close(const Napi::CallbackInfo&) { release(); }
  static Napi::Value compile(const Napi::CallbackInfo& info);
  static Napi::Value load(const Napi::CallbackInfo& info);
  Napi::Value gpu(const Napi::CallbackInfo& info);
  Napi::Value kernel(const Napi::CallbackInfo& info);
};

}  // namespace p2p
