// NativeExecutor: the JavaScript face of an Executor.
#pragma once

#include <napi.h>

#include <memory>
#include <type_traits>
#include <utility>

#include "discard.h"
#include "executor.h"

namespace p2p {

class ExecutorObject : public Napi::ObjectWrap<ExecutorObject> {
 public:
  static Napi::Function define(Napi::Env env);
  // prepare(): reads the program on this thread, makes it ready on another.
  static Napi::Value prepare(const Napi::CallbackInfo& info);

  // Called by prepare only; JavaScript cannot make one by itself.
  explicit ExecutorObject(const Napi::CallbackInfo& info);
  ~ExecutorObject() override { discard(std::move(executor_)); }
  ExecutorObject(const ExecutorObject&) = delete;
  ExecutorObject& operator=(const ExecutorObject&) = delete;

 private:
  Napi::Value time(const Napi::CallbackInfo& info);
  Napi::Value throughput(const Napi::CallbackInfo& info);
  Napi::Value graphCosts(const Napi::CallbackInfo& info);
  Napi::Value timedStreams(const Napi::CallbackInfo& info);
  Napi::Value trace(const Napi::CallbackInfo& info);
  Napi::Value verify(const Napi::CallbackInfo& info);
  void cancel(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo& info);

  // Shared with the work in flight, so that a collected object does not take it away.
  std::shared_ptr<Executor> executor_;
};

static_assert(!std::is_copy_constructible_v<ExecutorObject>);

}  // namespace p2p
