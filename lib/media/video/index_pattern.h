// A frame's number, burnt into its pixels so that it can be read again: the
// proof that a decoder gave the frame that was asked for.
//
// Along the top edge lie 20 squares, black or white: white, black, twelve bits
// of the number with the highest first, four of a check sum, black, white.
// Squares are as large as the width allows, so compression and resampling leave
// them readable.
#ifndef FEEDRATE_LIB_MEDIA_VIDEO_INDEX_PATTERN_H_
#define FEEDRATE_LIB_MEDIA_VIDEO_INDEX_PATTERN_H_

#include <cstdint>
#include <optional>

#include "lib/media/image.h"

namespace feedrate {

// Frames that can be told apart.
inline constexpr int64_t kPatternNumbers = 4096;
// Narrower frames have no room for it.
inline constexpr int kMinPatternWidth = 80;

// Side of a square in a frame of this width.
int PatternSquare(int width);

// White or black for pixel (x, y) of the frame, nothing outside the pattern.
std::optional<bool> PatternAt(int64_t number, int width, int x, int y);

// The number that an RGB frame shows; nothing when there is no pattern or its
// check sum is wrong.
std::optional<int64_t> ReadPattern(const ImageView& frame);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_VIDEO_INDEX_PATTERN_H_
