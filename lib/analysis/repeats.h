// What stays the same from one row to the next.
#ifndef FEEDRATE_LIB_ANALYSIS_REPEATS_H_
#define FEEDRATE_LIB_ANALYSIS_REPEATS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/analysis/row_steps.h"

namespace feedrate {

// Keys and values, one behind the other, and what reading them did.
struct Stretch {
  // From the first key's quote to the end of the last value, and padding.
  std::string text;
  size_t size = 0;
  // The place behind it, counted in keys.
  size_t next_place = 0;

  std::vector<std::pair<size_t, absl::string_view>> tokens;
  uint64_t hash = 0;
  uint32_t seen = 0;
  absl::string_view run_index;
  int64_t attempt = 0;

  int64_t hits = 0;
  int64_t misses = 0;
};

// The parts of a line that were the same in several lines. Most of a row is:
// the machine, the profile and the status of all rows of a file, and nearly
// everything in the rows of one job. Comparing eight bytes at a time is far
// quicker than reading keys and values.
class Repeats {
 public:
  // Finds what was the same in `lines` lines.
  explicit Repeats(int lines) : lines_(lines) {}

  // True: Note and EndLine should be called for the line at hand.
  bool learning() const { return learnt_ < lines_; }
  // The text of key and value at a place.
  void Note(size_t place, absl::string_view text);
  // To be called after a line that was read to its end.
  void EndLine(const RowSteps& steps, size_t slots);

  // The stretch that starts at a place, if any.
  Stretch* At(size_t place) const {
    return place < starts_.size() ? starts_[place] : nullptr;
  }
  // Says that a stretch was not what stood there. One that seldom is, is
  // forgotten; true then.
  bool Missed(size_t place);

  // Does to `row` what reading the stretch did.
  static bool Apply(Stretch* stretch, RowScratch* row);

 private:
  void Find(const RowSteps& steps, size_t slots);
  Stretch* Make(const RowSteps& steps, size_t slots, size_t first, size_t last);

  int lines_;
  int learnt_ = 0;
  // The text of key and value in the first line by place; empty where another
  // line had another.
  std::vector<std::string> same_;
  std::vector<std::unique_ptr<Stretch>> stretches_;
  std::vector<Stretch*> starts_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_REPEATS_H_
