#include "lib/media/video/clips.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/media/synthetic_random.h"

namespace feedrate {
namespace {

int64_t DrawStart(int64_t choices, uint64_t seed, int64_t item) {
  SyntheticRandom random(seed * 0xd1342543de82ef95u +
                         static_cast<uint64_t>(item));
  return static_cast<int64_t>(random.Next() % static_cast<uint64_t>(choices));
}

}  // namespace

const std::vector<std::string>& VideoEndings() {
  static const auto* const endings =
      new std::vector<std::string>{".mp4", ".avi", ".mov", ".mkv", ".webm"};
  return *endings;
}

absl::StatusOr<ClipRule> ParseClipRule(absl::string_view text) {
  if (text == "uniform") return ClipRule::kUniform;
  if (text == "consecutive") return ClipRule::kConsecutive;
  return absl::InvalidArgumentError(absl::StrCat(
      "clip rule \"", text, "\" is unknown; use one of uniform, consecutive"));
}

std::string ClipRuleName(ClipRule rule) {
  return rule == ClipRule::kUniform ? "uniform" : "consecutive";
}

std::vector<int64_t> ClipFrames(ClipRule rule, int64_t num_frames, int length,
                                uint64_t seed, int64_t item) {
  std::vector<int64_t> frames(length);
  const int64_t last = num_frames - 1;
  if (rule == ClipRule::kUniform && num_frames > length && length > 1) {
    // In doubles, like numpy's linspace, so that rounding gives the same
    // numbers.
    const double step = static_cast<double>(last) / (length - 1);
    for (int i = 0; i < length; ++i) {
      frames[i] = static_cast<int64_t>(i * step);
    }
    frames[length - 1] = last;
    return frames;
  }
  const int64_t choices = num_frames - length + 1;
  const bool draws = rule == ClipRule::kConsecutive && choices > 1;
  const int64_t start = draws ? DrawStart(choices, seed, item) : 0;
  for (int i = 0; i < length; ++i) frames[i] = std::min(start + i, last);
  return frames;
}

namespace {

constexpr int kSquares = 20;
constexpr int kNumberBits = 12;
constexpr int kSumBits = 4;

uint32_t CheckSum(uint32_t number) {
  return (number * 0x9e3779b1u) >> (32 - kSumBits);
}

// The squares as 20 bits, the leftmost in the highest.
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
    // Reads the middle: compression blurs the edges.
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
