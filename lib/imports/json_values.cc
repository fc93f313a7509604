#include "lib/imports/json_values.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/imports/harnesses.h"
#include "lib/records/repeated_keys.h"
#include "lib/records/row.pb.h"
#include "simdjson.h"

namespace feedrate {

using ::simdjson::dom::array;
using ::simdjson::dom::element;
using ::simdjson::dom::key_value_pair;
using ::simdjson::dom::object;

namespace {

// The line of the first bracket that is not closed or not opened, or of an
// unfinished string; 0 if there is none.
size_t BrokenLine(absl::string_view text) {
  std::string open;
  size_t line = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) {
        if (text[i] == '\n') return line;
        if (text[i] == '\\') ++i;
      }
      if (i >= text.size()) return line;
    } else if (c == '{' || c == '[') {
      open += c == '{' ? '}' : ']';
    } else if (c == '}' || c == ']') {
      if (open.empty() || open.back() != c) return line;
      open.pop_back();
    }
  }
  return open.empty() ? 0 : line;
}

// Numbers that JSON does not have.
constexpr const char* kNumberWords[] = {"-Infinity", "Infinity", "-NaN", "NaN",
                                        "-nan",      "nan",      "-inf", "inf"};

bool IsNumberWord(std::string_view text) {
  return std::find(std::begin(kNumberWords), std::end(kNumberWords), text) !=
         std::end(kNumberWords);
}

// A value as a message shows it.
std::string Shown(const element& value) {
  const std::string text = simdjson::minify(value);
  return text.size() <= 40 ? text : absl::StrCat(text.substr(0, 37), "…");
}

// The values of a list, which may be null.
std::vector<element> ItemsOf(const element& value, absl::string_view name,
                             RowSink* sink) {
  std::vector<element> items;
  array list;
  if (value.get(list) == simdjson::SUCCESS) {
    for (const element item : list) items.push_back(item);
  } else if (!value.is_null()) {
    sink->Refuse(absl::StrCat("\"", name, "\" is ", Shown(value),
                              ", which is not a list"));
  }
  return items;
}

// The text with words that JSON does not have as strings.
std::string QuoteWords(absl::string_view text) {
  std::string quoted;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\' && i + 1 < text.size()) {
      quoted += c;
      quoted += text[++i];
      continue;
    }
    if (c == '"') in_string = !in_string;
    absl::string_view word;
    for (const char* known : kNumberWords) {
      if (!in_string && c != '"' && absl::StartsWith(text.substr(i), known)) {
        word = known;
        break;
      }
    }
    if (word.empty()) {
      quoted += c;
      continue;
    }
    absl::StrAppend(&quoted, "\"", word, "\"");
    i += word.size() - 1;
  }
  return quoted;
}

}  // namespace

absl::Status ParseJson(absl::string_view content, const RowSink& sink,
                       absl::string_view place, simdjson::dom::parser* parser,
                       element* parsed) {
  const bool is_padded = content.data() + content.size() == sink.padded_end();
  auto error =
      parser->parse(content.data(), content.size(), !is_padded).get(*parsed);
  if (error != simdjson::SUCCESS) {
    const std::string quoted = QuoteWords(content);
    error = parser->parse(quoted.data(), quoted.size(), true).get(*parsed);
  }
  const std::string at = absl::StrCat(place, place.empty() ? "" : ": ");
  if (error == simdjson::SUCCESS) {
    const std::string repeated = FindRepeatedKey(*parsed);
    if (repeated.empty()) return absl::OkStatus();
    return sink.Error(absl::StrCat(at, repeated),
                      "is there twice; which one counts?");
  }
  const size_t line = BrokenLine(content);
  return sink.Error(
      line > 0 ? absl::StrCat(at, "line ", line) : std::string(place),
      absl::StrCat("broken JSON (", simdjson::error_message(error),
                   "); the file may be half-written"));
}

bool Has(const object& json, absl::string_view key, element* found) {
  return json.at_key(std::string_view(key.data(), key.size())).get(*found) ==
         simdjson::SUCCESS;
}

std::string Text(const object& json, absl::string_view key) {
  element found;
  std::string_view text;
  if (!Has(json, key, &found) || found.get(text) != simdjson::SUCCESS) {
    return "";
  }
  return std::string(text);
}

double NumberOf(const element& value) {
  double number;
  return value.get(number) == simdjson::SUCCESS ? number : std::nan("");
}

double NumberOf(const element& value, absl::string_view name, RowSink* sink) {
  double number;
  if (value.get(number) == simdjson::SUCCESS) return number;
  std::string_view text;
  const bool is_word =
      value.get(text) == simdjson::SUCCESS && IsNumberWord(text);
  if (!value.is_null() && !is_word) {
    sink->Refuse(absl::StrCat("\"", name, "\" is ", Shown(value),
                              ", which is not a number"));
  }
  return std::nan("");
}

double Number(const object& json, absl::string_view key, RowSink* sink) {
  element found;
  return Has(json, key, &found) ? NumberOf(found, key, sink) : std::nan("");
}

std::string PlainText(const element& value) {
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) return std::string(text);
  return simdjson::minify(value);
}

