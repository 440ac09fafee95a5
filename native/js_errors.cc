#include "js_errors.h"

#include <new>
#include <stdexcept>
#include <string>

namespace p2p {

namespace {

const char* word(FailureCode code) {
  switch (code) {
    case FailureCode::kCuda:
      return "cuda";
    case FailureCode::kNotAvailable:
      return "not-available";
    case FailureCode::kUsage:
      return "usage";
    case FailureCode::kCancelled:
      return "cancelled";
    case FailureCode::kCompile:
      return "compile";
  }
  return "usage";
}

}  // namespace

std::optional<Failure> failureOf(const std::exception& exception) {
  if (const auto* failure = dynamic_cast<const Failure*>(&exception)) return *failure;
  if (dynamic_cast<const std::bad_alloc*>(&exception) || dynamic_cast<const std::length_error*>(&exception))
    return usage("the host has no memory left for this call",
                 "Use smaller arrays, or close what is not needed.");
  return usage(std::string("unexpected: ") + exception.what(), "Report it with the call that caused it.");
}

void fillJsError(const Napi::Object& error, const Failure& failure) {
  const Napi::Env env = error.Env();
  error.Set("message", failure.what());
  error.Set("code", word(failure.code));
  error.Set("hint", failure.hint);
  if (failure.code == FailureCode::kCuda) {
    error.Set("result", failure.result);
    error.Set("resultName", failure.resultName);
    error.Set("call", failure.call);
  }
  if (failure.code == FailureCode::kCompile) error.Set("log", failure.log);
  // The text of a stack is made with the error: its first line must be given the message that is known only
  // now.
  const Napi::Value stack = error.Get("stack");
  if (!stack.IsString()) return;
  const std::string text = stack.As<Napi::String>();
  const std::size_t frames = text.find("\n    at ");
  error.Set("stack", Napi::String::New(env, "Error: " + std::string(failure.what()) +
                                                (frames == std::string::npos ? "" : text.substr(frames))));
}

Napi::Error toJsError(Napi::Env env, const Failure& failure) {
  Napi::Error error = Napi::Error::New(env, failure.what());
  fillJsError(error.Value(), failure);
  return error;
}

}  // namespace p2p
