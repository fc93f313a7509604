#include "lib/analysis/filter_lexer.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

using Kind = FilterToken::Kind;

bool IsNamePart(char c) {
  return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-';
}

bool StartsNumber(absl::string_view rest) {
  if (rest[0] == '-' || rest[0] == '+') rest.remove_prefix(1);
  if (!rest.empty() && rest[0] == '.') rest.remove_prefix(1);
  return !rest.empty() && absl::ascii_isdigit(rest[0]);
}

// Reads what starts at `*at` and moves behind it.
absl::StatusOr<FilterToken> LexText(absl::string_view text, size_t* at) {
  FilterToken token;
  token.kind = Kind::kText;
  token.column = *at + 1;
  const char quote = text[(*at)++];
  while (*at < text.size() && text[*at] != quote) {
    if (text[*at] == '\\' && *at + 1 < text.size()) ++*at;
    token.text.push_back(text[(*at)++]);
  }
  if (*at == text.size()) {
    return FilterError(token.column, "this text has no closing quote");
  }
  ++*at;
  return token;
}

absl::StatusOr<FilterToken> LexNumber(absl::string_view text, size_t* at) {
  const size_t start = *at;
  const auto continues = [&](char c) {
    const char before = text[*at - 1];
    return absl::ascii_isdigit(c) || c == '.' || c == 'e' || c == 'E' ||
           ((c == '-' || c == '+') && (before == 'e' || before == 'E'));
  };
  ++*at;
  while (*at < text.size() && continues(text[*at])) ++*at;
  FilterToken token;
  token.kind = Kind::kNumber;
  token.column = start + 1;
  token.text = std::string(text.substr(start, *at - start));
  if (!absl::SimpleAtod(token.text, &token.number) ||
      !std::isfinite(token.number)) {
    return FilterError(token.column,
                       absl::StrCat("\"", token.text, "\" is no number"));
  }
  return token;
}

absl::StatusOr<FilterToken> LexSign(absl::string_view text, size_t* at) {
  FilterToken token;
  token.kind = Kind::kSign;
  token.column = *at + 1;
  for (const absl::string_view sign : {"==", "!=", "<=", ">=", "&&", "||", "<",
                                       ">", "!", "(", ")", "[", "]", ","}) {
    if (text.substr(*at, sign.size()) != sign) continue;
    token.text = std::string(sign);
    *at += sign.size();
    return token;
  }
  const char c = text[*at];
  if (c == '=' || c == '&' || c == '|') {
    return FilterError(token.column,
                       absl::StrCat("a single \"", text.substr(*at, 1),
                                    "\" means nothing here; write it twice"));
  }
  const std::string shown =
      absl::ascii_isprint(c)
          ? std::string(1, c)
          : absl::StrCat("byte ", static_cast<unsigned char>(c));
  return FilterError(token.column, absl::StrCat("\"", shown,
                                                "\" means nothing here; text "
                                                "stands in quotes"));
}

}  // namespace

absl::Status FilterError(size_t column, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("--where: column ", column, ": ", what));
}

absl::StatusOr<std::vector<FilterToken>> LexFilter(absl::string_view text) {
  std::vector<FilterToken> tokens;
  size_t at = 0;
  while (at < text.size()) {
    if (absl::ascii_isspace(text[at])) {
      ++at;
    } else if (text[at] == '"' || text[at] == '\'') {
      ASSIGN_OR_RETURN(FilterToken token, LexText(text, &at));
      tokens.push_back(std::move(token));
    } else if (StartsNumber(text.substr(at))) {
      ASSIGN_OR_RETURN(FilterToken token, LexNumber(text, &at));
      tokens.push_back(std::move(token));
    } else if (absl::ascii_isalpha(text[at]) || text[at] == '_') {
      FilterToken token;
      token.kind = Kind::kName;
      token.column = at + 1;
      while (at < text.size() && IsNamePart(text[at])) {
        token.text.push_back(text[at++]);
      }
      tokens.push_back(std::move(token));
    } else {
      ASSIGN_OR_RETURN(FilterToken token, LexSign(text, &at));
      tokens.push_back(std::move(token));
    }
  }
  tokens.emplace_back();
  tokens.back().column = text.size() + 1;
  return tokens;
}

}  // namespace feedrate
