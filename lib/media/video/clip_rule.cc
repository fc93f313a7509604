#include "lib/media/video/clip_rule.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
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
    // In doubles, as numpy's linspace has it, so that the cut is the same.
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

}  // namespace feedrate
