#include "fake_nvml_values.h"

#include <cstdio>
#include <cstdlib>
#include <map>

#include "fake_gpus.h"
#include "fake_settings.h"

namespace fake::nvml {

namespace {

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> list;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    if (end > at) list.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return list;
}

// `[GPU/]KEY[:LINK]=VALUE[@N]`: the value from its Nth reading on.
struct Rule {
  std::string gpu;
  std::string key;
  unsigned long long value = 0;
  long from = 1;
};

std::vector<Rule> rulesOf(const std::string& text) {
  std::vector<Rule> rules;
  for (const std::string& word : words(text)) {
    Rule rule;
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) continue;
    const std::size_t slash = word.find('/');
    if (slash != std::string::npos && slash < equals) rule.gpu = word.substr(0, slash);
    const std::size_t start = rule.gpu.empty() ? 0 : slash + 1;
    rule.key = word.substr(start, equals - start);
    rule.value = std::strtoull(word.c_str() + equals + 1, nullptr, 0);
    const std::size_t at = word.find('@', equals);
    if (at != std::string::npos) rule.from = std::strtol(word.c_str() + at + 1, nullptr, 10);
    rules.push_back(rule);
  }
  return rules;
}

// What the environment sets, and how often each value and call was asked for.
struct Orders {
  std::vector<Rule> values = rulesOf(setting("P2PLAB_FAKE_NVML"));
  std::vector<Rule> failures = rulesOf(setting("P2PLAB_FAKE_NVML_FAIL"));
  std::map<std::string, long> readings;
};

Orders& orders() {
  static Orders& once = *new Orders();
  return once;
}

const std::map<std::string, unsigned long long>& defaults() {
  static const auto& once = *new std::map<std::string, unsigned long long>{
      {"uuid", 1},
      {"smClock", 1980},
      {"memoryClock", 2619},
      {"maxSmClock", 1980},
      {"maxMemoryClock", 2619},
      {"events", 0},
      {"temperature", 35},
      {"power", 90000},
      {"powerLimit", 700000},
      {"state", 0},
      {"pcieGeneration", 5},
      {"pcieWidth", 16},
      {"maxPcieGeneration", 5},
      {"maxPcieWidth", 16},
      {"pcieReplays", 0},
      {"pcieTx", 0},
      {"pcieRx", 0},
      {"ecc", 0},
      {"eccMode", 1},
      {"own", 1},
      {"foreign", 0},
      {"persistence", 1},
      {"computeMode", 0},
      {"mig", mig()},
      {"bar1", 1ull << 38},
      {"display", 0},
      {"virtualization", 0},
      {"fabric", 3},
      {"fabricStatus", 0},
      {"links", 18},
      {"active", 1},
      {"speed", 26562},
      {"version", 6},
      {"remote", 2},
      {"replay", 0},
      {"recovery", 0},
      {"crc", 0},
      {"tx", 0},
      {"rx", 0},
      {"topology", 50},
  };
  return once;
}

}  // namespace

Library::Library() {
  for (int place = 0; place < machineCount(); ++place) devices.push_back({place, false});
}

Library& library() {
  static Library& once = *new Library();
  return once;
}

unsigned long long valueOf(int gpu, const std::string& key, int link) {
  return valueOr(gpu, key, defaults().at(key), link);
}

unsigned long long valueOr(int gpu, const std::string& key, unsigned long long usual, int link) {
  const std::string number = std::to_string(gpu);
  const std::string ofLink = key + ":" + std::to_string(link);
  const long times = ++orders().readings[number + "/" + (link < 0 ? key : ofLink)];
  unsigned long long value = usual;
  for (const Rule& rule : orders().values) {
    if (!rule.gpu.empty() && rule.gpu != number) continue;
    if (rule.key != key && (link < 0 || rule.key != ofLink)) continue;
    if (times >= rule.from) value = rule.value;
  }
  return value;
}

// `*` is every call but nvmlInit, `values` every call but those before a GPU is found.
Result failing(const std::string& name) {
  const bool early = name == "nvmlInit_v2" || name.find("Version") != std::string::npos ||
                     name.find("Handle") != std::string::npos;
  const long times = ++orders().readings[name];
  for (const Rule& rule : orders().failures) {
    const bool meant =
        rule.key == name || (rule.key == "*" && name != "nvmlInit_v2") || (rule.key == "values" && !early);
    if (meant && times >= rule.from) return static_cast<Result>(rule.value);
  }
  return kSuccess;
}

unsigned busOf(int gpu) {
  return static_cast<unsigned>(pciBus(gpu));
}

void address(PciInfo* pci, unsigned bus) {
  *pci = {};
  pci->bus = bus;
  std::snprintf(pci->busId, sizeof pci->busId, "00000000:%02X:00.0", bus);
  std::snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "0000:%02X:00.0", bus);
}

}  // namespace fake::nvml
