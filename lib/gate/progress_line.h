// What a long run is doing, in one line.
#ifndef FEEDRATE_LIB_GATE_PROGRESS_LINE_H_
#define FEEDRATE_LIB_GATE_PROGRESS_LINE_H_

#include <functional>
#include <ostream>
#include <string>

#include "absl/time/time.h"

namespace feedrate {

// On a terminal one line that is written over; elsewhere a line now and then,
// so that a log stays short.
class ProgressLine {
 public:
  // `out` outlives this. `now` is the clock.
  ProgressLine(std::string name, std::ostream* out, bool is_terminal,
               std::function<absl::Time()> now);

  // How long all of it will take is estimated from `done` of `all`; `all` of 0
  // means that nobody knows.
  void Show(const std::string& what, int64_t done, int64_t all);
  // Clears the line before something else is written.
  void Clear();

 private:
  const std::string name_;
  std::ostream* const out_;
  const bool is_terminal_;
  const std::function<absl::Time()> now_;
  const absl::Time start_;
  absl::Time last_ = absl::InfinitePast();
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_PROGRESS_LINE_H_
