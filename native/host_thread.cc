#include "host_thread.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#ifdef __linux__
#include <sched.h>
#include <unistd.h>
#endif

namespace p2p {

namespace {

std::string firstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// A whole number at `text[at]`, moving `at` behind it; -1 when there is none.
int numberAt(const std::string& text, std::size_t& at) {
  int value = -1;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9' && value < 1'000'000)
    value = std::max(value, 0) * 10 + (text[at++] - '0');
  return value;
}

}  // namespace

int numaNodeOfPci(const std::string& pci) {
  std::istringstream line(firstLine("/sys/bus/pci/devices/" + pci + "/numa_node"));
  int node = -1;
  return line >> node ? node : -1;
}

std::vector<int> parseCpuList(const std::string& text) {
  std::vector<int> cpus;
  std::size_t at = 0;
  while (at < text.size()) {
    const int first = numberAt(text, at);
    int last = first;
    if (at < text.size() && text[at] == '-') last = numberAt(text, ++at);
    if (first < 0 || last < first || last > 65'535) return {};
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (at < text.size() && text[at++] != ',') return {};
  }
  return cpus;
}

#ifdef __linux__

namespace {

// Where the process may run, as it was before any thread was bound: the main thread, whose affinity stands
// for the process, may be bound itself.
const cpu_set_t& processCpus() noexcept {
  static const cpu_set_t once = [] {
    cpu_set_t all;
    CPU_ZERO(&all);
    if (sched_getaffinity(getpid(), sizeof all, &all) != 0) CPU_ZERO(&all);
    return all;
  }();
  return once;
}

}  // namespace

PinnedThread::PinnedThread(int numaNode) {
  (void)processCpus();
  cpu_set_t before;
  if (sched_getaffinity(0, sizeof before, &before) != 0 || CPU_COUNT(&before) < 2) return;
  const int here = sched_getcpu();
  int chosen = here;
  if (numaNode >= 0) {
    std::vector<int> cpus =
        parseCpuList(firstLine("/sys/devices/system/node/node" + std::to_string(numaNode) + "/cpulist"));
    std::erase_if(cpus, [&](int cpu) { return cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &before); });
    // The highest number: device interrupts and housekeeping gather on the low ones.
    if (!cpus.empty() && std::find(cpus.begin(), cpus.end(), here) == cpus.end()) chosen = cpus.back();
  }
  if (chosen < 0) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(chosen, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) return;
  const auto* bytes = reinterpret_cast<const unsigned char*>(&before);
  before_.assign(bytes, bytes + sizeof before);
  cpu_ = chosen;
}

PinnedThread::~PinnedThread() {
  // The thread belongs to a pool: what it ran with before must come back. It was allowed a moment ago, so a
  // refusal means that the CPUs went offline meanwhile, and the kernel then chooses by itself.
  if (cpu_ >= 0) (void)sched_setaffinity(0, before_.size(), reinterpret_cast<cpu_set_t*>(before_.data()));
}

UnpinnedThread::UnpinnedThread() {
  const cpu_set_t& all = processCpus();
  cpu_set_t before;
  if (sched_getaffinity(0, sizeof before, &before) != 0 || CPU_EQUAL(&before, &all)) return;
  // Refused, everything is done all the same, only on one CPU.
  if (CPU_COUNT(&all) < 2 || sched_setaffinity(0, sizeof all, &all) != 0) return;
  const auto* bytes = reinterpret_cast<const unsigned char*>(&before);
  before_.assign(bytes, bytes + sizeof before);
}

UnpinnedThread::~UnpinnedThread() {
  if (!before_.empty())
    (void)sched_setaffinity(0, before_.size(), reinterpret_cast<cpu_set_t*>(before_.data()));
}

unsigned usableCpus() noexcept {
  return static_cast<unsigned>(std::max(CPU_COUNT(&processCpus()), 1));
}

#else

UnpinnedThread::UnpinnedThread() = default;
UnpinnedThread::~UnpinnedThread() = default;
unsigned usableCpus() noexcept {
  return 1;
}

PinnedThread::PinnedThread(int) {}
PinnedThread::~PinnedThread() = default;

#endif

}  // namespace p2p
