// NativeEvent: a point in a stream.
#pragma once

#include "handle_object.h"
#include "work_event.h"

namespace p2p {

class EventObject : public HandleObject<EventObject, WorkEvent> {
 public:
  static constexpr napi_type_tag kTag = {0x91d7f0364ab85ec2, 0x3e5c18f7a2604db9};
  static constexpr const char* kWord = "event";
  static constexpr Napi::FunctionReference AddonData::*kClass = &AddonData::eventClass;

  using HandleObject::HandleObject;
  // Makes the class and adds openEvent() to the exports.
  static void install(Napi::Env env, AddonData& data, Napi::Object exports);

 private:
  void close(const Napi::CallbackInfo&) { release(); }
  static Napi::Value openEvent(const Napi::CallbackInfo& info);
  Napi::Value gpu(const Napi::CallbackInfo& info);
  Napi::Value query(const Napi::CallbackInfo& info);
  void sync(const Napi::CallbackInfo& info);
  Napi::Value elapsedNs(const Napi::CallbackInfo& info);
};

}  // namespace p2p
