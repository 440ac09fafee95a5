// Work off the event loop that settles a promise.
#pragma once

#include <napi.h>

#include <functional>
#include <optional>
#include <utility>

#include "js_errors.h"

namespace p2p {

// Runs `work` on a thread of the pool, then `finish` on the JavaScript thread to make the result of what it
// returned. An exception of either rejects the promise with an error that carries the stack of the call.
template <typename Result>
class PromiseWorker : public Napi::AsyncWorker {
 public:
  using Work = std::function<Result()>;
  using Finish = std::function<Napi::Value(Napi::Env, Result&)>;

  static Napi::Promise start(Napi::Env env, Work work, Finish finish) {
    auto* worker = new PromiseWorker(env, std::move(work), std::move(finish));  // Node-API deletes it
    const Napi::Promise promise = worker->deferred_.Promise();
    worker->Queue();
    return promise;
  }

 protected:
  void Execute() override {
    try {
      result_.emplace(work_());
    } catch (const std::exception& exception) {
      failure_ = failureOf(exception);
      SetError(exception.what());
    }
  }

  void OnOK() override {
    const Napi::HandleScope scope(Env());
    // Work holds the right to the call: it must be over when the promise settles.
    work_ = nullptr;
    try {
      deferred_.Resolve(finish_(Env(), *result_));
    } catch (const Napi::Error& error) {
      deferred_.Reject(error.Value());
    } catch (const std::exception& exception) {
      reject(*failureOf(exception));
    }
  }

  void OnError(const Napi::Error&) override {
    const Napi::HandleScope scope(Env());
    work_ = nullptr;
    reject(*failure_);
  }

 private:
  PromiseWorker(Napi::Env env, Work work, Finish finish)
      : Napi::AsyncWorker(env, "p2p"),
        deferred_(Napi::Promise::Deferred::New(env)),
        error_(Napi::Persistent(Napi::Error::New(env, "").Value())),
        work_(std::move(work)),
        finish_(std::move(finish)) {}

  void reject(const Failure& failure) {
    fillJsError(error_.Value(), failure);
    deferred_.Reject(error_.Value());
  }

  Napi::Promise::Deferred deferred_;
  Napi::ObjectReference error_;
  Work work_;
  Finish finish_;
  std::optional<Result> result_;
  std::optional<Failure> failure_;
};

}  // namespace p2p
