#include "fake_gpus.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "fake_settings.h"

namespace fake {

namespace {

// The place in the machine that one item of CUDA_VISIBLE_DEVICES names: an index, or the beginning of a UUID;
// -1: none.
int placeNamed(const std::string& item) {
  if (item.rfind("GPU-", 0) == 0) {
    for (int place = 0; place < machineCount(); ++place) {
      if (uuidText(uuidOf(place), "GPU-").rfind(item, 0) == 0) return place;
    }
    return -1;
  }
  char* end = nullptr;
  const long index = std::strtol(item.c_str(), &end, 10);
  return end != item.c_str() && *end == '\0' && index >= 0 && index < machineCount() ? static_cast<int>(index)
                                                                                     : -1;
}

std::vector<int> visible() {
  std::vector<int> places;
  const char* const list = std::getenv("CUDA_VISIBLE_DEVICES");
  if (mig()) {
    const bool named = !list || uuidText(migUuid(), "MIG-").rfind(list, 0) == 0 || std::string(list) == "0";
    if (named && machineCount() > 0) places.push_back(0);
    return places;
  }
  if (!list) {
    for (int place = 0; place < machineCount(); ++place) places.push_back(place);
    return places;
  }
  // As the driver reads it: nothing after the first item that names no GPU, and no GPU twice.
  std::stringstream items(list);
  for (std::string item; std::getline(items, item, ',');) {
    const int place = placeNamed(item);
    if (place < 0) break;
    if (std::find(places.begin(), places.end(), place) != places.end()) return {};
    places.push_back(place);
  }
  return places;
}

const std::vector<int>& devices() {
  static const auto& once = *new std::vector<int>(visible());
  return once;
}

UuidBytes all(int value) {
  UuidBytes bytes;
  bytes.fill(static_cast<unsigned char>(value));
  return bytes;
}

}  // namespace

int machineCount() {
  static const int once = static_cast<int>(number("P2PLAB_FAKE_DEVICES", 2));
  return once;
}

int deviceCount() {
  return static_cast<int>(devices().size());
}

int placeOf(int device) {
  return devices()[static_cast<std::size_t>(device)];
}

bool mig() {
  static const bool once = number("P2PLAB_FAKE_MIG", 0) != 0;
  return once;
}

UuidBytes uuidOf(int place) {
  return all(place);
}

UuidBytes migUuid() {
  return all(0xa0);
}

std::string uuidText(const UuidBytes& uuid, const char* prefix) {
  std::string text = prefix;
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    char byte[4];
    std::snprintf(byte, sizeof byte, "%02x", uuid[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += byte;
  }
  return text;
}

int pciBus(int place) {
  return 0x10 + place;
}

}  // namespace fake
