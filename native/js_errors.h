// From the core's failures to JavaScript errors with the fields code, result, resultName, call, log and
// hint.
#pragma once

#include <napi.h>

#include <exception>
#include <optional>

#include "errors.h"

namespace p2p {

// A new error; its stack is the caller's.
Napi::Error toJsError(Napi::Env env, const Failure& failure);
// Fills an error that was made when the call began, so that it carries the stack of whoever made the call.
void fillJsError(const Napi::Object& error, const Failure& failure);

// The failure behind an exception of the core; nothing for an exception of Node-API's own.
std::optional<Failure> failureOf(const std::exception& exception);

// Runs a synchronous export; a failure of the core becomes a thrown JavaScript error.
template <typename Work>
auto throwing(Napi::Env env, Work work) {
  try {
    return work();
  } catch (const Napi::Error&) {
    throw;
  } catch (const std::exception& exception) {
    throw toJsError(env, *failureOf(exception));
  }
}

// Runs the synchronous part of an asynchronous export; a failure becomes a rejected promise.
template <typename Work>
Napi::Value rejecting(Napi::Env env, Work work) {
  try {
    return work();
  } catch (const Napi::Error& error) {
    const auto deferred = Napi::Promise::Deferred::New(env);
    deferred.Reject(error.Value());
    return deferred.Promise();
  } catch (const std::exception& exception) {
    const auto deferred = Napi::Promise::Deferred::New(env);
    deferred.Reject(toJsError(env, *failureOf(exception)).Value());
    return deferred.Promise();
  }
}

}  // namespace p2p
