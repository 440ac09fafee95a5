#include "fake_view.h"

#include "fake_settings.h"

using namespace p2p::cu;

namespace fake {

View::View(int gpu, DevicePtr address, std::size_t bytes, By by)
    : allocation_(allocationAt(address)), bytes_(bytes), gpu_(gpu), by_(by) {
  if (!allocation_ || !allocation_->reachableFrom(gpu)) throw Broken{kIllegalAddress};
  start_ = address - allocation_->address;
  if (bytes > allocation_->bytes - start_) throw Broken{kIllegalAddress};
  window_ = allocation_->gpu >= 0 && allocation_->gpu != gpu;
}

void View::requireInside(std::size_t offset, std::size_t bytes) const {
  if (offset > bytes_ || bytes > bytes_ - offset) throw Broken{kIllegalAddress};
}

void View::read(std::size_t offset, void* to, std::size_t bytes) const {
  requireInside(offset, bytes);
  std::memcpy(to, seen() + offset, bytes);
  const std::size_t bad = corruptOffset();
  if (window_ && faulty(Fault::kCorrupt, allocation_->gpu, gpu_) && bad >= start_ + offset &&
      bad < start_ + offset + bytes)
    static_cast<std::byte*>(to)[bad - start_ - offset] ^= std::byte{0xff};
}

void View::write(std::size_t offset, const void* from, std::size_t bytes) const {
  requireInside(offset, bytes);
  if (std::byte* const data = written()) std::memcpy(data + offset, from, bytes);
  if (corrupts()) damage(offset, bytes);
}

std::byte* View::seen() const {
  if (window_) {
    const std::lock_guard lock(allocation_->mutex);
    const auto mirror = allocation_->mirrors.find(gpu_);
    if (mirror != allocation_->mirrors.end()) return mirror->second.data() + start_;
  }
  return allocation_->data + start_;
}

std::byte* View::written() const {
  if (!window_) return allocation_->data + start_;
  const int owner = allocation_->gpu;
  if (faulty(Fault::kZeroWrite, gpu_, owner)) return nullptr;
  if (by_ == By::kThread && faulty(Fault::kLostFlag, gpu_, owner)) return nullptr;
  if (!faulty(Fault::kMirror, gpu_, owner)) return allocation_->data + start_;
  // A private copy takes the owner's place for this GPU, so that it reads back what it wrote.
  const std::lock_guard lock(allocation_->mutex);
  auto& mirror = allocation_->mirrors[gpu_];
  if (mirror.empty()) mirror.assign(allocation_->data, allocation_->data + allocation_->bytes);
  return mirror.data() + start_;
}

bool View::corrupts() const {
  return window_ && faulty(Fault::kCorrupt, gpu_, allocation_->gpu);
}

void View::damage(std::size_t offset, std::size_t bytes) const {
  const std::size_t bad = corruptOffset();
  if (bad >= start_ + offset && bad < start_ + offset + bytes) allocation_->data[bad] ^= std::byte{0xff};
}

}  // namespace fake
