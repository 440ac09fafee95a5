// The NVLinks of a GPU: what they are, read once, and their counters, read before and after each measurement.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "nvml_fields.h"

namespace p2p {

struct LinkFacts {
  unsigned link = 0;
  Reading<bool> active;
  // NVLink version, such as 4.
  Reading<double> version;
  // Raw signalling rate in one direction, 1e6 bytes a second.
  Reading<double> speedMBps;
  // `gpu`, `switch`, `npu` or `unknown`.
  Reading<std::string> remoteType;
  // PCI address of what is at the other end, such as 0000:0f:00.0.
  Reading<std::string> remotePci;
};

// Counters since the driver was loaded.
struct LinkCounters {
  unsigned link = 0;
  Reading<bool> active;
  Reading<double> replayErrors;
  Reading<double> recoveryErrors;
  Reading<double> crcErrors;
  // Packets received with errors; NVLink 5 counts these.
  Reading<double> receiveErrors;
  // Payload, without the protocol's own bytes where the GPU tells them apart (NVLink 4 and before).
  Reading<double> txBytes;
  Reading<double> rxBytes;
};

// By which of NVML's ways a GPU tells the counters of its links: it differs by generation, and is found out
// once.
struct LinkSources {
  enum Metric { kActive, kReplay, kRecovery, kCrc, kReceive, kTx, kRx, kMetrics };
  // nvml::Field, or 0 for the call of old drivers that tells it one by one.
  std::array<unsigned, kMetrics> field{};
};

// How many links a GPU has, whether or not they are active; no value where NVML knows nothing of links.
Reading<double> linkCountOf(nvml::Device device);
LinkSources linkSourcesOf(nvml::Device device, unsigned links);
// The counters of all links as part of a larger query: asked for when it is made, read after the query has
// run.
class LinkQuery {
 public:
  LinkQuery(FieldQuery& query, unsigned links, const LinkSources& sources);
  std::vector<LinkCounters> countersOf(nvml::Device device) const;

 private:
  const FieldQuery& query_;
  unsigned links_;
  LinkSources sources_;
  // Index in the query by link and metric.
  std::vector<std::size_t> asked_;
};

std::vector<LinkFacts> linkFactsOf(nvml::Device device, unsigned links, const LinkSources& sources);

}  // namespace p2p
