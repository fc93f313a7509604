#include "lib/reference/arguments.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace feedrate {

using View = absl::string_view;

Arguments::Arguments(View op, const std::vector<std::string>& params)
    : op_(op) {
  for (const std::string& param : params) {
    const size_t equals = param.find('=');
    if (equals == std::string::npos) {
      Complain(absl::StrCat("\"", param, "\" is not NAME=VALUE"));
      continue;
    }
    values_[param.substr(0, equals)] = param.substr(equals + 1);
  }
}

double Arguments::Number(View name) {
  const std::string* text = Find(name);
  return text == nullptr ? 0 : ParseNumber(name, *text);
}

double Arguments::NumberOr(View name, double fallback) {
  return values_.count(std::string(name)) == 0 ? fallback : Number(name);
}

int Arguments::Integer(View name) {
  const double number = Number(name);
  if (number != std::floor(number) || std::abs(number) > 1e6) {
    Complain(absl::StrCat(name, " is not a whole number"));
    return 0;
  }
  return static_cast<int>(number);
}

std::vector<double> Arguments::Numbers(View name, size_t size) {
  std::vector<double> numbers(size);
  const std::string* text = Find(name);
  if (text == nullptr) return numbers;
  View inside = *text;
  if (!absl::ConsumePrefix(&inside, "(") ||
      !absl::ConsumeSuffix(&inside, ")")) {
    Complain(absl::StrCat(name, " is not of the form (a,b,...)"));
    return numbers;
  }
  const std::vector<View> parts = absl::StrSplit(inside, ',');
  if (parts.size() != size) {
    Complain(absl::StrCat(name, " has ", parts.size(), " numbers instead of ",
                          size));
    return numbers;
  }
  for (size_t i = 0; i < size; ++i) numbers[i] = ParseNumber(name, parts[i]);
  return numbers;
}

std::string Arguments::Word(View name, const std::vector<std::string>& known) {
  const std::string* text = Find(name);
  if (text == nullptr) return "";
  if (std::find(known.begin(), known.end(), *text) == known.end()) {
    Complain(absl::StrCat(name, " is \"", *text, "\" instead of one of ",
                          absl::StrJoin(known, ", ")));
  }
  return *text;
}

absl::Status Arguments::Finish() const {
  if (!status_.ok()) return status_;
  for (const auto& value : values_) {
    if (read_.count(value.first) == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "reference ", op_, " has no parameter \"", value.first, "\""));
    }
  }
  return absl::OkStatus();
}

void Arguments::Complain(View problem) {
  status_.Update(absl::InvalidArgumentError(
      absl::StrCat("reference ", op_, ": ", problem)));
}

const std::string* Arguments::Find(View name) {
  const auto found = values_.find(std::string(name));
  if (found == values_.end()) {
    Complain(absl::StrCat(name, " is missing"));
    return nullptr;
  }
  read_.insert(found->first);
  return &found->second;
}

double Arguments::ParseNumber(View name, View text) {
  double number = 0;
  if (!absl::SimpleAtod(text, &number) || !std::isfinite(number)) {
    Complain(absl::StrCat(name, " has \"", text, "\", which is no number"));
    return 0;
  }
  return number;
}

}  // namespace feedrate
