#include "lib/runner/eval/probe.h"

#include <regex>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "simdjson.h"

namespace feedrate {
namespace {

std::string TextOf(const simdjson::dom::object& json, const char* name) {
  std::string_view value;
  if (json[name].get(value) != simdjson::SUCCESS) return "";
  return std::string(value);
}

absl::StatusOr<ProbeItem> ParseItem(absl::string_view line) {
  simdjson::dom::parser parser;
  simdjson::dom::object json;
  if (parser.parse(simdjson::padded_string(line.data(), line.size()))
          .get(json) != simdjson::SUCCESS) {
    return absl::InvalidArgumentError("is no JSON object");
  }
  ProbeItem item;
  item.prompt = TextOf(json, "prompt");
  item.answer = TextOf(json, "answer");
  item.pattern = TextOf(json, "pattern");
  if (item.prompt.empty()) {
    return absl::InvalidArgumentError("has no `prompt`");
  }
  if (item.answer.empty() == item.pattern.empty()) {
    return absl::InvalidArgumentError(
        "needs either an `answer` or a `pattern`");
  }
  try {
    std::regex(item.pattern);
  } catch (const std::regex_error& e) {
    return absl::InvalidArgumentError(absl::StrCat(
        "`pattern` is no regular expression: ", std::string(e.what())));
  }
  return item;
}

}  // namespace

absl::StatusOr<Probe> ParseProbe(absl::string_view text,
                                 const std::string& file) {
  Probe probe;
  probe.name = std::string(absl::StripSuffix(BaseName(file), ".jsonl"));
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    absl::StatusOr<ProbeItem> item = ParseItem(line);
    if (!item.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, ":", number, ": ", item.status().message()));
    }
    probe.items.push_back(*std::move(item));
  }
  if (probe.items.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": has no question"));
  }
  return probe;
}

bool IsRight(const ProbeItem& item, const std::string& answer) {
  const std::string stripped(absl::StripAsciiWhitespace(answer));
  if (item.pattern.empty()) return stripped == item.answer;
  return std::regex_match(stripped, std::regex(item.pattern));
}

ProbeResult ScoreProbe(const Probe& probe,
                       const std::vector<std::string>& answers) {
  ProbeResult result;
  result.set_name(probe.name);
  result.set_items(static_cast<int64_t>(probe.items.size()));
  int64_t correct = 0;
  for (size_t i = 0; i < probe.items.size(); ++i) {
    correct += IsRight(probe.items[i], answers[i]) ? 1 : 0;
    result.add_answers(answers[i]);
  }
  result.set_correct(correct);
  result.set_accuracy(100.0 * static_cast<double>(correct) /
                      static_cast<double>(probe.items.size()));
  return result;
}

}  // namespace feedrate