object ObjectAt(const object& json, absl::string_view key, bool* found) {
  element value;
  object inner;
  *found = Has(json, key, &value) && value.get(inner) == simdjson::SUCCESS;
  return inner;
}

array ArrayAt(const object& json, absl::string_view key, bool* found) {
  element value;
  array inner;
  *found = Has(json, key, &value) && value.get(inner) == simdjson::SUCCESS;
  return inner;
}

std::vector<double> NumbersOf(const element& value, absl::string_view name,
                              RowSink* sink) {
  std::vector<double> numbers;
  array list;
  if (value.get(list) != simdjson::SUCCESS) {
    ItemsOf(value, name, sink);
    return numbers;
  }
  for (const element item : list) {
    const double number = NumberOf(item);
    if (!std::isfinite(number)) {
      sink->Refuse(absl::StrCat("\"", name, "\"[", numbers.size(), "] is ",
                                Shown(item), ", which is not a number"));
      return {};
    }
    numbers.push_back(number);
  }
  return numbers;
}

std::vector<double> Numbers(const object& json, absl::string_view key,
                            RowSink* sink) {
  element found;
  return Has(json, key, &found) ? NumbersOf(found, key, sink)
                                : std::vector<double>();
}

absl::StatusOr<std::vector<PlacedObject>> ObjectsAt(const object& json,
                                                    absl::string_view key,
                                                    absl::string_view place,
                                                    const RowSink& sink) {
  bool found;
  const array list = ArrayAt(json, key, &found);
  if (!found) {
    return sink.Error(place, absl::StrCat(place.empty() ? "" : "has ",
                                          "no list \"", key, "\""));
  }
  return ObjectsOf(list, absl::StrCat(place, place.empty() ? "" : ".", key),
                   sink);
}

absl::StatusOr<std::vector<PlacedObject>> ObjectsOf(const array& list,
                                                    absl::string_view place,
                                                    const RowSink& sink) {
  std::vector<PlacedObject> objects;
  for (const element entry : list) {
    objects.emplace_back(absl::StrCat(place, "[", objects.size(), "]"),
                         object());
    if (entry.get(objects.back().second) != simdjson::SUCCESS) {
      return sink.Error(objects.back().first, "is not an object");
    }
  }
  return objects;
}

void AddSettings(const object& json, absl::string_view key, Row* row) {
  for (const auto& [name, value] : FieldsOf(json, key)) {
    (*row->mutable_settings())[std::string(name)] = PlainText(value);
  }
}

std::string CoresText(double count) {
  return count >= 1 && count < 1e6 ? absl::StrCat(std::floor(count), "c") : "";
}

std::vector<key_value_pair> FieldsOf(const object& json,
                                     absl::string_view key) {
  bool found;
  const object inner = ObjectAt(json, key, &found);
  std::vector<key_value_pair> fields;
  if (!found) return fields;
  for (const key_value_pair field : inner) fields.push_back(field);
  return fields;
}

std::vector<element> ItemsOf(const object& json, absl::string_view key,
                             RowSink* sink) {
  element found;
  return Has(json, key, &found) ? ItemsOf(found, key, sink)
                                : std::vector<element>();
}

std::vector<object> ObjectItems(const object& json, absl::string_view key,
                                RowSink* sink) {
  std::vector<object> objects;
  for (const element& item : ItemsOf(json, key, sink)) {
    object one;
    if (item.get(one) != simdjson::SUCCESS) {
      sink->Refuse(
          absl::StrCat("\"", key, "\"[", objects.size(), "] is not an object"));
      return {};
    }
    objects.push_back(one);
  }
  return objects;
}

int64_t CountOf(double number) {
  return number >= 1 && number < 9e15 ? static_cast<int64_t>(number) : 0;
}

absl::Status ReadJson(const std::string& harness, absl::string_view content,
                      RowSink* sink) {
  if (harness == "criterion") {
    const std::string path = ParentFolder(sink->name());
    std::string benchmark;
    const std::string beside = JoinPath(path, "benchmark.json");
    if (sink->may_read_files() && PlainFileBytes(beside).ok()) {
      ASSIGN_OR_RETURN(benchmark, ReadFile(beside));
    }
    const bool is_sample = absl::StrContains(content, "\"iters\"");
    return ReadCriterion(path, benchmark, is_sample ? "" : content,
                         is_sample ? content : "", sink);
  }
  simdjson::dom::parser parser;
  element parsed;
  RETURN_IF_ERROR(ParseJson(content, *sink, "", &parser, &parsed));
  array list;
  object file;
  if (harness == "jmh") {
    if (parsed.get(list) != simdjson::SUCCESS) {
      return sink->Error("", "not a list of JMH's results");
    }
    return ReadJmh(list, sink);
  }
  if (parsed.get(file) != simdjson::SUCCESS) {
    return sink->Error("", absl::StrCat("not a result of ", harness));
  }
  if (harness == "google_benchmark") return ReadGoogle(file, sink);
  if (harness == "pytest_benchmark") return ReadPytest(file, sink);
  if (harness == "pyperf") return ReadPyperf(file, sink);
  if (harness == "hyperfine") return ReadHyperfine(file, sink);
  if (harness == "nvbench") return ReadNvbench(file, sink);
  return ReadAsv(file, sink);
}

}  // namespace feedrate
