// Words and signs of a filter expression.
#ifndef FEEDRATE_LIB_ANALYSIS_FILTER_LEXER_H_
#define FEEDRATE_LIB_ANALYSIS_FILTER_LEXER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

struct FilterToken {
  enum class Kind { kName, kText, kNumber, kSign, kEnd };
  Kind kind = Kind::kEnd;
  // A name, the content of a text, or a sign such as `&&`.
  std::string text;
  double number = 0;
  // From 1, in bytes.
  size_t column = 1;
};

// An error at a column of the expression.
absl::Status FilterError(size_t column, absl::string_view what);

// The last token is kEnd.
absl::StatusOr<std::vector<FilterToken>> LexFilter(absl::string_view text);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_FILTER_LEXER_H_
