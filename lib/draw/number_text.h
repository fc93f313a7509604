// Numbers as people read them.
#ifndef FEEDRATE_LIB_DRAW_NUMBER_TEXT_H_
#define FEEDRATE_LIB_DRAW_NUMBER_TEXT_H_

#include <string>

namespace feedrate {

// `value` with `digits` significant digits, never in exponent form, whole
// digits kept and grouped in threes: 12,345  123  1.20  0.0123. Infinite and
// undefined values are `–`.
std::string SignificantText(double value, int digits = 3);

// For small spaces such as axes: 950, 1.2k, 35k, 2M; 0.05.
std::string ShortNumberText(double value);

// 1536 -> "1.50 KiB".
std::string BytesText(double bytes);

// 0.0421 -> "4.2%".
std::string PercentText(double fraction);

// For files that machines read: at most two decimals, no trailing zeros.
std::string CoordinateText(double value);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_DRAW_NUMBER_TEXT_H_
