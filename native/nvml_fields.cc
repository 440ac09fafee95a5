#include "nvml_fields.h"

#include "nvml_library.h"

namespace p2p {

namespace {

constexpr const char* kCall = "nvmlDeviceGetFieldValues";

double numberOf(const nvml::FieldValue& field) {
  switch (field.valueType) {
    case nvml::kValueDouble:
      return field.value.asDouble;
    case nvml::kValueUnsignedInt:
      return field.value.asUnsigned;
    case nvml::kValueUnsignedLong:
      return static_cast<double>(field.value.asUnsignedLong);
    case nvml::kValueUnsignedLongLong:
      return static_cast<double>(field.value.asUnsignedLongLong);
    case nvml::kValueSignedLongLong:
      return static_cast<double>(field.value.asLongLong);
    case nvml::kValueSignedInt:
      return field.value.asInt;
    case nvml::kValueUnsignedShort:
      return field.value.asUnsignedShort;
  }
  return 0;
}

}  // namespace

std::size_t FieldQuery::add(nvml::Field field, unsigned scope) {
  nvml::FieldValue value{};
  value.fieldId = field;
  value.scopeId = scope;
  // A library that leaves an entry alone has not told anything.
  value.result = nvml::kNoData;
  values_.push_back(value);
  return values_.size() - 1;
}

void FieldQuery::run(nvml::Device device) {
  const auto& entries = nvmlEntryPoints();
  if (values_.empty()) return;
  result_ = entries.nvmlDeviceGetFieldValues
                ? entries.nvmlDeviceGetFieldValues(device, static_cast<int>(values_.size()), values_.data())
                : static_cast<nvml::Result>(nvml::kFunctionNotFound);
}

Reading<double> FieldQuery::at(std::size_t index) const {
  if (result_ != nvml::kSuccess) return unread<double>(kCall, result_);
  const nvml::FieldValue& value = values_[index];
  if (value.result != nvml::kSuccess) return unread<double>(kCall, value.result);
  return {numberOf(value), {}};
}

}  // namespace p2p
