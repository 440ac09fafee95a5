// What NVML says of peer access and of the way between two GPUs.
#pragma once

#include <string>

#include "nvml_reading.h"

namespace p2p {

// Each status is what `nvidia-smi topo -p2p` prints: OK, CNS (chipset not supported), GNS (GPU not
// supported), TNS (topology not supported), DR (disabled by registry key), NS (not supported), U (unknown).
struct GpuPair {
  Reading<std::string> read;
  Reading<std::string> write;
  Reading<std::string> nvlink;
  Reading<std::string> atomics;
  Reading<std::string> pci;
  // Where the PCIe paths of both meet: `internal`, `single`, `multiple`, `hostbridge`, `node` or `system`.
  Reading<std::string> commonAncestor;
};

GpuPair gpuPair(int from, int to);

template <typename Visit>
void visitReadings(const GpuPair& pair, Visit visit) {
  visit("read", pair.read);
  visit("write", pair.write);
  visit("nvlink", pair.nvlink);
  visit("atomics", pair.atomics);
  visit("pci", pair.pci);
  visit("commonAncestor", pair.commonAncestor);
}

}  // namespace p2p
