// Where the measuring thread runs.
#pragma once

#include <string>
#include <vector>

namespace p2p {

// NUMA node beside a PCI device such as 0000:0f:00.0, from sysfs; -1 where the kernel does not tell.
int numaNodeOfPci(const std::string& pci);

// CPUs of a list such as 0-3,8,10-11. A text that is no such list gives no CPUs.
std::vector<int> parseCpuList(const std::string& text);

// Binds this thread for a scope to one CPU of a NUMA node, the one it is on already if it is among them;
// where the node is unknown, to the CPU it is on. A migration costs microseconds and would show as an
// outlier. Does nothing when the system refuses or leaves only one CPU.
class PinnedThread {
 public:
  explicit PinnedThread(int numaNode);
  ~PinnedThread();
  PinnedThread(const PinnedThread&) = delete;
  PinnedThread& operator=(const PinnedThread&) = delete;

  // CPU it is bound to; -1 when it is not.
  int cpu() const { return cpu_; }

 private:
  int cpu_ = -1;
  std::vector<unsigned char> before_;
};

// Lets this thread run for a scope where the process may, so that the threads that it makes meanwhile start
// on CPUs of their own: they inherit what it is bound to, and one that starts on a single CPU and is let go
// later stays there until the system's balancing moves it.
class UnpinnedThread {
 public:
  UnpinnedThread();
  ~UnpinnedThread();
  UnpinnedThread(const UnpinnedThread&) = delete;
  UnpinnedThread& operator=(const UnpinnedThread&) = delete;

 private:
  std::vector<unsigned char> before_;
};

// On how many CPUs the process may run; at least 1.
unsigned usableCpus() noexcept;

}  // namespace p2p
