#include "lib/base/text.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/files.h"

namespace feedrate {
namespace {

// Longer lists belong in `--help` or the docs, not in an error message.
constexpr int kMaxListed = 40;

char Fold(char c) { return c == '-' ? '_' : absl::ascii_tolower(c); }

}  // namespace

int EditDistance(absl::string_view a, absl::string_view b) {
  const int columns = static_cast<int>(b.size()) + 1;
  std::vector<int> before_last(columns), last(columns), row(columns);
  for (int j = 0; j < columns; ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (int j = 1; j < columns; ++j) {
      const bool same = Fold(a[i - 1]) == Fold(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + !same});
      if (i > 1 && j > 1 && Fold(a[i - 1]) == Fold(b[j - 2]) &&
          Fold(a[i - 2]) == Fold(b[j - 1])) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[columns - 1];
}

std::string Nearest(absl::string_view name,
                    const std::vector<std::string>& candidates) {
  // A short name with two typos is unrecognizable.
  int best = std::max<int>(1, static_cast<int>(name.size()) / 3) + 1;
  std::string nearest;
  for (const std::string& candidate : candidates) {
    // The distance is no smaller, and takes as long as the product of both.
    const int longer =
        static_cast<int>(name.size()) - static_cast<int>(candidate.size());
    if (std::abs(longer) >= best) continue;
    const int distance = EditDistance(name, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string DidYouMean(absl::string_view name,
                       const std::vector<std::string>& candidates) {
  const std::string nearest = Nearest(name, candidates);
  if (!nearest.empty()) {
    return absl::StrCat("; did you mean \"", nearest, "\"?");
  }
  if (candidates.empty() || candidates.size() > kMaxListed) return "";
  return absl::StrCat("; use one of ", absl::StrJoin(candidates, ", "));
}

std::string Counted(int64_t number, absl::string_view one,
                    absl::string_view ending) {
  return absl::StrCat(number, " ", one, number == 1 ? "" : ending);
}

std::vector<std::string> ChoicesOf(absl::string_view help) {
  const size_t open = help.find('{');
  const size_t close = help.find('}', open);
  if (open == absl::string_view::npos || close == absl::string_view::npos) {
    return {};
  }
  return absl::StrSplit(help.substr(open + 1, close - open - 1), '|');
}

absl::Status CheckChoice(absl::string_view flag, const std::string& value,
                         const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), value) != known.end()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      flag, ": \"", value, "\" is unknown", DidYouMean(value, known)));
}

namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";

// Moves the start of `text` that no kind of output escapes to `out`. Names may
// be megabytes long.
void MovePlain(absl::string_view* text, std::string* out) {
  size_t size = 0;
  while (size < text->size() &&
         (absl::ascii_isalnum((*text)[size]) || (*text)[size] == ' ')) {
    ++size;
  }
  out->append(text->data(), size);
  text->remove_prefix(size);
}

void AppendEscape(char32_t c, std::string* out) {
  switch (c) {
    case '\n':
      *out += "\\n";
      return;
    case '\r':
      *out += "\\r";
      return;
    case '\t':
      *out += "\\t";
      return;
    default:
      absl::StrAppend(
          out,
          c < 0x80      ? "\\x"
          : c < 0x10000 ? "\\u"
                        : "\\U",
          absl::Hex(static_cast<uint32_t>(c), c < 0x80      ? absl::kZeroPad2
                                              : c < 0x10000 ? absl::kZeroPad4
                                                            : absl::kZeroPad8));
  }
}

bool IsWordCharacter(unsigned char c) {
  return absl::ascii_isalnum(c) || c >= 0x80;
}

bool HasLetter(absl::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) {
    return IsWordCharacter(c) && !absl::ascii_isdigit(c);
  });
}

bool IsAlphanumericAt(absl::string_view text, size_t at) {
  return at < text.size() && IsWordCharacter(text[at]);
}

}  // namespace

bool TakeCharacter(absl::string_view* text, char32_t* c) {
  const size_t length = Utf8Length(*text);
  const unsigned char first = (*text)[0];
  *c = length < 2 ? first : first & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) {
    *c = *c << 6 | ((*text)[i] & 0x3F);
  }
  text->remove_prefix(std::max<size_t>(1, length));
  return length > 0;
}

