#include "fake_copy.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "../../native/cupti_api.h"
#include "fake_calls.h"
#include "fake_settings.h"
#include "fake_space.h"
#include "fake_tracing.h"
#include "fake_view.h"

using namespace p2p::cu;

namespace fake {

// Of CUPTI's cupti_driver_cbid.h.
constexpr std::uint32_t kCopy3dPeerCbid = 321;

namespace {

using p2p::cupti::kDtoD;
using p2p::cupti::kDtoH;
using p2p::cupti::kHtoD;
using p2p::cupti::kHtoH;
using p2p::cupti::kPtoP;

struct Copy {
  DevicePtr dst;
  DevicePtr src;
  std::size_t bytes;
  int issuer;
  int from = -1;  // GPU whose memory it is; -1: host
  int to = -1;
  bool fromPageable = false;
  bool toPageable = false;
  bool direct = false;            // over the link between two GPUs, not staged by the driver
  std::vector<std::byte> staged;  // what pageable memory held when the copy was submitted

  std::uint8_t kind() const {
    if (from < 0) return to < 0 ? kHtoH : kHtoD;
    if (to < 0) return kDtoH;
    return from == to ? kDtoD : kPtoP;
  }
};

// Fills in what one end is; false when the copy runs over its edge.
bool describe(DevicePtr address, std::size_t bytes, int& gpu, bool& pageable,
              std::shared_ptr<Allocation>& allocation) {
  allocation = allocationAt(address);
  pageable = !allocation;
  if (!allocation) return !inDeviceSpace(address);
  gpu = allocation->gpu;
  return bytes <= allocation->bytes - (address - allocation->address);
}

// A stretch as the copy engine reaches it: as the issuer where it may, else staged by the owner.
View viewOf(const Copy& copy, DevicePtr address, int owner) {
  return View(copy.direct || owner < 0 ? copy.issuer : owner, address, copy.bytes, View::By::kCopyEngine);
}

void move(const Copy& copy) {
  if (copy.direct && faulty(Fault::kHang, copy.from, copy.to)) waitUntil([] { return false; });
  if (copyNs() > 0) sleepNs(copyNs());
  if (copy.direct && faulty(Fault::kZeroWrite, copy.from, copy.to)) return;
  std::optional<View> src;
  std::optional<View> dst;
  if (!copy.fromPageable) src.emplace(viewOf(copy, copy.src, copy.from));
  if (!copy.toPageable) dst.emplace(viewOf(copy, copy.dst, copy.to));
  const std::byte* const from = src                   ? src->source()
                                : copy.staged.empty() ? reinterpret_cast<const std::byte*>(copy.src)
                                                      : copy.staged.data();
  std::byte* const to = dst ? dst->target() : reinterpret_cast<std::byte*>(copy.dst);
  if (to) std::memmove(to, from, copy.bytes);
  if (copy.direct && dst && faulty(Fault::kCorrupt, copy.from, copy.to)) dst->damage(0, copy.bytes);
}

}  // namespace

Result submitCopy(DevicePtr dst, DevicePtr src, std::size_t bytes, Stream handle, std::uint32_t correlation) {
  const auto stream = findStream(handle);
  if (!stream) return kInvalidHandle;
  if (const Result state = stream->context->broken) return state;
  auto copy = std::make_shared<Copy>();
  copy->dst = dst;
  copy->src = src;
  copy->bytes = bytes;
  copy->issuer = stream->context->gpu;
  std::shared_ptr<Allocation> to;
  std::shared_ptr<Allocation> from;
  if (!describe(dst, bytes, copy->to, copy->toPageable, to)) return kInvalidValue;
  if (!describe(src, bytes, copy->from, copy->fromPageable, from)) return kInvalidValue;
  copy->direct =
      copy->kind() == kPtoP && to->reachableFrom(copy->issuer) && from->reachableFrom(copy->issuer);
  // As the driver does: pageable memory is read before the call returns, and written before it returns.
  const bool captured = captureOf(*stream) != nullptr;
  if (copy->fromPageable && copy->to >= 0 && !captured) {
    const auto* const data = reinterpret_cast<const std::byte*>(src);
    copy->staged.assign(data, data + bytes);
  }
  submit(stream, kNodeMemcpy, [copy, correlation, id = stream->id] {
    FakeActivity work{FakeActivity::What::kCopy, correlation, nowNs(), 0};
    move(*copy);
    work.endNs = work.startNs + copyNs();
    work.device = static_cast<std::uint32_t>(copy->issuer);
    work.stream = id;
    work.srcDevice = static_cast<std::uint32_t>(std::max(copy->from, 0));
    work.dstDevice = static_cast<std::uint32_t>(std::max(copy->to, 0));
    work.bytes = copy->bytes;
    work.kind = copy->kind();
    traceWork(work);
  });
  const bool waits = copy->to < 0 && (copy->toPageable || copy->fromPageable) && !captured;
  return waits ? waitFor(*stream) : kSuccess;
}

}  // namespace fake

using namespace fake;

extern "C" {

Result cuMemcpyAsync(DevicePtr dst, DevicePtr src, std::size_t bytes, Stream stream) {
  ENTER("cuMemcpyAsync");
  const TracedCall traced(p2p::cupti::kCbidMemcpyAsync);
  return submitCopy(dst, src, bytes, stream, traced.correlation());
}

Result cuMemcpyPeerAsync(DevicePtr dst, Context, DevicePtr src, Context, std::size_t bytes, Stream stream) {
  ENTER("cuMemcpyPeerAsync");
  const TracedCall traced(p2p::cupti::kCbidMemcpyPeerAsync);
  return submitCopy(dst, src, bytes, stream, traced.correlation());
}

Result cuMemcpy3DPeerAsync(const Copy3dPeer* copy, Stream stream) {
  ENTER("cuMemcpy3DPeerAsync");
  const TracedCall traced(kCopy3dPeerCbid);
  const bool stretch = copy->height == 1 && copy->depth == 1 && copy->src.memoryType == kMemoryTypeDevice &&
                       copy->dst.memoryType == kMemoryTypeDevice;
  if (!stretch) return kNotSupported;
  return submitCopy(copy->dst.device + copy->dst.x, copy->src.device + copy->src.x, copy->widthBytes, stream,
                    traced.correlation());
}

}  // extern "C"
