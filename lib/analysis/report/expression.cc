#include "lib/analysis/report/expression.h"

#include <cctype>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/analysis/report/functions.h"
#include "lib/base/status_macros.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

// Brackets deeper than this are a mistake, and must not end in a crash.
constexpr int kMaxDepth = 100;

// Recursive descent; conditions are handed to the filter's own parser.
class Parser {
 public:
  Parser(absl::string_view text, const std::vector<Row>& rows)
      : text_(text), rows_(rows) {}

  absl::StatusOr<double> Run() {
    ASSIGN_OR_RETURN(const double value, Sum(0));
    SkipSpace();
    if (place_ < text_.size()) return Error("expected an operator or the end");
    return value;
  }

 private:
  absl::StatusOr<double> Sum(int depth) {
    ASSIGN_OR_RETURN(double value, Product(depth));
    while (true) {
      if (Take('+')) {
        ASSIGN_OR_RETURN(const double other, Product(depth));
        value += other;
      } else if (Take('-')) {
        ASSIGN_OR_RETURN(const double other, Product(depth));
        value -= other;
      } else {
        return value;
      }
    }
  }

  absl::StatusOr<double> Product(int depth) {
    ASSIGN_OR_RETURN(double value, Factor(depth));
    while (true) {
      if (Take('*')) {
        ASSIGN_OR_RETURN(const double other, Factor(depth));
        value *= other;
      } else if (Take('/')) {
        ASSIGN_OR_RETURN(const double other, Factor(depth));
        if (other == 0) return absl::NotFoundError("a division by zero");
        value /= other;
      } else {
        return value;
      }
    }
  }

  absl::StatusOr<double> Factor(int depth) {
    if (depth > kMaxDepth) return Error("too many brackets");
    if (Take('-')) {
      ASSIGN_OR_RETURN(const double value, Factor(depth + 1));
      return -value;
    }
    if (Take('(')) {
      ASSIGN_OR_RETURN(const double value, Sum(depth + 1));
      if (!Take(')')) return Error("expected `)`");
      return value;
    }
    SkipSpace();
    if (place_ == text_.size()) return Error("expected a number or a function");
    if (std::isalpha(static_cast<unsigned char>(text_[place_])) != 0) {
      return Call();
    }
    return Number();
  }

  absl::StatusOr<double> Number() {
    size_t end = place_;
    while (end < text_.size() &&
           (absl::ascii_isalnum(text_[end]) || text_[end] == '.' ||
            ((text_[end] == '+' || text_[end] == '-') && end > place_ &&
             absl::ascii_tolower(text_[end - 1]) == 'e'))) {
      ++end;
    }
    double value = 0;
    if (!absl::SimpleAtod(text_.substr(place_, end - place_), &value)) {
      return Error("expected a number or a function");
    }
    place_ = end;
    return value;
  }

  absl::StatusOr<double> Call() {
    const size_t start = place_;
    while (place_ < text_.size() &&
           (absl::ascii_isalnum(text_[place_]) || text_[place_] == '_')) {
      ++place_;
    }
    const std::string name(text_.substr(start, place_ - start));
    if (!Take('(')) return Error(absl::StrCat("expected `(` after ", name));
    ASSIGN_OR_RETURN(const std::vector<std::string> arguments, Arguments());
    const absl::StatusOr<double> value = CallFunction(name, arguments, rows_);
    if (absl::IsInvalidArgument(value.status())) {
      place_ = start;
      return Error(value.status().message());
    }
    return value;
  }

  // Up to the closing bracket, split at the commas of this call.
  absl::StatusOr<std::vector<std::string>> Arguments() {
    std::vector<std::string> arguments;
    size_t start = place_;
    int depth = 0;
    char quote = 0;
    for (; place_ < text_.size(); ++place_) {
      const char c = text_[place_];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '(' || c == '[') {
        ++depth;
      } else if (depth > 0 && (c == ')' || c == ']')) {
        --depth;
      } else if (depth == 0 && (c == ',' || c == ')')) {
        const absl::string_view argument =
            absl::StripAsciiWhitespace(text_.substr(start, place_ - start));
        if (!argument.empty() || c == ',' || !arguments.empty()) {
          arguments.emplace_back(argument);
        }
        start = place_ + 1;
        if (c == ')') {
          ++place_;
          return arguments;
        }
      }
    }
    return Error("expected `)`");
  }

  void SkipSpace() {
    while (place_ < text_.size() && absl::ascii_isspace(text_[place_])) {
      ++place_;
    }
  }

  bool Take(char c) {
    SkipSpace();
    if (place_ == text_.size() || text_[place_] != c) return false;
    ++place_;
    return true;
  }

  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat("column ", place_ + 1, " of `", text_, "`: ", what));
  }

  const absl::string_view text_;
  const std::vector<Row>& rows_;
  size_t place_ = 0;
};

}  // namespace

absl::StatusOr<double> Evaluate(absl::string_view expression,
                                const std::vector<Row>& rows) {
  return Parser(expression, rows).Run();
}

}  // namespace feedrate
