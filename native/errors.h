// The one exception of the addon's core, and the check that every driver call goes through.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "cuda_api.h"

namespace p2p {

enum class FailureCode { kCuda, kNotAvailable, kUsage, kCancelled, kCompile };

// What failed and what to do next. `result`, `resultName` and `call` are set for kCuda only, `log` for
// kCompile only.
class Failure : public std::runtime_error {
 public:
  Failure(FailureCode failureCode, const std::string& message, std::string whatToDo)
      : std::runtime_error(message), code(failureCode), hint(std::move(whatToDo)) {}

  FailureCode code;
  std::string hint;
  int result = 0;
  std::string resultName;
  std::string call;
  std::string log;
};

Failure usage(const std::string& message, const std::string& hint);
Failure notAvailable(const std::string& message, const std::string& hint);

// A source that NVRTC does not compile; `file` is what its log calls the source.
Failure compileFailure(const std::string& file, const std::string& log);

// A driver call that did not succeed; `detail` goes in front of the hint known for the result.
Failure cudaFailure(cu::Result result, const char* call, const std::string& detail = "");

// Symbolic name of a CUresult from our own table, so that it also serves when there is no driver to ask.
std::string resultName(cu::Result result);

// What usually causes a result and what to do about it; a general sentence where nothing better is known.
std::string hintFor(cu::Result result, std::string_view call);

// Whether a result means that the GPU's context is lost for the rest of the process.
bool contextLost(cu::Result result);

inline void check(cu::Result result, const char* call) {
  if (result != cu::kSuccess) [[unlikely]]
    throw cudaFailure(result, call);
}

// Destructors cannot throw: what a release answers is counted here, so that tests and close() can tell.
void noteRelease(cu::Result result) noexcept;
long failedReleases() noexcept;

}  // namespace p2p
