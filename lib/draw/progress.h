// What a long run is doing, and how much is left, for whoever watches.
#ifndef FEEDRATE_LIB_DRAW_PROGRESS_H_
#define FEEDRATE_LIB_DRAW_PROGRESS_H_

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace feedrate {

// One named bar at a time. A terminal gets a line that is drawn over, at most
// some times a second; anything else a line of its own now and then, so that a
// log stays readable:
//
//   transforms [#####.....] 12/58  Resize pillow  1m20s left
//   transforms 12/58, Resize pillow, 1m20s left
//
// Not thread-safe.
class Progress {
 public:
  using Clock = std::function<absl::Time()>;

  // `out` outlives it.
  Progress(std::ostream& out, bool is_terminal, Clock clock = absl::Now)
      : out_(out), is_terminal_(is_terminal), clock_(std::move(clock)) {}
  ~Progress() { Finish(); }

  // `done` of `total` of what `name` says; `what` is being done now. A new name
  // starts a new bar. A total of 0 is not known: the line says only `what`.
  void Show(const std::string& name, int64_t done, int64_t total,
            absl::string_view what);
  // Takes the bar away, so that something else can be printed.
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

#endif  // FEEDRATE_LIB_DRAW_PROGRESS_H_
