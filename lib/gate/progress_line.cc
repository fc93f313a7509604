#include "lib/gate/progress_line.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace feedrate {
namespace {

// Between two lines of a log.
constexpr absl::Duration kLogEvery = absl::Seconds(10);

std::string LeftText(absl::Duration so_far, int64_t done, int64_t all) {
  if (done <= 0 || all <= done) return "";
  const double left = absl::ToDoubleSeconds(so_far) * (all - done) / done;
  return left < 100 ? absl::StrFormat(", about %.0f s left", left)
                    : absl::StrFormat(", about %.0f min left", left / 60);
}

}  // namespace

ProgressLine::ProgressLine(std::string name, std::ostream* out,
                           bool is_terminal, std::function<absl::Time()> now)
    : name_(std::move(name)),
      out_(out),
      is_terminal_(is_terminal),
      now_(std::move(now)),
      start_(now_()) {}

void ProgressLine::Show(const std::string& what, int64_t done, int64_t all) {
  const absl::Time now = now_();
  if (!is_terminal_ && now < last_ + kLogEvery) return;
  last_ = now;
  const std::string text =
      absl::StrCat(name_, ": ", what, LeftText(now - start_, done, all));
  if (is_terminal_) {
    *out_ << "\r\x1b[K" << text << std::flush;
  } else {
    *out_ << text << "\n";
  }
}

void ProgressLine::Clear() {
  if (is_terminal_) *out_ << "\r\x1b[K" << std::flush;
}

}  // namespace feedrate
