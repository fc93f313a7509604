#include "lib/runner/eval/expectation.h"

#include <cmath>
#include <map>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/text.h"
#include "lib/records/json.h"
#include "simdjson.h"

namespace feedrate {

std::vector<EvalNumber> EvalNumbers(const Eval& eval) {
  std::vector<EvalNumber> numbers = {{"perplexity", eval.perplexity()},
                                     {"loss", eval.loss()},
                                     {"bits_per_byte", eval.bits_per_byte()},
                                     {"probe_accuracy", eval.probe_accuracy()}};
  for (const ProbeResult& probe : eval.probes()) {
    numbers.push_back(
        {absl::StrCat("probes.", probe.name()), probe.accuracy()});
  }
  return numbers;
}

absl::StatusOr<std::vector<std::string>> CompareWithExpectation(
    const Eval& eval, absl::string_view text, const std::string& file) {
  simdjson::dom::parser parser;
  simdjson::dom::object json;
  if (parser.parse(simdjson::padded_string(text.data(), text.size()))
          .get(json) != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": is no JSON object"));
  }
  std::map<std::string, double> known;
  std::vector<std::string> names;
  for (const EvalNumber& number : EvalNumbers(eval)) {
    known[number.name] = number.value;
    names.push_back(number.name);
  }
  std::vector<std::string> differences;
  for (const auto field : json) {
    const std::string name(field.key);
    double value = 0;
    double tolerance = 0;
    if (field.value["value"].get(value) != simdjson::SUCCESS ||
        field.value["tolerance"].get(tolerance) != simdjson::SUCCESS ||
        !(tolerance >= 0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          file, ": \"", name, "\" needs a `value` and a `tolerance`"));
    }
    if (known.count(name) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, ": \"", name, "\" is no number of an evaluation",
                       DidYouMean(name, names)));
    }
    // Not `>`: what is no number at all is never as expected.
    if (!(std::abs(known[name] - value) <= tolerance)) {
      differences.push_back(
          absl::StrFormat("%s is %.6g, expected %.6g within %.6g", name,
                          known[name], value, tolerance));
    }
  }
  return differences;
}

std::string EvalJson(const Eval& eval, const std::string& machine_profile) {
  std::string json = "{\n  \"machine_profile\": ";
  AppendJsonString(machine_profile, &json);
  absl::StrAppend(&json, ",\n  \"model\": ");
  AppendJsonString(eval.model(), &json);
  for (const EvalNumber& number : EvalNumbers(eval)) {
    absl::StrAppend(&json, ",\n  ");
    AppendJsonString(number.name, &json);
    absl::StrAppend(&json, ": ");
    AppendJsonDouble(number.value, &json);
  }
  return json + "\n}\n";
}

}  // namespace feedrate
