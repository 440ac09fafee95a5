#include "nvml_links.h"

#include "nvml_gpu.h"
#include "nvml_library.h"

namespace p2p {

namespace {

using Metric = LinkSources::Metric;

// Fields that tell a metric, the usual one first.
constexpr nvml::Field kNone = static_cast<nvml::Field>(0);
constexpr std::array<std::array<nvml::Field, 2>, LinkSources::kMetrics> kCandidates = {{
    {nvml::kFieldNvLinkState, kNone},
    {nvml::kFieldNvLinkReplay, kNone},
    {nvml::kFieldNvLinkRecovery, nvml::kFieldNvLinkRecoveryEvents},
    {nvml::kFieldNvLinkCrc, kNone},
    {nvml::kFieldNvLinkRcvErrors, kNone},
    {nvml::kFieldNvLinkDataTxKib, nvml::kFieldNvLinkXmitBytes},
    {nvml::kFieldNvLinkDataRxKib, nvml::kFieldNvLinkRcvBytes},
}};

Reading<bool> activeByCall(nvml::Device device, unsigned link) {
  const auto& entries = nvmlEntryPoints();
  return P2P_NVML_READ(
      int, [](int raw) { return raw != 0; }, nvmlDeviceGetNvLinkState, device, link);
}

Reading<double> errorsByCall(nvml::Device device, unsigned link, nvml::NvLinkErrorCounter counter) {
  const auto& entries = nvmlEntryPoints();
  return P2P_NVML_READ(
      unsigned long long, [](unsigned long long raw) { return static_cast<double>(raw); },
      nvmlDeviceGetNvLinkErrorCounter, device, link, counter);
}

Reading<double> crcByCall(nvml::Device device, unsigned link) {
  Reading<double> flit = errorsByCall(device, link, nvml::kNvLinkErrorCrcFlit);
  const Reading<double> data = errorsByCall(device, link, nvml::kNvLinkErrorCrcData);
  if (!data.value) return data;
  if (flit.value) *flit.value += *data.value;
  return flit;
}

Reading<bool> activeOf(const Reading<double>& state) {
  if (!state.value) return {std::nullopt, state.unread};
  return {*state.value != 0, {}};
}

Reading<double> bytesOf(Reading<double> counted, unsigned field) {
  const bool inKib = field == nvml::kFieldNvLinkDataTxKib || field == nvml::kFieldNvLinkDataRxKib;
  if (counted.value && inKib) *counted.value *= 1024;
  return counted;
}

// `nvmlNvlinkVersion_t` numbers versions in the order they came: 2.2 is the third.
double versionOf(unsigned raw) {
  constexpr std::array<double, 9> kVersions = {0, 1, 2, 2.2, 3, 3.1, 4, 5, 6};
  return raw < kVersions.size() ? kVersions[raw] : raw;
}

std::string deviceTypeOf(int raw) {
  switch (raw) {
    case nvml::kNvLinkGpu:
      return "gpu";
    case nvml::kNvLinkSwitch:
      return "switch";
    case nvml::kNvLinkIbmNpu:
      return "npu";
    default:
      return "unknown";
  }
}

}  // namespace

Reading<double> linkCountOf(nvml::Device device) {
  FieldQuery query;
  const std::size_t at = query.add(nvml::kFieldNvLinkCount);
  query.run(device);
  Reading<double> count = query.at(at);
  if (count.value) {
    if (*count.value > nvml::kMaxLinks) *count.value = nvml::kMaxLinks;
    return count;
  }
  // Older drivers are asked for one link after the other, until there is none of that number.
  unsigned links = 0;
  for (; links < nvml::kMaxLinks; ++links) {
    const Reading<bool> active = activeByCall(device, links);
    if (active.value) continue;
    if (links == 0 && active.unread.result != nvml::kNotSupported &&
        active.unread.result != nvml::kInvalidArgument)
      return {std::nullopt, active.unread};
    break;
  }
  return {static_cast<double>(links), {}};
}

// One link after the other, and only what none before it told: a field that is told takes the driver most of
// a millisecond for each link, one that is not takes nothing.
LinkSources linkSourcesOf(nvml::Device device, unsigned links) {
  LinkSources sources;
  for (unsigned link = 0; link < links; ++link) {
    FieldQuery query;
    std::array<std::array<std::size_t, 2>, LinkSources::kMetrics> asked{};
    for (int metric = 0; metric < LinkSources::kMetrics; ++metric) {
      if (sources.field[metric]) continue;
      for (int candidate = 0; candidate < 2; ++candidate) {
        const nvml::Field field = kCandidates[metric][candidate];
        if (field != kNone) asked[metric][candidate] = query.add(field, link);
      }
    }
    query.run(device);
    for (int metric = 0; metric < LinkSources::kMetrics; ++metric) {
      if (sources.field[metric]) continue;
      for (int candidate = 1; candidate >= 0; --candidate) {
        const nvml::Field field = kCandidates[metric][candidate];
        if (field != kNone && query.at(asked[metric][candidate]).value) sources.field[metric] = field;
      }
    }
  }
  return sources;
}

std::vector<LinkFacts> linkFactsOf(nvml::Device device, unsigned links, const LinkSources& sources) {
  const auto& entries = nvmlEntryPoints();
  FieldQuery query;
  std::vector<std::size_t> speeds;
  std::vector<std::size_t> states;
  for (unsigned link = 0; link < links; ++link) {
    speeds.push_back(query.add(nvml::kFieldNvLinkSpeed, link));
    states.push_back(query.add(nvml::kFieldNvLinkState, link));
  }
  const std::size_t common = query.add(nvml::kFieldNvLinkSpeedCommon);
  query.run(device);
  std::vector<LinkFacts> facts;
  for (unsigned link = 0; link < links; ++link) {
    LinkFacts one;
    one.link = link;
    one.active =
        sources.field[Metric::kActive] ? activeOf(query.at(states[link])) : activeByCall(device, link);
    one.version = P2P_NVML_READ(unsigned, versionOf, nvmlDeviceGetNvLinkVersion, device, link);
    one.speedMBps = query.at(speeds[link]);
    if (!one.speedMBps.value && query.at(common).value && one.active.value.value_or(false))
      one.speedMBps = query.at(common);
    one.remoteType = P2P_NVML_READ(int, deviceTypeOf, nvmlDeviceGetNvLinkRemoteDeviceType, device, link);
    one.remotePci =
        P2P_NVML_READ(nvml::PciInfo, pciTextOf, nvmlDeviceGetNvLinkRemotePciInfo_v2, device, link);
    facts.push_back(std::move(one));
  }
  return facts;
}

LinkQuery::LinkQuery(FieldQuery& query, unsigned links, const LinkSources& sources)
    : query_(query), links_(links), sources_(sources) {
  for (unsigned link = 0; link < links; ++link) {
    for (int metric = 0; metric < LinkSources::kMetrics; ++metric) {
      const unsigned field = sources.field[metric];
      asked_.push_back(field ? query.add(static_cast<nvml::Field>(field), link) : 0);
    }
  }
}

std::vector<LinkCounters> LinkQuery::countersOf(nvml::Device device) const {
  std::vector<LinkCounters> counters(links_);
  for (unsigned link = 0; link < links_; ++link) {
    const auto told = [&](Metric metric) {
      if (sources_.field[metric]) return query_.at(asked_[link * LinkSources::kMetrics + metric]);
      // No field of this GPU tells it; what is not an error counter has no other way.
      return unread<double>("nvmlDeviceGetFieldValues", nvml::kNotSupported);
    };
    const auto known = [&](Metric metric) { return sources_.field[metric] != 0; };
    LinkCounters& one = counters[link];
    one.link = link;
    one.active = known(Metric::kActive) ? activeOf(told(Metric::kActive)) : activeByCall(device, link);
    one.replayErrors =
        known(Metric::kReplay) ? told(Metric::kReplay) : errorsByCall(device, link, nvml::kNvLinkErrorReplay);
    one.recoveryErrors = known(Metric::kRecovery) ? told(Metric::kRecovery)
                                                  : errorsByCall(device, link, nvml::kNvLinkErrorRecovery);
    one.crcErrors = known(Metric::kCrc) ? told(Metric::kCrc) : crcByCall(device, link);
    one.receiveErrors = told(Metric::kReceive);
    one.txBytes = bytesOf(told(Metric::kTx), sources_.field[Metric::kTx]);
    one.rxBytes = bytesOf(told(Metric::kRx), sources_.field[Metric::kRx]);
  }
  return counters;
}

}  // namespace p2p
