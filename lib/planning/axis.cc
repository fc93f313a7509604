#include "lib/planning/axis.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/config/run_config.pb.h"

namespace feedrate {
namespace {

template <typename Int, typename Setter>
absl::Status SetInt(const std::string& value, Setter set) {
  Int number;
  if (!absl::SimpleAtoi(value, &number)) {
    absl::string_view digits = value;
    absl::ConsumePrefix(&digits, "-");
    const bool whole =
        !digits.empty() &&
        std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit);
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", value,
        whole ? "\" is out of range" : "\" is not a whole number"));
  }
  set(number);
  return absl::OkStatus();
}

struct Axis {
  const char* name;
  const char* field;
  absl::Status (*set)(const std::string& value, RunConfig* config);
};

constexpr Axis kAxes[] = {
    {"workers", "execution.workers",
     [](const std::string& value, RunConfig* config) {
       return SetInt<int32_t>(value, [&](int32_t n) {
         config->mutable_execution()->set_workers(n);
       });
     }},
    {"batch_size", "execution.batch_size",
     [](const std::string& value, RunConfig* config) {
       return SetInt<int32_t>(value, [&](int32_t n) {
         config->mutable_execution()->set_batch_size(n);
       });
     }},
    {"num_items", "data.num_items",
     [](const std::string& value, RunConfig* config) {
       return SetInt<int64_t>(
           value, [&](int64_t n) { config->mutable_data()->set_num_items(n); });
     }},
    {"seed", "execution.seed",
     [](const std::string& value, RunConfig* config) {
       return SetInt<int64_t>(
           value, [&](int64_t n) { config->mutable_execution()->set_seed(n); });
     }},
    {"device", "execution.device",
     [](const std::string& value, RunConfig* config) {
       config->mutable_execution()->set_device(value);
       return absl::OkStatus();
     }},
    {"scope", "execution.scope",
     [](const std::string& value, RunConfig* config) {
       config->mutable_execution()->set_scope(value);
       return absl::OkStatus();
     }},
    {"thread_policy", "execution.thread_policy",
     [](const std::string& value, RunConfig* config) {
       config->mutable_execution()->set_thread_policy(value);
       return absl::OkStatus();
     }},
    {"params_profile", "selection.params_profile",
     [](const std::string& value, RunConfig* config) {
       config->mutable_selection()->set_params_profile(value);
       return absl::OkStatus();
     }},
};

const Axis* Find(absl::string_view name) {
  for (const Axis& axis : kAxes) {
    if (name == axis.name) return &axis;
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> FieldAxes() {
  std::vector<std::string> names;
  for (const Axis& axis : kAxes) names.push_back(axis.name);
  return names;
}

std::string FieldOfAxis(absl::string_view axis) {
  const Axis* found = Find(axis);
  return found == nullptr ? "" : found->field;
}

absl::Status SetAxis(absl::string_view axis, const std::string& value,
                     RunConfig* config) {
  return Find(axis)->set(value, config);
}

}  // namespace feedrate
