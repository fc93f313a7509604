// Progress bars for long runs.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace feedrate {

// One named bar at a time. On a terminal the line is redrawn at most a few
// times per second; elsewhere a new line is printed now and then, so that logs
// stay readable:
//
//   transforms [#####.....] 12/58  Resize pillow  1m20s left
//   transforms 12/58, Resize pillow, 1m20s left
//
// Not thread-safe.
class Progress {
 public:
  using Clock = std::function<absl::Time()>;

  // `out` must outlive this object.
  Progress(std::ostream& out, bool is_terminal, Clock clock = absl::Now)
      : out_(out), is_terminal_(is_terminal), clock_(std::move(clock)) {}
  ~Progress() { Finish(); }

  // Shows that `done` of `total` steps of `name` are done and `what` is being
  // done now. A new name starts a new bar. A `total` of 0 means unknown: the
  // line shows only `what`.
  void Show(const std::string& name, int64_t done, int64_t total,
            absl::string_view what);
  // Removes the bar, so that something else can be printed.
  void Finish();

 private:
  std::string Line(int64_t done, int64_t total, absl::string_view what) const;

  std::ostream& out_;
  const bool is_terminal_;
  const Clock clock_;
  std::string name_;
  absl::Time start_;
  int64_t start_done_ = 0;
  absl::Time next_;
  size_t drawn_ = 0;
};

}  // namespace feedrate
