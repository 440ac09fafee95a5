// The operations of an iteration as one CUDA graph: captured from the streams of the program, instantiated,
// and what each of that costs.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "objects.h"
#include "steps.h"

namespace p2p {

// Nanoseconds of the host; one element a repetition.
struct GraphCosts {
  std::size_t nodes = 0;
  std::vector<double> captureNs;
  std::vector<double> instantiateNs;
  std::vector<double> updateNs;  // empty where the driver cannot update a graph (before CUDA 12.0)
};

class GraphSubmission {
 public:
  // `operations` is the program as it is submitted by calls, without its syncs. Throws a kNotAvailable
  // failure that names the operation which the driver does not capture.
  GraphSubmission(const ProgramRows& program, const Resources& resources, StepTable operations);
  ~GraphSubmission();
  GraphSubmission(const GraphSubmission&) = delete;
  GraphSubmission& operator=(const GraphSubmission&) = delete;

  cu::GraphExec handle() const { return executable_; }

  // Captures, instantiates and updates again and again. Nothing of the program may be running.
  GraphCosts costs(std::size_t repetitions) const;

 private:
  class Captured;

  std::unique_ptr<Captured> capture() const;
  cu::Result record() const;

  const Resources& resources_;
  StepTable operations_;
  int origin_;
  // Fork and join the other streams.
  std::unique_ptr<Event> fork_;
  std::vector<std::unique_ptr<Event>> joins_;
  mutable const Step* refused_ = nullptr;
  std::unique_ptr<Captured> graph_;
  cu::GraphExec executable_ = nullptr;
};

}  // namespace p2p
