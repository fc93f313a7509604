#include "lib/loader/mixture/mixture_list.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"

namespace feedrate {
namespace {

// A word, a number, a text (without its quotes) or a sign.
struct Token {
  absl::string_view text;
  bool is_text = false;
  int line = 1;
};

bool IsWordPart(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
         c == '.' || c == '-' || c == '+';
}

absl::StatusOr<std::vector<Token>> Tokens(absl::string_view text) {
  std::vector<Token> tokens;
  int line = 1;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    size_t end = at + 1;
    if (c == '\n') ++line;
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (c == '"' || c == '\'') {
      end =
          text.find_first_of(absl::string_view(c == '"' ? "\"\n" : "'\n"), end);
      if (end == absl::string_view::npos || text[end] == '\n') {
        return absl::InvalidArgumentError(
            absl::StrCat("line ", line, ": a text has no end"));
      }
      tokens.push_back({text.substr(at + 1, end - at - 1), true, line});
      ++end;
    } else if (!absl::ascii_isspace(static_cast<unsigned char>(c))) {
      while (IsWordPart(c) && end < text.size() && IsWordPart(text[end])) ++end;
      tokens.push_back({text.substr(at, end - at), false, line});
    }
    at = end;
  }
  return tokens;
}

bool Is(const Token& token, absl::string_view signs) {
  return !token.is_text && token.text.size() == 1 &&
         signs.find(token.text[0]) != absl::string_view::npos;
}

// Position after the `[` of the list; 0 if there is none.
size_t ListBegin(const std::vector<Token>& tokens, absl::string_view name) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!Is(tokens[i], "[")) continue;
    if (name.empty()) return i + 1;
    if (i >= 2 && Is(tokens[i - 1], "=:") && tokens[i - 2].text == name) {
      return i + 1;
    }
  }
  return 0;
}

absl::Status Wrong(const Token& token, absl::string_view wanted) {
  return absl::InvalidArgumentError(absl::StrCat(
      "line ", token.line, ": \"", PrintableText(token.text), "\" is not ",
      wanted, "; write [(\"NAME\", WEIGHT), (\"NAME\", WEIGHT)]"));
}

}  // namespace

absl::StatusOr<std::vector<DatasetEntry>> ParseMixtureList(
    absl::string_view text, absl::string_view name) {
  ASSIGN_OR_RETURN(const std::vector<Token> tokens, Tokens(text));
  size_t at = ListBegin(tokens, name);
  if (at == 0) {
    return absl::InvalidArgumentError(
        name.empty() ? "has no list of pairs; write [(\"NAME\", WEIGHT)]"
                     : absl::StrCat("has no list \"", name, "\""));
  }
  std::vector<DatasetEntry> entries;
  std::set<std::string> seen;
  while (at < tokens.size() && !Is(tokens[at], "]")) {
    if (!Is(tokens[at], "([")) return Wrong(tokens[at], "the start of a pair");
    if (tokens.size() - at < 5) return Wrong(tokens[at], "a whole pair");
    const Token& dataset = tokens[at + 1];
    if (!dataset.is_text || dataset.text.empty()) {
      return Wrong(dataset, "a name in quotes");
    }
    if (!Is(tokens[at + 2], ",")) return Wrong(tokens[at + 2], "a comma");
    double weight = 0;
    if (tokens[at + 3].is_text ||
        !absl::SimpleAtod(tokens[at + 3].text, &weight) ||
        !std::isfinite(weight) || weight < 0) {
      return Wrong(tokens[at + 3], "a weight");
    }
    if (!Is(tokens[at + 4], ")]")) return Wrong(tokens[at + 4], "a bracket");
    if (!seen.insert(std::string(dataset.text)).second) {
      return Wrong(dataset, "new: it is listed twice");
    }
    entries.push_back({std::string(dataset.text), weight});
    at += 5;
    if (at < tokens.size() && Is(tokens[at], ",")) ++at;
  }
  if (at == tokens.size()) {
    return absl::InvalidArgumentError("its list has no end; close it with ]");
  }
  if (!entries.empty()) return entries;
  return absl::InvalidArgumentError("its list is empty");
}

}  // namespace feedrate
