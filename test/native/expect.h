// What the C++ tests check with, and their main: the test named by the argument runs, exit code 0 says it
// passed.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

#include "errors.h"

[[noreturn]] inline void fail(const char* file, int line, const std::string& what) {
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
  std::exit(1);
}

#define EXPECT(condition)                                                \
  do {                                                                   \
    if (!(condition)) fail(__FILE__, __LINE__, "not true: " #condition); \
  } while (false)

#define EXPECT_EQ(a, b)                                                                    \
  do {                                                                                     \
    const auto va = (a);                                                                   \
    const auto vb = (b);                                                                   \
    if (!(va == vb))                                                                       \
      fail(__FILE__, __LINE__,                                                             \
           std::string(#a) + " is " + std::to_string(va) + ", not " + std::to_string(vb)); \
  } while (false)

#define EXPECT_TEXT(a, b)                                                                               \
  do {                                                                                                  \
    const std::string va = (a);                                                                         \
    const std::string vb = (b);                                                                         \
    if (va != vb) fail(__FILE__, __LINE__, std::string(#a) + " is \"" + va + "\", not \"" + vb + "\""); \
  } while (false)

// The failure that the work throws.
inline p2p::Failure failureOf(const std::function<void()>& work, int line) {
  try {
    work();
  } catch (const p2p::Failure& failure) {
    return failure;
  }
  fail(__FILE__, line, "nothing was thrown");
}

#define FAILURE(...) failureOf([&] { __VA_ARGS__; }, __LINE__)

inline int runTest(const std::map<std::string, std::function<void()>>& tests, int argc, char** argv,
                   bool breaksContexts = false) {
  const auto test = tests.find(argc == 2 ? argv[1] : "");
  if (test == tests.end()) {
    std::fprintf(stderr, "usage: %s NAME\n", argv[0]);
    return 2;
  }
  try {
    test->second();
  } catch (const std::exception& exception) {
    fail(__FILE__, __LINE__, std::string("thrown: ") + exception.what());
  }
  // A forced failure may hit a release as well, and a broken context fails each.
  if (!std::getenv("P2PLAB_FAKE_FAIL") && !breaksContexts) EXPECT_EQ(p2p::failedReleases(), 0L);
  return 0;
}