bool IsUnprintable(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) ||
         (c & 0xFFFE) == 0xFFFE;
}

namespace {

// Whether people do not see `c`, so that two names look like one: an Arabic
// mark, a soft hyphen, a byte order mark, tags. Joiners are not among them,
// because scripts and emoji need those. JSON has them as they are.
bool IsInvisible(char32_t c) {
  return c == 0xAD || c == 0x61C || c == 0x180E || c == 0x200B ||
         (c >= 0x2060 && c <= 0x2064) || c == 0xFEFF ||
         (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE007F);
}

}  // namespace

std::string PrintableText(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  // GitHub ignores spaces before a command, also those beyond ASCII.
  bool may_start_command = true;
  while (!text.empty()) {
    if (!may_start_command) MovePlain(&text, &out);
    if (text.empty()) break;
    const absl::string_view rest = text;
    char32_t c;
    if (!TakeCharacter(&text, &c)) {
      absl::StrAppend(&out, "\\x",
                      absl::Hex(static_cast<uint32_t>(c), absl::kZeroPad2));
    } else if (IsUnprintable(c) || IsInvisible(c) ||
               (c == ':' && may_start_command) ||
               (c == '#' && absl::EndsWith(out, "#"))) {
      AppendEscape(c, &out);
    } else {
      absl::StrAppend(&out, rest.substr(0, rest.size() - text.size()));
    }
    may_start_command &= c <= ' ' || c >= 0x7F;
  }
  return out;
}

std::string PrintableLines(absl::string_view text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (std::string& line : lines) line = PrintableText(line);
  return absl::StrJoin(lines, "\n");
}

namespace {

// A space of no width, which people do not see and GitHub does not link across.
constexpr char kNoLink[] = "&#8203;";

// Whether GitHub would make a link of the text around `plain[i]`: a mention, an
// issue, or an address. Then a space of no width belongs after the character.
bool StartsLink(absl::string_view plain, size_t i) {
  const absl::string_view rest = plain.substr(i);
  const bool before_digit = rest.size() > 1 && absl::ascii_isdigit(rest[1]);
  switch (rest[0]) {
    case '@':
      return IsAlphanumericAt(plain, i + 1);
    case '#':
      return before_digit;
    case ':':
      return absl::StartsWith(rest, "://");
    case '-':
      return before_digit && absl::EndsWithIgnoreCase(plain.substr(0, i), "gh");
    case 'w':
    case 'W':
      return i >= 2 && absl::EqualsIgnoreCase(plain.substr(i - 2, 4), "www.");
    default:
      return false;
  }
}

// Whether Markdown would give `plain[i]` a meaning.
bool IsMarkup(absl::string_view plain, size_t i) {
  const char c = plain[i];
  const char next = i + 1 < plain.size() ? plain[i + 1] : '\0';
  const bool within_word =
      i > 0 && IsWordCharacter(plain[i - 1]) && IsAlphanumericAt(plain, i + 1);
  return absl::string_view("\\`*|$").find(c) != absl::string_view::npos ||
         (c == '~' && next != ' ' && next != '\0') ||
         // A link, also with a colon that our text adds. Intervals like
         // `[1, 2]` stay as they are.
         (c == ']' && (next == '(' || next == '[' || next == ':' ||
                       (next == '\0' && HasLetter(plain)))) ||
         // Names like `batch_size` stay as they are.
         (c == '_' && !within_word) ||
         // A heading, a list or a rule.
         (i == 0 && (next == ' ' || next == c) &&
          absl::string_view("#-+=").find(c) != absl::string_view::npos);
}

}  // namespace

