#include "lib/worker/json_line.h"

#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/records/json.h"

namespace feedrate {

void JsonLine::Name(absl::string_view name) {
  if (text_.size() > 1) text_.push_back(',');
  absl::StrAppend(&text_, "\"", name, "\":");
}

void JsonLine::Append(absl::string_view value) {
  AppendJsonString(value, &text_);
}

void JsonLine::Append(int64_t value) { absl::StrAppend(&text_, value); }

void JsonLine::Append(uint64_t value) { absl::StrAppend(&text_, value); }

void JsonLine::Append(bool value) { text_ += value ? "true" : "false"; }

void JsonLine::Append(double value) { AppendJsonDouble(value, &text_); }

void JsonLine::Append(const std::map<std::string, std::string>& values) {
  JsonLine line;
  for (const auto& [name, value] : values) line.Add(name, value);
  text_ += line.Object();
}

JsonLine& JsonLine::Raw(absl::string_view name, absl::string_view json) {
  Name(name);
  absl::StrAppend(&text_, json);
  return *this;
}

std::string JsonLine::Object() {
  text_.push_back('}');
  return std::move(text_);
}

std::string JsonLine::Line() {
  text_.append("}\n");
  return std::move(text_);
}

namespace {

using ::simdjson::dom::array;
using ::simdjson::dom::element;
using ::simdjson::dom::object;

// Enough to recognize what was written instead.
constexpr size_t kShown = 80;

std::string Shown(absl::string_view line) {
  return absl::StrCat("\"", absl::CHexEscape(line.substr(0, kShown)),
                      line.size() > kShown ? "…\"" : "\"");
}

// Returns the text of an exception without its type: `c10::Error: …`,
// `ValueError: …`.
absl::string_view WordsOf(absl::string_view error) {
  const size_t end = error.find(": ");
  if (end == absl::string_view::npos) return error;
  for (const char c : error.substr(0, end)) {
    if (!absl::ascii_isalnum(c) && c != '_' && c != ':') return error;
  }
  // `CUDA: …` is not a type.
  return absl::StartsWith(error, "CUDA") ? error : error.substr(end + 2);
}

// Whether a GPU ran out of memory, as reported by CUDA, libraries on top of it,
// or CV-CUDA.
bool SaysGpuOutOfMemory(absl::string_view error) {
  const absl::string_view words =
      absl::StripLeadingAsciiWhitespace(WordsOf(error));
  const absl::string_view line = words.substr(0, words.find('\n'));
  if (absl::StartsWith(line, "CUDA") &&
      absl::StrContains(line, "out of memory")) {
    return true;
  }
  for (const absl::string_view code :
       {"CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED",
        "NVCV_ERROR_OUT_OF_MEMORY", "cudaErrorMemoryAllocation"}) {
    if (absl::StrContains(line, code)) return true;
  }
  return false;
}

bool SaysOutOfMemory(absl::string_view error) {
  for (const absl::string_view start :
       {"MemoryError", "std::bad_alloc", "OutOfMemoryError",
        "c10::OutOfMemoryError"}) {
    if (absl::StartsWith(error, start)) return true;
  }
  return SaysGpuOutOfMemory(error);
}

template <typename Value>
bool Get(const object& from, std::string_view name, Value* value) {
  return from[name].get(*value) == simdjson::SUCCESS;
}

}  // namespace

bool JsonFields::Has(std::string_view name) const {
  element value;
  return Get(object_, name, &value);
}

absl::Status JsonFields::Read(std::string_view name, std::string* value) const {
  std::string_view text;
  if (!Get(object_, name, &text)) return Missing(name);
  *value = std::string(text);
  return absl::OkStatus();
}

absl::Status JsonFields::Read(std::string_view name, bool* value) const {
  return Get(object_, name, value) ? absl::OkStatus() : Missing(name);
}

absl::Status JsonFields::Read(std::string_view name, int64_t* value) const {
  return Get(object_, name, value) ? absl::OkStatus() : Missing(name);
}

absl::Status JsonFields::Read(std::string_view name, uint64_t* value) const {
  return Get(object_, name, value) ? absl::OkStatus() : Missing(name);
}

absl::Status JsonFields::Read(std::string_view name, int* value) const {
  int64_t wide = 0;
  RETURN_IF_ERROR(Read(name, &wide));
  if (wide < std::numeric_limits<int>::min() ||
      wide > std::numeric_limits<int>::max()) {
    return Missing(name);
  }
  *value = static_cast<int>(wide);
  return absl::OkStatus();
}

absl::Status JsonFields::Read(std::string_view name, double* value) const {
  return Get(object_, name, value) ? absl::OkStatus() : Missing(name);
}

absl::Status JsonFields::ReadAmount(std::string_view name,
                                    int64_t* value) const {
  RETURN_IF_ERROR(Read(name, value));
  return *value >= 0 ? absl::OkStatus() : Missing(name);
}

template <typename Read, typename Value>
absl::Status JsonFields::ReadItems(std::string_view name,
                                   std::vector<Value>* values) const {
  array list;
  if (!Get(object_, name, &list)) return Missing(name);
  values->reserve(list.size());
  values->clear();
  for (const element item : list) {
    Read value;
    if (item.get(value) != simdjson::SUCCESS) return Missing(name);
    values->emplace_back(value);
  }
  return absl::OkStatus();
}

absl::Status JsonFields::Read(std::string_view name,
                              std::vector<std::string>* values) const {
  return ReadItems<std::string_view>(name, values);
}

absl::Status JsonFields::Read(std::string_view name,
                              std::vector<int64_t>* values) const {
  return ReadItems<int64_t>(name, values);
}

absl::Status JsonFields::Read(std::string_view name,
                              std::vector<double>* values) const {
  return ReadItems<double>(name, values);
}

absl::Status JsonFields::Read(
    std::string_view name, std::map<std::string, std::string>* values) const {
  object from;
  if (!Get(object_, name, &from)) return Missing(name);
  for (const simdjson::dom::key_value_pair item : from) {
    std::string_view value;
    if (item.value.get(value) != simdjson::SUCCESS) return Missing(name);
    (*values)[std::string(item.key)] = std::string(value);
  }
  return absl::OkStatus();
}

absl::Status JsonFields::ReadObject(std::string_view name,
                                    JsonFields* fields) const {
  object from;
  if (!Get(object_, name, &from)) return Missing(name);
  *fields = JsonFields(line_, from);
  return absl::OkStatus();
}

absl::Status JsonFields::ReadObjects(std::string_view name,
                                     std::vector<JsonFields>* objects) const {
  std::vector<object> found;
  RETURN_IF_ERROR(ReadItems<object>(name, &found));
  for (const object& from : found) objects->emplace_back(line_, from);
  return absl::OkStatus();
}

absl::Status JsonFields::ReadMessage(google::protobuf::Message* message) const {
  const std::string wrong = ReadUntrusted(object_, message);
  return wrong.empty() ? absl::OkStatus() : Missing(wrong);
}

absl::Status JsonFields::Missing(std::string_view name) const {
  return absl::DataLossError(absl::StrCat(
      "answered without a usable \"", std::string(name), "\": ", Shown(line_)));
}

absl::Status JsonObject::Open(absl::string_view line) {
  object found;
  if (parser_.parse(line.data(), line.size()).get(found) != simdjson::SUCCESS) {
    return absl::DataLossError(
        absl::StrCat("wrote garbage instead of an answer: ", Shown(line)));
  }
  JsonFields::operator=(JsonFields(line, found));
  std::string_view error;
  if (!Get(found, "error", &error)) return absl::OkStatus();
  const std::string text(error);
  return SaysOutOfMemory(text) ? absl::ResourceExhaustedError(text)
                               : absl::UnknownError(text);
}

}  // namespace feedrate
