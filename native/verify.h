// Proof that the bytes arrived: seen by a kernel on the GPU that owns them and by the host through that GPU,
// never by the one that wrote them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "host_pattern.h"
#include "program.h"
#include "resources.h"

namespace p2p {

struct CheckResult {
  int buffer = 0;
  std::uint64_t bytes = 0;
  std::uint64_t wrongByOwner = 0;
  std::uint64_t wrongByReadBack = 0;
  std::uint64_t sentinelBytes = 0;
  std::int64_t firstWrong = -1;
};

class Verifier {
 public:
  // `limitNs` bounds each wait for the GPU.
  Verifier(const ProgramRows& program, const Resources& resources, std::uint64_t limitNs)
      : program_(program), resources_(resources), limitNs_(limitNs) {}

  // Puts sentinels into every buffer and the patterns into the sources, and waits.
  void fill() const;
  // Compares what arrived with what the checks expect.
  std::vector<CheckResult> compare() const;

 private:
  void fillStretch(int buffer, std::uint64_t at, std::uint64_t bytes, std::uint64_t seed,
                   std::uint64_t offset, bool complement) const;
  bool isSource(int buffer) const;
  std::uint64_t countOnGpu(const CheckRow& check, int gpu) const;
  Difference readBack(const CheckRow& check, int gpu) const;
  void launch(int gpu, bool fillKernel, std::uint64_t bytes, void** arguments) const;

  const ProgramRows& program_;
  const Resources& resources_;
  std::uint64_t limitNs_;
};

}  // namespace p2p