std::string MarkdownText(absl::string_view text) {
  const std::string plain = PrintableText(text);
  std::string out;
  out.reserve(plain.size());
  for (size_t i = 0; i < plain.size(); ++i) {
    const char c = plain[i];
    const char next = i + 1 < plain.size() ? plain[i + 1] : '\0';
    // What follows the last character is not known here.
    const bool opens = absl::ascii_isalpha(next) || next == '\0';
    if (c == '<' && (opens || next == '/' || next == '!' || next == '?')) {
      out += "&lt;";
    } else if (c == '>' && i == 0) {
      out += "&gt;";
    } else if (c == '&' && (opens || next == '#')) {
      out += "&amp;";
    } else {
      if (IsMarkup(plain, i)) out += '\\';
      out += c;
      if (StartsLink(plain, i)) out += kNoLink;
    }
  }
  return out;
}

std::string MarkdownCode(absl::string_view text) {
  if (text.empty()) return "";
  const std::string plain = PrintableText(text);
  size_t longest = 0;
  size_t run = 0;
  for (const char c : plain) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  const char* const space = longest > 0 ? " " : "";
  return absl::StrCat(fence, space, plain, space, fence);
}

std::string XmlText(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    MovePlain(&text, &out);
    if (text.empty()) break;
    const absl::string_view rest = text;
    const bool after_sharp = absl::EndsWith(out, "#");
    char32_t c;
    const bool is_valid = TakeCharacter(&text, &c);
    if (c == '\n') {
      out += "&#10;";
    } else if (c == '\t') {
      out += "&#9;";
    } else if (!is_valid || IsUnprintable(c) || IsInvisible(c)) {
      out += kReplacement;
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else if (c == '#' && after_sharp) {
      out += "&#35;";
    } else {
      absl::StrAppend(&out, rest.substr(0, rest.size() - text.size()));
    }
  }
  return out;
}

std::string CsvField(absl::string_view text) {
  std::string field = PrintableText(text);
  double number;
  const bool is_formula =
      field.size() > 1 &&
      absl::string_view("=+-@").find(field[0]) != absl::string_view::npos &&
      !absl::SimpleAtod(field, &number);
  if (is_formula) field.insert(0, "'");
  if (field.find_first_of(",\"") == std::string::npos) return field;
  return absl::StrCat("\"", absl::StrReplaceAll(field, {{"\"", "\"\""}}), "\"");
}

std::string LatexText(absl::string_view text) {
  return absl::StrReplaceAll(PrintableText(text), {{"\\", "\\textbackslash{}"},
                                                   {"{", "\\{"},
                                                   {"}", "\\}"},
                                                   {"$", "\\$"},
                                                   {"&", "\\&"},
                                                   {"#", "\\#"},
                                                   {"%", "\\%"},
                                                   {"_", "\\_"},
                                                   {"~", "\\textasciitilde{}"},
                                                   {"^", "\\textasciicircum{}"},
                                                   {"<", "\\textless{}"},
                                                   {">", "\\textgreater{}"}});
}

std::string GithubMessage(absl::string_view text) {
  return absl::StrReplaceAll(PrintableText(text), {{"%", "%25"}});
}

std::string GithubProperty(absl::string_view text) {
  return absl::StrReplaceAll(PrintableText(text),
                             {{"%", "%25"}, {":", "%3A"}, {",", "%2C"}});
}

std::string ShellWord(absl::string_view word) {
  constexpr absl::string_view kPlain = "-_=/.,:+@%";
  const bool is_plain = !word.empty() &&
                        std::all_of(word.begin(), word.end(),
                                    [&](char c) {
                                      return absl::ascii_isalnum(c) ||
                                             kPlain.find(c) != kPlain.npos;
                                    }) &&
                        // Z shell replaces `=ls` by the path of `ls`.
                        word[0] != '=';
  if (is_plain) return std::string(word);
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

std::string ProgramCommand(absl::string_view program) {
  const char* const front = std::getenv("FEEDRATE_COMMAND");
  if (front == nullptr) return std::string(program);
  return absl::StrCat(ShellWord(front), " ", program);
}

namespace {

// Characters that end a URL inside a text.
constexpr absl::string_view kEnds = " \t\n\"'<>";

}  // namespace

std::string WithoutQueries(absl::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const size_t begin = std::min(text.find("http://"), text.find("https://"));
    if (begin == text.npos) break;
    absl::StrAppend(&clean, text.substr(0, begin));
    text.remove_prefix(begin);
    const absl::string_view address = text.substr(0, text.find_first_of(kEnds));
    const size_t query = address.find('?');
    absl::string_view shown = address.substr(0, query);
    const size_t host = shown.find("://") + 3;
    const size_t at = shown.substr(0, shown.find('/', host)).rfind('@');
    if (at != shown.npos) {
      absl::StrAppend(&clean, shown.substr(0, host));
      shown.remove_prefix(at + 1);
    }
    absl::StrAppend(&clean, shown, query == address.npos ? "" : "?...");
    text.remove_prefix(address.size());
  }
  return absl::StrCat(clean, text);
}

