// One value of a row's field, of whatever type.
#ifndef FEEDRATE_LIB_ANALYSIS_VALUE_H_
#define FEEDRATE_LIB_ANALYSIS_VALUE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

struct Value {
  enum class Kind { kAbsent, kNumber, kText, kTruth, kList };
  Kind kind = Kind::kAbsent;
  double number = 0;
  bool truth = false;
  std::string text;
  std::vector<std::string> list;
};

Value NumberValue(double number);
Value TextValue(absl::string_view text);
Value TruthValue(bool truth);

// The value that a piece of JSON stands for: text, a number, true or false, a
// list of text; null and "" are absence. InvalidArgument for anything else.
absl::StatusOr<Value> ParseValue(absl::string_view json);

// For tables and keys: numbers in their shortest form, lists with commas, `-`
// for absence and empty text.
std::string ValueText(const Value& value);

// Order of tables: absent first, numbers by size, everything else by text.
bool ValueLess(const Value& a, const Value& b);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_VALUE_H_
