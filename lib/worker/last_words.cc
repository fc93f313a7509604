#include "lib/worker/last_words.h"

#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace feedrate {
namespace {

// A traceback's last lines and the message fit.
constexpr size_t kLines = 5;
constexpr size_t kBytes = 600;
// What is held of a stream that says much.
constexpr size_t kKept = 4096;

}  // namespace

void LastWords::Drain() {
  inbox_.Fill();
  while (absl::optional<std::string> line = inbox_.TakeLine()) {
    kept_.append(*line).push_back('\n');
    if (kept_.size() > 2 * kKept) kept_.erase(0, kept_.size() - kKept);
  }
  if (inbox_.unfinished() > kKept) {
    kept_.assign(inbox_.rest(), inbox_.unfinished() - kKept, kKept);
    inbox_.Forget();
  }
}

std::string LastWords::Text() const {
  const std::string all = kept_ + inbox_.rest();
  std::vector<absl::string_view> lines;
  for (const absl::string_view line : absl::StrSplit(all, '\n')) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    if (!text.empty()) lines.push_back(text);
  }
  if (lines.size() > kLines) {
    lines.erase(lines.begin(), lines.end() - kLines);
  }
  std::string text = absl::StrJoin(lines, " | ");
  if (text.size() > kBytes) text = "…" + text.substr(text.size() - kBytes);
  return text;
}

}  // namespace feedrate
