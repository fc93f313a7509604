#include "lib/media/video/index_pattern.h"

#include <cstdint>
#include <optional>

#include "lib/media/image.h"

namespace feedrate {
namespace {

constexpr int kSquares = 20;
constexpr int kNumberBits = 12;
constexpr int kSumBits = 4;

uint32_t CheckSum(uint32_t number) {
  return (number * 0x9e3779b1u) >> (32 - kSumBits);
}

// The squares, the leftmost in the highest of 20 bits.
uint32_t SquaresOf(int64_t number) {
  const auto bits = static_cast<uint32_t>(number % kPatternNumbers);
  return 0b10u << 18 | bits << 6 | CheckSum(bits) << 2 | 0b01u;
}

}  // namespace

int PatternSquare(int width) { return width / kSquares; }

std::optional<bool> PatternAt(int64_t number, int width, int x, int y) {
  const int side = PatternSquare(width);
  if (width < kMinPatternWidth || y >= side || x >= side * kSquares) {
    return std::nullopt;
  }
  return (SquaresOf(number) >> (kSquares - 1 - x / side) & 1) != 0;
}

std::optional<int64_t> ReadPattern(const ImageView& frame) {
  const int side = PatternSquare(frame.width);
  if (frame.width < kMinPatternWidth || frame.height < side ||
      frame.channels != 3) {
    return std::nullopt;
  }
  uint32_t squares = 0;
  for (int square = 0; square < kSquares; ++square) {
    // The middle: edges are blurred by compression.
    int64_t sum = 0;
    int64_t count = 0;
    for (int y = side / 4; y < side - side / 4; ++y) {
      const uint8_t* row = frame.row(y);
      for (int x = side / 4; x < side - side / 4; ++x) {
        sum += row[3 * (square * side + x) + 1];
        ++count;
      }
    }
    squares = squares << 1 | (sum > 128 * count ? 1 : 0);
  }
  const int64_t number = squares >> (2 + kSumBits) & (kPatternNumbers - 1);
  if (squares != SquaresOf(number)) return std::nullopt;
  static_assert(kPatternNumbers == 1 << kNumberBits);
  return number;
}

}  // namespace feedrate
