// What holds for every transform of the sets, whatever library has it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/media/corpus.h"

namespace feedrate {

// An output with a copy of its bytes.
struct KeptOutput {
  Output output;
  std::string bytes;
};

inline KeptOutput KeepOutput(PreparedTransform* transform, int64_t item,
                             uint64_t seed) {
  transform->Seed(seed);
  const absl::StatusOr<Output> output = transform->RunForOutput(item);
  EXPECT_TRUE(output.ok()) << output.status();
  if (!output.ok()) return {};
  return {*output,
          std::string(static_cast<const char*>(output->data), output->bytes)};
}

// Height, width and channels, by the definition of the transform.
inline testing::Matcher<std::vector<int64_t>> ExpectedShape(
    const std::string& name, const ItemView& in) {
  using ::testing::ElementsAre;
  const int64_t h = in.height, w = in.width, c = in.channels;
  const int64_t longest = std::max(h, w), shortest = std::min(h, w);
  if (name == "Resize") return ElementsAre(512, 512, c);
  if (name == "RandomCrop224" || name == "CenterCrop224" ||
      name == "RandomResizedCrop") {
    return ElementsAre(224, 224, c);
  }
  if (name == "Pad") return ElementsAre(h + 20, w + 20, c);
  if (name == "LongestMaxSize") {
    return ElementsAre(h * 512 / longest, w * 512 / longest, c);
  }
  if (name == "SmallestMaxSize") {
    return ElementsAre(h * 512 / shortest, w * 512 / shortest, c);
  }
  if (name == "Transpose") return ElementsAre(w, h, c);
  if (name == "RandomRotate90") {
    return testing::AnyOf(ElementsAre(h, w, c), ElementsAre(w, h, c));
  }
  return ElementsAre(h, w, c);
}

// The output of an item has the right shape, is the same for the same seed, and
// is not the input for every seed. `layout` is `HWC` or `CHW`.
inline void CheckCell(const std::string& name, const std::string& layout,
                      const ItemView& in, int64_t item,
                      PreparedTransform* transform) {
  const std::string input(static_cast<const char*>(in.data), in.bytes);
  const KeptOutput kept = KeepOutput(transform, item, 7);
  EXPECT_EQ(kept.output.dtype, "uint8");
  EXPECT_EQ(kept.output.layout, layout);
  std::vector<int64_t> shape = kept.output.shape;
  ASSERT_EQ(shape.size(), 3u);
  if (layout == "CHW")
    std::rotate(shape.begin(), shape.begin() + 1, shape.end());
  EXPECT_THAT(shape, ExpectedShape(name, in));
  EXPECT_EQ(kept.output.bytes, shape[0] * shape[1] * shape[2]);
  EXPECT_TRUE(KeepOutput(transform, item, 7).bytes == kept.bytes)
      << "another output for the same seed";
  // Some draws change nothing (no quarter turn), but not all.
  bool changed = kept.bytes != input;
  for (uint64_t seed = 8; !changed && seed < 24; ++seed) {
    changed = KeepOutput(transform, item, seed).bytes != input;
  }
  EXPECT_TRUE(changed) << "always gives its input back";
}

}  // namespace feedrate
