// A series in one line of text.
#ifndef FEEDRATE_LIB_DRAW_SPARKLINE_H_
#define FEEDRATE_LIB_DRAW_SPARKLINE_H_

#include <string>

#include "absl/types/span.h"

namespace feedrate {

// One block of eight heights a value, scaled from the lowest to the highest,
// such as ▁▃▅█. All the same: the middle height. Values that are no numbers
// are spaces. More than `most` values are joined to as many by their means.
std::string Sparkline(absl::Span<const double> values, int most = 30);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_DRAW_SPARKLINE_H_
