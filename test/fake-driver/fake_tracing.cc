#include "fake_tracing.h"

#include <atomic>

#include "fake_settings.h"

namespace fake {

namespace {

std::atomic<FakeTraceSink> traceSink{nullptr};
std::atomic<std::uint32_t> correlations{0};
// Correlation of the launch whose graph this thread does; 0: none.
thread_local std::uint32_t launch = 0;

}  // namespace

TracedCall::TracedCall(std::uint32_t cbid, std::uint32_t stream)
    : activity_{FakeActivity::What::kCall, ++correlations, traceSink ? nowNs() : 0, 0} {
  activity_.cbid = cbid;
  activity_.stream = stream;
}

TracedCall::~TracedCall() {
  const FakeTraceSink sink = traceSink;
  if (!sink) return;
  activity_.endNs = nowNs();
  sink(activity_);
}

void traceWork(FakeActivity work) {
  const FakeTraceSink sink = traceSink;
  if (!sink) return;
  if (launch) work.correlation = launch;
  sink(work);
}

InLaunch::InLaunch(std::uint32_t correlation) : outer_(launch) {
  launch = correlation;
}

InLaunch::~InLaunch() {
  launch = outer_;
}

}  // namespace fake

extern "C" void p2plab_fake_trace(FakeTraceSink sink) {
  fake::traceSink = sink;
}
