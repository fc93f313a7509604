// Every entry of configs/transforms/ for the library cuda, by the kernels' own
// arithmetic on the host: the size that the transform means, the same output
// for the same seed, and what the reference says.
#include "lib/adapters/cuda/fused_op.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/adapters/cuda/host_kernels.h"
#include "lib/adapters/cuda/solve_perspective.h"
#include "lib/adapters/cuda/testing/run_on_host.h"
#include "lib/adapters/worker/testing/small_corpus.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/transforms.pb.h"
#include "lib/media/corpus.h"
#include "lib/reference/compare.h"
#include "lib/reference/pixels.h"

namespace feedrate {
namespace {

using fused::HostImage;
using ::testing::AnyOf;
using ::testing::HasSubstr;

class FusedOpTest : public ::testing::Test {
 protected:
  FusedOpTest() : catalogue_(Catalogue::Load("configs").value()) {}

  void TryEntry(const Transform& transform, const Implementation& entry) {
    const auto op = MakeFusedOp(CudaSpecOf(transform, entry));
    ASSERT_TRUE(op.ok()) << op.status();
    for (int64_t i = 0; i < corpus_.size(); ++i) {
      const HostImage input = HostImageOf(corpus_.item(i));
      const HostImage output = RunOnHost(*op, input, 7);
      const std::string bytes = BytesOfImage(output);
      EXPECT_EQ(BytesOfImage(RunOnHost(*op, input, 7)), bytes);
      OutputView view;
      view.data = bytes.data();
      view.bytes = static_cast<int64_t>(bytes.size());
      view.dtype = "uint8";
      view.layout = "HWC";
      view.height = output.height;
      view.width = output.width;
      view.channels = 3;
      const auto read = ReadOutput(view);
      ASSERT_TRUE(read.ok()) << read.status();
      const auto compared = CheckOutput(
          transform, entry,
          PixelsFromBytes(static_cast<const uint8_t*>(corpus_.item(i).data),
                          input.height, input.width, 3),
          *read);
      ASSERT_TRUE(compared.ok()) << compared.status();
      // The profile `paper` draws for each image, or does what the public
      // libraries do, which is not always the same.
      if (entry.params_profile() != "matched") {
        EXPECT_NE(compared->label, "noop");
        continue;
      }
      EXPECT_THAT(compared->label, AnyOf("exact", "equivalent"))
          << "differs by " << compared->max_abs_diff.value_or(-1) << ", PSNR "
          << compared->psnr_db.value_or(-1);
    }
  }

  Catalogue catalogue_;
  Corpus corpus_ = SmallCorpus(3);
};

TEST_F(FusedOpTest, EveryEntryMeansWhatTheReferenceSays) {
  const TransformSet& set =
      **catalogue_.Transforms(*catalogue_.FindScenario("image-rgb"));
  int entries = 0;
  int compared = 0;
  for (const Transform& transform : set.transforms()) {
    for (const Implementation& entry : transform.implementations()) {
      if (entry.library() != "cuda") continue;
      // Recipes of a loader: lib/loader/cuda/gpu_recipe_test.
      if (transform.set() == "training") continue;
      SCOPED_TRACE(absl::StrCat(transform.name(), " ", entry.params_profile()));
      TryEntry(transform, entry);
      ++entries;
      compared += entry.params_profile() == "matched";
    }
  }
  EXPECT_EQ(entries, 52);
  EXPECT_EQ(compared, 26);
}

// Frames of clips go through the same launch.
TEST_F(FusedOpTest, EveryEntryOfNvdecDoesSomething) {
  const TransformSet& set =
      **catalogue_.Transforms(*catalogue_.FindScenario("video-16f"));
  int entries = 0;
  for (const Transform& transform : set.transforms()) {
    for (const Implementation& entry : transform.implementations()) {
      if (entry.library() != "nvdec") continue;
      SCOPED_TRACE(transform.name());
      TryEntry(transform, entry);
      ++entries;
    }
  }
  EXPECT_EQ(entries, 12);
}

TEST_F(FusedOpTest, MistakesAreNamed) {
  TransformSpec spec;
  spec.transform = "GaussianBlur";
  spec.native_op = "gaussian_blur";
  spec.params = {"size=4", "sigma=2"};
  EXPECT_THAT(std::string(MakeFusedOp(spec).status().message()),
              HasSubstr("must be odd"));
  spec.params = {"size=5", "sigma=2", "colour=red"};
  EXPECT_THAT(std::string(MakeFusedOp(spec).status().message()),
              HasSubstr("colour"));
  spec.native_op = "sharpen";
  EXPECT_THAT(std::string(MakeFusedOp(spec).status().message()),
              HasSubstr("no operation sharpen"));
}

TEST(SolvePerspectiveTest, CornersAreReadWhereTheyWereSaidToBe) {
  fused::Corners to;
  const double x[4] = {3, 90, -2, 97};
  const double y[4] = {1, -4, 49, 55};
  std::copy(x, x + 4, to.x);
  std::copy(y, y + 4, to.y);
  const fused::Projection p = fused::SolvePerspective(to, 51, 101);
  for (int i = 0; i < 4; ++i) {
    const fused::Place place =
        fused::ReadPlace(p, i % 2 == 1 ? 100 : 0, i / 2 == 1 ? 50 : 0);
    EXPECT_NEAR(place.x, x[i], 1e-3);
    EXPECT_NEAR(place.y, y[i], 1e-3);
  }
}

}  // namespace
}  // namespace feedrate
