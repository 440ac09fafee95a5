#include "module_object.h"

#include <cstring>
#include <string>
#include <vector>

#include "devices.h"
#include "kernel_object.h"
#include "source_compiler.h"

namespace p2p {

namespace {

Napi::Object compiledObject(Napi::Env env, const CompiledSource& compiled) {
  Napi::Object result = Napi::Object::New(env);
  Napi::Uint8Array image = Napi::Uint8Array::New(env, compiled.image.size());
  if (!compiled.image.empty()) std::memcpy(image.Data(), compiled.image.data(), compiled.image.size());
  result.Set("image", image);
  result.Set("kind", compiled.cubin ? "cubin" : "ptx");
  result.Set("architecture", compiled.architecture);
  result.Set("log", compiled.log);
  result.Set("compiler", compiled.compiler);
  Napi::Array names = Napi::Array::New(env, compiled.loweredNames.size());
  for (std::size_t i = 0; i < compiled.loweredNames.size(); ++i)
    names.Set(static_cast<std::uint32_t>(i), compiled.loweredNames[i]);
  result.Set("names", names);
  return result;
}

}  // namespace

void ModuleObject::install(Napi::Env env, AddonData& data, Napi::Object exports) {
  data.moduleClass = Napi::Persistent(DefineClass(
      env, "NativeModule",
      {InstanceAccessor<&ModuleObject::gpu>("gpu"), InstanceMethod<&ModuleObject::kernel>("kernel"),
       InstanceMethod<&ModuleObject::close>("close")}));
  exports.Set("compileSource", Napi::Function::New<compile>(env, "compileSource"));
  exports.Set("loadModule", Napi::Function::New<load>(env, "loadModule"));
}

Napi::Value ModuleObject::compile(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return throwing(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "compileSource", 5);
    SourceRequest request;
    const DeviceFacts device = deviceFacts(arguments.ordinal(0, "gpu"));
    request.computeMajor = device.computeMajor;
    request.computeMinor = device.computeMinor;
    request.source = arguments.text(1, "source");
    request.file = arguments.text(2, "file");
    request.options = arguments.texts(3, "options");
    request.names = arguments.texts(4, "names");
    return compiledObject(env, compileSource(request));
  });
}

Napi::Value ModuleObject::load(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return throwing(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "loadModule", 2);
    const auto context = addonData(env).retain(arguments.ordinal(0, "gpu"));
    const Napi::Uint8Array bytes = arguments.bytes(1, "image");
    const std::string image(reinterpret_cast<const char*>(bytes.Data()), bytes.ByteLength());
    return make(env, std::make_shared<LoadedModule>(context, image));
  });
}

Napi::Value ModuleObject::gpu(const Napi::CallbackInfo& info) {
  return throwing(info.Env(),
                  [&]() -> Napi::Value { return Napi::Number::New(info.Env(), open()->context()->gpu()); });
}

Napi::Value ModuleObject::kernel(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return throwing(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "kernel", 3);
    const std::string name = arguments.text(0, "name");
    const std::vector<std::string> types = arguments.texts(1, "types");
    const std::vector<std::string> texts = arguments.texts(2, "texts");
    if (types.size() != texts.size())
      throw usage("kernel: types and texts differ in length", "Give one of each for a parameter.");
    std::vector<Parameter> parameters;
    for (std::size_t i = 0; i < types.size(); ++i) parameters.push_back(parameterOf(types[i], texts[i]));
    return KernelObject::make(env, std::make_shared<DeviceKernel>(open(), name, std::move(parameters)));
  });
}

}  // namespace p2p
