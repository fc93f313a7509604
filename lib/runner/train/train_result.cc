#include "lib/runner/train/train_result.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "simdjson.h"

namespace feedrate {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

absl::Status Garbage(absl::string_view line, absl::string_view why) {
  return absl::DataLossError(
      absl::StrCat("answered \"", line.substr(0, 60), "\", which ", why));
}

std::string TextOf(const object& json, const char* name) {
  std::string_view value;
  if (json[name].get(value) != simdjson::SUCCESS) return "";
  return std::string(value);
}

double NumberOf(const object& json, const char* name) {
  double value = 0;
  if (json[name].get(value) != simdjson::SUCCESS) return 0;
  return value;
}

std::vector<double> NumbersOf(const object& json, const char* name) {
  std::vector<double> numbers;
  simdjson::dom::array array;
  if (json[name].get(array) != simdjson::SUCCESS) return numbers;
  for (const element value : array) {
    double number = 0;
    if (value.get(number) != simdjson::SUCCESS || !std::isfinite(number)) {
      return {};
    }
    numbers.push_back(number);
  }
  return numbers;
}

template <typename T>
std::map<std::string, T> MapOf(const object& json, const char* name) {
  std::map<std::string, T> map;
  object inner;
  if (json[name].get(inner) != simdjson::SUCCESS) return map;
  for (const auto field : inner) {
    double number = 0;
    if (field.value.get(number) == simdjson::SUCCESS) {
      map[std::string(field.key)] = static_cast<T>(number);
    }
  }
  return map;
}

void ReadProfile(const object& json, TrainResult* result) {
  simdjson::dom::array array;
  if (json["kernels"].get(array) == simdjson::SUCCESS) {
    for (const element value : array) {
      object kernel;
      if (value.get(kernel) != simdjson::SUCCESS) continue;
      result->kernels.push_back(
          {TextOf(kernel, "name"), NumberOf(kernel, "total_s"),
           static_cast<int64_t>(NumberOf(kernel, "calls"))});
    }
  }
  if (json["traces"].get(array) == simdjson::SUCCESS) {
    for (const element value : array) {
      std::string_view file;
      if (value.get(file) == simdjson::SUCCESS) {
        result->traces.emplace_back(file);
      }
    }
  }
}

TrainResult ReadResult(const object& json) {
  TrainResult result;
  result.version = TextOf(json, "version");
  result.wall_s = NumberOf(json, "wall_s");
  result.steps_s = NumbersOf(json, "steps_s");
  result.phases = MapOf<double>(json, "phases");
  result.losses = NumbersOf(json, "losses");
  result.grad_norms = NumbersOf(json, "grad_norms");
  result.memory_peak_bytes =
      static_cast<int64_t>(NumberOf(json, "memory_peak_bytes"));
  result.memory_reserved_bytes =
      static_cast<int64_t>(NumberOf(json, "memory_reserved_bytes"));
  result.matmul_flops = NumberOf(json, "matmul_flops");
  result.copy_bytes = NumberOf(json, "copy_bytes");
  result.matmul_types = MapOf<int64_t>(json, "matmul_types");
  double gpu_use = -1;
  if (json["gpu_use"].get(gpu_use) == simdjson::SUCCESS) {
    result.gpu_use = gpu_use;
  }
  result.storage = TextOf(json, "storage");
  result.files = static_cast<int64_t>(NumberOf(json, "files"));
  result.file_bytes = static_cast<int64_t>(NumberOf(json, "file_bytes"));
  ReadProfile(json, &result);
  return result;
}

bool IsWhole(const TrainResult& result) {
  if (result.steps_s.empty() || result.wall_s <= 0) return false;
  for (const double step : result.steps_s) {
    if (!(step > 0)) return false;
  }
  return result.losses.size() == result.steps_s.size();
}

}  // namespace

absl::StatusOr<TrainEvent> ParseTrainEvent(absl::string_view line) {
  simdjson::dom::parser parser;
  object json;
  if (parser.parse(simdjson::padded_string(line.data(), line.size()))
          .get(json) != simdjson::SUCCESS) {
    return Garbage(line, "is no JSON object");
  }
  TrainEvent event;
  event.event = TextOf(json, "event");
  event.done = static_cast<int64_t>(NumberOf(json, "done"));
  event.total = static_cast<int64_t>(NumberOf(json, "total"));
  event.error = TextOf(json, "error");
  event.kind = TextOf(json, "kind");
  if (event.event == "result") {
    event.result = ReadResult(json);
    if (!IsWhole(event.result)) {
      return Garbage(line, "has not one time and one loss a step");
    }
  } else if (event.event == "answers") {
    event.result.answers = std::string(line);
  } else if (event.event != "ready" && event.event != "progress" &&
             event.event != "error") {
    return Garbage(line, "is no event of a training");
  }
  return event;
}

}  // namespace feedrate
