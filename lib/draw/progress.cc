#include "lib/draw/progress.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "lib/base/text.h"
#include "lib/draw/text.h"

namespace feedrate {
namespace {

constexpr absl::Duration kRedraw = absl::Milliseconds(100);
constexpr absl::Duration kNextLine = absl::Seconds(10);
constexpr int64_t kBarWidth = 20;
// Lines that are wider than the terminal would wrap and could not be
// overwritten.
constexpr size_t kMaxLine = 78;

}  // namespace

std::string Progress::Line(int64_t done, int64_t total,
                           absl::string_view what) const {
  std::string left;
  const absl::Duration spent = clock_() - start_;
  if (done > start_done_ && total > done) {
    const absl::Duration estimate =
        spent * (static_cast<double>(total - done) / (done - start_done_));
    left = absl::StrCat(
        absl::FormatDuration(absl::Ceil(estimate, absl::Seconds(1))), " left");
  }
  if (total == 0) return absl::StrCat(name_, ": ", what);
  if (!is_terminal_) {
    return absl::StrCat(name_, " ", done, "/", total, what.empty() ? "" : ", ",
                        what, left.empty() ? "" : ", ", left);
  }
  const int64_t filled = kBarWidth * std::min(done, total) / total;
  std::string line = absl::StrCat(name_, " [", std::string(filled, '#'),
                                  std::string(kBarWidth - filled, '.'), "] ",
                                  done, "/", total, what.empty() ? "" : "  ",
                                  what, left.empty() ? "" : "  ", left);
  return line;
}

void Progress::Show(const std::string& name, int64_t done, int64_t total,
                    absl::string_view what) {
  const absl::Time now = clock_();
  if (name != name_) {
    Finish();
    name_ = name;
    start_ = now;
    start_done_ = done;
    // Short tasks need no line in a log.
    next_ = is_terminal_ ? now : now + kNextLine;
  }
  if (now < next_) return;
  next_ = now + (is_terminal_ ? kRedraw : kNextLine);
  std::string line = Line(done, total, PrintableText(what));
  if (is_terminal_) {
    line = ToColumns(line, kMaxLine);
    const size_t width = DisplayWidth(line);
    const size_t blank = drawn_ > width ? drawn_ - width : 0;
    out_ << '\r' << line << std::string(blank, ' ') << std::flush;
    drawn_ = width;
  } else {
    out_ << line << '\n' << std::flush;
  }
}

void Progress::Finish() {
  if (drawn_ > 0) {
    out_ << '\r' << std::string(drawn_, ' ') << '\r' << std::flush;
  }
  drawn_ = 0;
  name_.clear();
}

}  // namespace feedrate
