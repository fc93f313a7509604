// Where the single values of a list stand.
#ifndef FEEDRATE_LIB_CONFIG_VALUE_PLACES_H_
#define FEEDRATE_LIB_CONFIG_VALUE_PLACES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace feedrate {

// Line and column, counted from 0 as protobuf does.
struct TextPlace {
  int line = 0;
  int column = 0;
};

// Answers what protobuf's parser forgets: for `name: ["a", "b"]` it only says
// where `name` is.
class ValuePlaces {
 public:
  // `text` outlives this.
  explicit ValuePlaces(absl::string_view text);

  // The values of the field whose name is at `field`: those of a list in
  // brackets each at its own place, another one at `field`.
  // REQUIRES: `text` parses.
  std::vector<TextPlace> Of(TextPlace field) const;

 private:
  absl::string_view text_;
  std::vector<size_t> line_starts_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_CONFIG_VALUE_PLACES_H_
