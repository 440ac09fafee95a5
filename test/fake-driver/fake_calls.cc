#include "fake_calls.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "fake_context.h"
#include "fake_settings.h"

namespace fake {

namespace {

struct Books {
  std::mutex mutex;
  std::map<std::string, const Call*> calls;
  std::map<std::string, std::function<std::size_t()>> alive;
  std::vector<std::function<void()>> atExit;
};

// Leaked on purpose: threads of the program may call the driver while the process ends.
Books& books() {
  static Books& once = *new Books();
  return once;
}

std::atomic<bool> initialized{false};

void writeCounts(const std::string& file) {
  FILE* out = std::fopen(file.c_str(), "w");
  if (!out) return;
  std::fprintf(out, "{");
  for (const auto& [kind, alive] : books().alive) std::fprintf(out, "\"%s\":%zu,", kind.c_str(), alive());
  std::fprintf(out, "\"calls\":{");
  const char* comma = "";
  for (const auto& [name, call] : books().calls) {
    std::fprintf(out, "%s\"%s\":%ld", comma, name.c_str(), call->times());
    comma = ",";
  }
  std::fprintf(out, "}}\n");
  std::fclose(out);
}

struct End {
  ~End() {
    for (const auto& work : books().atExit) work();
    std::string file = setting("P2PLAB_FAKE_COUNTS");
    // Processes that share an environment must not write over each other.
    if (const std::size_t at = file.find("%p"); at != std::string::npos)
      file.replace(at, 2, std::to_string(getpid()));
    if (!file.empty()) writeCounts(file);
  }
} end;

}  // namespace

// A rule is NAME=CODE or NAME=CODE@N: the call answers CODE from its Nth time on. Rules are joined by commas.
Call::Call(const char* name) : name_(name) {
  std::stringstream rules(setting("P2PLAB_FAKE_FAIL"));
  for (std::string rule; std::getline(rules, rule, ',');) {
    const std::size_t equals = rule.find('=');
    if (equals == std::string::npos || rule.substr(0, equals) != name) continue;
    forced_ = static_cast<Result>(std::strtol(rule.c_str() + equals + 1, nullptr, 10));
    if (const std::size_t at = rule.find('@'); at != std::string::npos)
      from_ = std::strtol(rule.c_str() + at + 1, nullptr, 10);
  }
  const std::string breaking = setting("P2PLAB_FAKE_STICKY");
  const std::size_t at = breaking.find('@');
  if (breaking.substr(0, at) == name)
    breaks_ = at == std::string::npos ? 1 : std::strtol(breaking.c_str() + at + 1, nullptr, 10);
  const std::lock_guard lock(books().mutex);
  books().calls[name] = this;
}

Result Call::enter() {
  const long times = ++times_;
  if (forced_ != kSuccess && times >= from_) return forced_;
  if (times == breaks_ && currentContext()) currentContext()->broken = kIllegalAddress;
  if (!initialized && std::strcmp(name_, "cuInit") != 0) return kNotInitialized;
  return kSuccess;
}

void setInitialized() {
  initialized = true;
}

void countAlive(const char* kind, std::function<std::size_t()> alive) {
  const std::lock_guard lock(books().mutex);
  books().alive[kind] = std::move(alive);
}

void atExit(std::function<void()> work) {
  const std::lock_guard lock(books().mutex);
  books().atExit.push_back(std::move(work));
}

}  // namespace fake
