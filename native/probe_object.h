// NativeProbe: the JavaScript face of a Probe.
#pragma once

#include <napi.h>

#include <memory>
#include <type_traits>
#include <utility>

#include "discard.h"
#include "probe.h"

namespace p2p {

class ProbeObject : public Napi::ObjectWrap<ProbeObject> {
 public:
  static Napi::Function define(Napi::Env env);
  // prepareProbe(): reads the rows on this thread, makes the probe ready on another.
  static Napi::Value prepare(const Napi::CallbackInfo& info);

  // Called by prepare only; JavaScript cannot make one by itself.
  explicit ProbeObject(const Napi::CallbackInfo& info);
  ~ProbeObject() override { discard(std::move(probe_)); }
  ProbeObject(const ProbeObject&) = delete;
  ProbeObject& operator=(const ProbeObject&) = delete;

 private:
  Napi::Value measure(const Napi::CallbackInfo& info);
  Napi::Value check(const Napi::CallbackInfo& info);
  void cancel(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo& info);

  // Shared with the work in flight, so that a collected object does not take it away.
  std::shared_ptr<Probe> probe_;
};

static_assert(!std::is_copy_constructible_v<ProbeObject>);

}  // namespace p2p
