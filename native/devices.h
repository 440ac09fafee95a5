// What the driver says of GPUs and of pairs of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace p2p {

struct DeviceFacts {
  int index = 0;
  std::string name;
  std::string uuid;
  std::string pci;
  double memoryBytes = 0;
  int computeMajor = 0;
  int computeMinor = 0;
  int multiprocessors = 0;
  int copyEngines = 0;
  int clockKhz = 0;
  int memoryClockKhz = 0;
  int l2Bytes = 0;
  bool unifiedAddressing = false;
  bool canMapHostMemory = false;
  // Whether other devices can be given its memory: by the kernel's interface for them, and as a DMA-BUF.
  // Empty where the driver is older than the question.
  std::optional<bool> gpuDirectRdma;
  std::optional<bool> dmaBuf;
  int numaNode = -1;
};

struct PeerFacts {
  bool access;
  bool nativeAtomics;
  bool cudaArrayAccess;
  int performanceRank;
};

DeviceFacts deviceFacts(int gpu);
PeerFacts peerFacts(int from, int to);

// NUMA node of the host beside a GPU; -1 where unknown.
int numaNodeOf(int gpu);

}  // namespace p2p