namespace {

constexpr absl::string_view kSynthetic = "synthetic:";

absl::StatusOr<std::string> SyntheticId(absl::string_view spec) {
  std::vector<std::string> parts =
      absl::StrSplit(spec, ',', absl::SkipWhitespace());
  if (parts.empty() || absl::StrContains(parts[0], '=')) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", kSynthetic, spec,
                     "\" names no kind; write synthetic:rgb,n=100,seed=1"));
  }
  for (size_t i = 1; i < parts.size(); ++i) {
    const size_t equals = parts[i].find('=');
    if (equals == std::string::npos || equals == 0 ||
        equals + 1 == parts[i].size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", parts[i],
          "\" is not a parameter; write synthetic:rgb,n=100,seed=1"));
    }
  }
  std::sort(parts.begin() + 1, parts.end());
  return absl::StrCat(kSynthetic, absl::StrJoin(parts, ","));
}

}  // namespace

absl::StatusOr<std::string> DatasetId(absl::string_view dataset) {
  if (absl::StartsWith(dataset, kSynthetic)) {
    return SyntheticId(absl::StripPrefix(dataset, kSynthetic));
  }
  // Neither the signature nor the server in a URL is part of the data set's
  // name.
  if (absl::StartsWith(dataset, "http://") ||
      absl::StartsWith(dataset, "https://")) {
    dataset = dataset.substr(0, dataset.find('?'));
  }
  while (absl::ConsumeSuffix(&dataset, "/")) {
  }
  std::string name = BaseName(dataset);
  for (absl::string_view ending :
       {".gz", ".zst", ".tar", ".tgz", ".tfrecord", ".zip"}) {
    name = std::string(absl::StripSuffix(name, ending));
  }
  if (name.empty() || name == "." || name == "..") {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", dataset, "\" has no name to put into job ids; set data.id"));
  }
  return name;
}

bool IsRemoteDataset(absl::string_view dataset) {
  for (const absl::string_view scheme :
       {"s3://", "gs://", "http://", "https://", "file://"}) {
    if (absl::StartsWith(dataset, scheme)) return true;
  }
  return false;
}

namespace {

// Removes the unit from the end of `text` and returns its power of two.
int ConsumeUnit(absl::string_view* text) {
  absl::ConsumeSuffix(text, "B");
  if (absl::ConsumeSuffix(text, "K") || absl::ConsumeSuffix(text, "k")) {
    return 10;
  }
  if (absl::ConsumeSuffix(text, "M")) return 20;
  if (absl::ConsumeSuffix(text, "G")) return 30;
  return 0;
}

}  // namespace

std::optional<int64_t> ParseSize(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  const int shift = ConsumeUnit(&text);
  int64_t value;
  if (!absl::SimpleAtoi(text, &value) || value < 0) return std::nullopt;
  if (value > std::numeric_limits<int64_t>::max() >> shift) return std::nullopt;
  return value << shift;
}

absl::StatusOr<int64_t> SizeOfFlag(absl::string_view flag,
                                   absl::string_view text, int64_t least) {
  const std::optional<int64_t> bytes = ParseSize(text);
  if (!bytes.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        flag, ": \"", text, "\" is not a size; write it as 500M or 2G"));
  }
  if (*bytes < least) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": ", text, " is too small; use at least ",
                     Counted(least, "byte"), ", such as 500M"));
  }
  return *bytes;
}

}  // namespace feedrate
