// NativeStream: a stream of ad hoc work, and everything that is submitted to it.
#pragma once

#include "handle_object.h"
#include "work_stream.h"

namespace p2p {

class StreamObject : public HandleObject<StreamObject, WorkStream> {
 public:
  static constexpr napi_type_tag kTag = {0x2c61e05ad19f7b34, 0x8f4a93e6710bd25c};
  static constexpr const char* kWord = "stream";
  static constexpr Napi::FunctionReference AddonData::*kClass = &AddonData::streamClass;

  using HandleObject::HandleObject;
  // Makes the class and adds openStream() to the exports.
  static void install(Napi::Env env, AddonData& data, Napi::Object exports);

 private:
  void close(const Napi::CallbackInfo&) { release(); }
  static Napi::Value openStream(const Napi::CallbackInfo& info);
  Napi::Value gpu(const Napi::CallbackInfo& info);
  void launch(const Napi::CallbackInfo& info);
  void launchGraph(const Napi::CallbackInfo& info);
  void copy(const Napi::CallbackInfo& info);
  void fill(const Napi::CallbackInfo& info);
  void record(const Napi::CallbackInfo& info);
  void wait(const Napi::CallbackInfo& info);
  Napi::Value query(const Napi::CallbackInfo& info);
  void sync(const Napi::CallbackInfo& info);
  Napi::Value done(const Napi::CallbackInfo& info);
  void cancel(const Napi::CallbackInfo& info);
  void beginCapture(const Napi::CallbackInfo& info);
  Napi::Value endCapture(const Napi::CallbackInfo& info);
};

}  // namespace p2p
