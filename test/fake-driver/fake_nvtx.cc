// Stands in for a profiler that listens to NVTX ranges: writes each to the file P2PLAB_FAKE_NVTX. What it
// knows of the interface is written here anew, so that a mistake in our own declarations shows.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

namespace {

using Function = void (*)();

struct Callbacks {
  std::size_t structSize;
  int (*getModuleFunctionTable)(int module, Function*** table, unsigned* size);
};

constexpr int kCore = 1, kCore2 = 5, kSync = 6;
constexpr unsigned kPush = 9, kPop = 11;

FILE* output() {
  static FILE* file = std::fopen(std::getenv("P2PLAB_FAKE_NVTX"), "w");
  return file;
}

int push(const char* name) {
  std::fprintf(output(), "push %s\n", name);
  return std::fflush(output());
}

int pop() {
  std::fprintf(output(), "pop\n");
  return std::fflush(output());
}

}  // namespace

extern "C" int InitializeInjectionNvtx2(const void* (*exportTable)(std::uint32_t)) {
  const auto* callbacks = static_cast<const Callbacks*>(exportTable(1));
  if (!callbacks || callbacks->structSize < sizeof(Callbacks) || exportTable(2) || !exportTable(3)) return 0;
  Function** table = nullptr;
  unsigned size = 0;
  // A profiler takes what it wants of every module, and reads no further than the size it is told.
  for (const int module : {kCore2, kSync, kCore}) {
    if (callbacks->getModuleFunctionTable(module, &table, &size) != 1 || !table || size < 7) return 0;
    for (unsigned i = 1; i < size; ++i)
      if (!table[i]) return 0;
    if (table[0] || table[size]) return 0;
  }
  if (std::getenv("P2PLAB_FAKE_NVTX_DEAF")) return 0;
  *table[kPush] = reinterpret_cast<Function>(push);
  *table[kPop] = reinterpret_cast<Function>(pop);
  return 1;
}
