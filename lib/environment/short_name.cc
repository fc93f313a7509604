#include "lib/environment/short_name.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace feedrate {
namespace {

bool IsOneOf(absl::string_view word,
             std::initializer_list<absl::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

absl::string_view Before(absl::string_view text, absl::string_view mark) {
  return text.substr(0, text.find(mark));
}

// Keeps letters, digits and dots; all else becomes one hyphen between them.
std::string Plain(absl::string_view word) {
  std::string plain;
  for (const char c : word) {
    if (absl::ascii_isalnum(c) || c == '.') {
      plain.push_back(c);
    } else if (!plain.empty() && plain.back() != '-') {
      plain.push_back('-');
    }
  }
  return std::string(absl::StripSuffix(plain, "-"));
}

std::vector<std::string> Words(absl::string_view text) {
  std::vector<std::string> words;
  for (absl::string_view word :
       absl::StrSplit(text, absl::ByAnyChar(" \t"), absl::SkipEmpty())) {
    std::string plain = Plain(word);
    if (!plain.empty()) words.push_back(std::move(plain));
  }
  return words;
}

// `13th` of `13th Gen`.
bool IsOrdinal(absl::string_view word) {
  return word.size() > 2 && absl::ascii_isdigit(word[0]) &&
         IsOneOf(word.substr(word.size() - 2), {"st", "nd", "rd", "th"});
}

// Words that every processor of a maker has.
bool SaysNothing(absl::string_view word) {
  return IsOneOf(word, {"amd", "cpu", "gen", "genuine", "intel", "processor",
                        "version", "virtual"}) ||
         absl::EndsWith(word, "-core") || IsOrdinal(word);
}

// Words that the number after them implies: the metal of a Xeon, and the
// family of `Core i7-1360P`.
void DropImplied(std::vector<std::string>* words) {
  const bool xeon = !words->empty() && words->front() == "xeon";
  if (xeon && words->size() > 2 &&
      IsOneOf((*words)[1], {"platinum", "gold", "silver", "bronze"})) {
    words->erase(words->begin() + 1);
  }
  if (words->size() > 1 && words->front() == "core" &&
      IsOneOf((*words)[1].substr(0, 3), {"i3-", "i5-", "i7-", "i9-"})) {
    words->erase(words->begin());
  }
}

}  // namespace

std::string ShortCpuName(absl::string_view model) {
  std::string text = absl::StrReplaceAll(
      absl::AsciiStrToLower(model),
      {{"(r)", " "}, {"(tm)", " "}, {"(c)", " "}, {"(", " "}, {")", " "}});
  // `Core(TM)2 Duo` is one word.
  text = absl::StrReplaceAll(text, {{"core 2 ", "core2 "}});
  const std::vector<absl::string_view> halves =
      absl::StrSplit(text, absl::MaxSplits('@', 1));
  // What follows names graphics, fixes or features: `EPYC with IBPB`,
  // `Skylake, IBRS`.
  absl::string_view name = halves[0];
  for (absl::string_view mark : {",", " with ", " w/ "}) {
    name = Before(name, mark);
  }
  std::vector<std::string> words = Words(name);
  words.erase(std::remove_if(words.begin(), words.end(), SaysNothing),
              words.end());
  // Some clouds give a family and a clock, and nothing else.
  if (words.size() <= 1 && halves.size() == 2) {
    for (std::string& word : Words(halves[1])) {
      words.push_back(std::move(word));
    }
  }
  DropImplied(&words);
  return words.empty() ? "cpu" : absl::StrJoin(words, "-");
}

std::string ShortGpuName(absl::string_view name) {
  std::vector<std::string> words = Words(absl::AsciiStrToLower(name));
  words.erase(
      std::remove_if(
          words.begin(), words.end(),
          [](absl::string_view word) {
            return IsOneOf(word, {"nvidia", "tesla", "geforce", "generation"});
          }),
      words.end());
  return words.empty() ? "gpu" : absl::StrJoin(words, "-");
}

}  // namespace feedrate
