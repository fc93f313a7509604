#include <cmath>
#include <cstdint>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/analysis/rows/fields.h"
#include "lib/records/json.h"
#include "simdjson.h"

namespace feedrate {
namespace {

absl::Status NotAValue(absl::string_view json) {
  return absl::InvalidArgumentError(
      absl::StrCat("expected text, a number, true, false or a list of text, "
                   "found ",
                   json.substr(0, 40)));
}

// What `null` is: absent, but not 0.
Value Null() {
  Value value;
  value.number = std::nan("");
  return value;
}

// Parses JSON that needs a full parser: escapes, lists, unusual numbers.
absl::StatusOr<Value> ParseSlowly(absl::string_view json) {
  // A new one would allocate for its deepest nesting each time.
  thread_local simdjson::dom::parser parser;
  simdjson::dom::element element;
  const simdjson::padded_string padded(json.data(), json.size());
  if (parser.parse(padded).get(element) != simdjson::SUCCESS) {
    return NotAValue(json);
  }
  std::string_view text;
  if (element.get(text) == simdjson::SUCCESS) {
    return TextValue(absl::string_view(text.data(), text.size()));
  }
  double number;
  if (element.get(number) == simdjson::SUCCESS) return NumberValue(number);
  bool truth;
  if (element.get(truth) == simdjson::SUCCESS) return TruthValue(truth);
  if (element.is_null()) return Null();
  simdjson::dom::array array;
  if (element.get(array) != simdjson::SUCCESS) return NotAValue(json);
  Value list;
  list.kind = Value::Kind::kList;
  for (const simdjson::dom::element item : array) {
    if (item.get(text) != simdjson::SUCCESS) return NotAValue(json);
    list.list.emplace_back(text);
  }
  return list;
}

}  // namespace

Value NumberValue(double number) {
  Value value;
  value.kind = Value::Kind::kNumber;
  value.number = number;
  return value;
}

Value TextValue(absl::string_view text) {
  Value value;
  value.kind = Value::Kind::kText;
  value.text = std::string(text);
  return value;
}

Value NumberOrText(absl::string_view text) {
  double number;
  if (absl::SimpleAtod(text, &number) && !std::isnan(number)) {
    return NumberValue(number);
  }
  return TextValue(text);
}

Value TruthValue(bool truth) {
  Value value;
  value.kind = Value::Kind::kTruth;
  value.truth = truth;
  return value;
}

absl::StatusOr<Value> ParseValue(absl::string_view json) {
  if (json.empty()) return Value();
  return ParseSlowly(json);
}

std::string ValueText(const Value& value) {
  std::string text;
  switch (value.kind) {
    case Value::Kind::kAbsent:
      break;
    case Value::Kind::kNumber:
      // Prints whole numbers as such: 256, never 2.56e+02.
      if (std::abs(value.number) < 1e15 &&
          value.number == std::trunc(value.number)) {
        text = absl::StrCat(static_cast<int64_t>(value.number));
      } else {
        AppendJsonDouble(value.number, &text);
      }
      break;
    case Value::Kind::kText:
      text = value.text;
      break;
    case Value::Kind::kTruth:
      text = value.truth ? "true" : "false";
      break;
    case Value::Kind::kList:
      text = absl::StrJoin(value.list, ",");
      break;
  }
  return text.empty() ? "-" : text;
}

void AppendKey(absl::string_view text, std::string* key) {
  absl::StrAppend(key, text.size(), ":", text);
}

bool ValueLess(const Value& a, const Value& b) {
  const auto rank = [](const Value& value) {
    return value.kind == Value::Kind::kAbsent   ? 0
           : value.kind == Value::Kind::kNumber ? 1
                                                : 2;
  };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  if (a.kind == Value::Kind::kNumber) return a.number < b.number;
  return ValueText(a) < ValueText(b);
}

}  // namespace feedrate
