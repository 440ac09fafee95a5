// Copies by copy engines, for the calls that submit them in whatever way.
#pragma once

#include "fake_stream.h"

namespace fake {

// Checks a copy, puts it into the stream and, where the driver would, waits for it.
p2p::cu::Result submitCopy(p2p::cu::DevicePtr dst, p2p::cu::DevicePtr src, std::size_t bytes,
                           p2p::cu::Stream stream, std::uint32_t correlation);

}  // namespace fake
