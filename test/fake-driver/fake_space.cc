#include "fake_space.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

using namespace p2p::cu;

namespace fake {

namespace {

constexpr std::size_t kSpaceBytes = std::size_t{1} << 38;
constexpr std::size_t kPage = 4096;

struct Space {
  std::mutex mutex;
  int file = -1;
  std::byte* seen = nullptr;                  // no access: what the program gets
  std::byte* behind = nullptr;                // the same bytes for the workers
  std::map<std::size_t, std::size_t> ranges;  // offset → bytes, with a guard page
  std::size_t next = 0;

  Space() {
    file = memfd_create("p2plab-fake-gpu", MFD_CLOEXEC);
    if (file >= 0 && ftruncate(file, kSpaceBytes) == 0) {
      behind = map(PROT_READ | PROT_WRITE, MAP_SHARED, file);
      seen = map(PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    }
    if (!behind || !seen) {
      std::perror("the stand-in driver has no memory");
      std::abort();
    }
  }

  static std::byte* map(int protection, int flags, int file) {
    void* const data = mmap(nullptr, kSpaceBytes, protection, flags | MAP_NORESERVE, file, 0);
    return data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data);
  }

  // First gap of that size at or after an offset; kSpaceBytes when there is none.
  std::size_t gap(std::size_t from, std::size_t bytes) const {
    for (auto it = ranges.lower_bound(from); it != ranges.end() && it->first < from + bytes; ++it)
      from = it->first + it->second;
    return bytes <= kSpaceBytes - from ? from : kSpaceBytes;
  }
};

Space& space() {
  static Space& once = *new Space();
  return once;
}

}  // namespace

DevicePtr takeRange(std::size_t bytes) {
  if (bytes > kSpaceBytes - 2 * kPage) return 0;
  const std::size_t whole = (bytes + kPage - 1) / kPage * kPage + kPage;
  Space& own = space();
  const std::lock_guard lock(own.mutex);
  std::size_t offset = own.gap(own.next, whole);
  if (offset == kSpaceBytes) offset = own.gap(0, whole);
  if (offset == kSpaceBytes) return 0;
  own.ranges[offset] = whole;
  own.next = offset + whole;
  std::memset(own.behind + offset, kGarbage, bytes < kGarbageBytes ? bytes : kGarbageBytes);
  return reinterpret_cast<DevicePtr>(own.seen + offset);
}

void giveRange(DevicePtr address) {
  Space& own = space();
  const std::lock_guard lock(own.mutex);
  const auto it = own.ranges.find(fileOffset(address));
  if (it == own.ranges.end()) return;
  fallocate(own.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(it->first),
            static_cast<off_t>(it->second));
  own.ranges.erase(it);
}

bool inDeviceSpace(DevicePtr address) {
  return fileOffset(address) < kSpaceBytes;
}

std::byte* bytesBehind(DevicePtr address) {
  return space().behind + fileOffset(address);
}

std::uint64_t fileOffset(DevicePtr address) {
  return address - reinterpret_cast<DevicePtr>(space().seen);
}

int memoryFile() {
  return space().file;
}

}  // namespace fake
