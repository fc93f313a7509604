// Text that people type or read: suggestions for mistyped names, UTF-8,
// escaping for each kind of output, sizes, data set ids, and URLs without
// credentials.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// Number of single-character insertions, deletions, replacements and swaps of
// neighbors that turn `a` into `b`. Letter case and `-` versus `_` do not
// count.
int EditDistance(absl::string_view a, absl::string_view b);

// Returns the candidate nearest to `name`, or "" if none is close enough: at
// most a third of the name may differ.
std::string Nearest(absl::string_view name,
                    const std::vector<std::string>& candidates);

// Returns `; did you mean "X"?` for the nearest candidate, else `; use one of
// A, B` if there are few candidates, else "". Meant to be appended to an error
// message.
std::string DidYouMean(absl::string_view name,
                       const std::vector<std::string>& candidates);

// Checks the value of a flag that takes one of a few words. Returns
// InvalidArgument, with the nearest of `known` or all of them, if `value` is
// not one of them. `flag` is spelled as the user types it, such as `--format`.
absl::Status CheckChoice(absl::string_view flag, const std::string& value,
                         const std::vector<std::string>& known);

// The values that a flag's help lists at its end, as in `what it is {a|b|c}`.
// Empty if it lists none.
std::vector<std::string> ChoicesOf(absl::string_view help);

// "1 job", "2 jobs"; with the ending "es", "2 processes".
std::string Counted(int64_t number, absl::string_view one,
                    absl::string_view ending = "s");

// Returns the length in bytes of the UTF-8 character at the start of `text`, or
// 0 if there is no valid one (stray or overlong sequences, surrogates, code
// points above U+10FFFF). REQUIRES: `text` is not empty.
inline size_t Utf8Length(absl::string_view text) {
  const unsigned char c = text[0];
  if (c < 0x80) return 1;
  const size_t length = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
  if (c < 0xC2 || c > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((text[i] & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = text[1];
  if (c == 0xE0 && second < 0xA0) return 0;
  if (c == 0xED && second > 0x9F) return 0;
  if (c == 0xF0 && second < 0x90) return 0;
  if (c == 0xF4 && second > 0x8F) return 0;
  return length;
}

// Foreign text, such as the name of a job or the reason in a row, for each kind
// of output. JSON has AppendJsonString. No result contains a control character,
// a line break, invalid UTF-8, or a command that a CI server takes from its log
// (`::error::` at the start of a line, `##[error]` or `##vso[…]` anywhere).

// For terminals and logs. Shows such characters, and those that nobody sees, as
// escapes like in C: `\n`, `\x1b`, `\u009b`. Applying it twice changes nothing.
std::string PrintableText(absl::string_view text);
// Applies PrintableText to each line and keeps the line breaks. For our own
// messages of several lines that quote foreign text.
std::string PrintableLines(absl::string_view text);

// For Markdown, also in a cell of a table: nothing is markup, a link, a mention
// or HTML.
std::string MarkdownText(absl::string_view text);
// As code in a line of Markdown. Empty if `text` is.
std::string MarkdownCode(absl::string_view text);

// For HTML, SVG and XML, in elements and attributes. Characters that XML does
// not allow and control characters become U+FFFD; line breaks and tabs become
// `&#10;` and `&#9;`.
std::string XmlText(absl::string_view text);

// As a field of CSV, in quotes where needed. Text that a spreadsheet would take
// for a formula gets an apostrophe.
std::string CsvField(absl::string_view text);

// For a table or a paragraph of LaTeX.
std::string LatexText(absl::string_view text);

// For the message and for a property of a workflow command of GitHub.
std::string GithubMessage(absl::string_view text);
std::string GithubProperty(absl::string_view text);

// One word that every shell reads as exactly `word`; plain words stay as they
// are.
std::string ShellWord(absl::string_view word);

// The words that start a program of ours, for commands that people copy:
// `./feedrate micro` if the front command started this process, which says so
// in $FEEDRATE_COMMAND, else just the name.
std::string ProgramCommand(absl::string_view program);

// Whether `c` may change what a terminal shows around it: control characters,
// line and paragraph separators, characters that change the direction of text,
// and those that XML forbids.
bool IsUnprintable(char32_t c);

// Removes the first character of `text`. False if it is not valid UTF-8; then
// `c` is its first byte. REQUIRES: `text` is not empty.
bool TakeCharacter(absl::string_view* text, char32_t* c);

// Replaces the query of each http(s) URL in `text` by "?...", and removes its
// user and password. In a signed URL the query is the credential, so use this
// for everything that is logged or recorded.
std::string WithoutQueries(absl::string_view text);

// Returns the short name of a data set, which job ids contain instead of its
// path: `/data/imagenet/val` and `gs://bucket/imagenet/val.tar` give `val`.
// Synthetic data sets keep their parameters, sorted:
// `synthetic:rgb,seed=1,n=20` gives `synthetic:rgb,n=20,seed=1`. The error, if
// no name is left, does not say where the data set was named; the caller adds
// that.
absl::StatusOr<std::string> DatasetId(absl::string_view dataset);

// Whether `dataset` is a URL: s3://, gs://, http://, https:// or file://.
bool IsRemoteDataset(absl::string_view dataset);

// Parses a size such as `48K`, `105M`, `263842304 kB` or `4096` into bytes;
// units are powers of 1024. Returns nullopt if `text` is not a size, is
// negative, or does not fit.
std::optional<int64_t> ParseSize(absl::string_view text);

// Parses the size given to a flag. Returns InvalidArgument, which names `flag`
// (such as "--memory_limit"), if it is not a size or is below `least`.
absl::StatusOr<int64_t> SizeOfFlag(absl::string_view flag,
                                   absl::string_view text, int64_t least);

}  // namespace feedrate
