#include "lib/reference/distribution.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/config/transforms.pb.h"
#include "lib/reference/pixels.h"
#include "lib/reference/rearrange.h"

namespace feedrate {
namespace {

using ::testing::Contains;

Reference Ref(const std::string& op, const std::vector<std::string>& params) {
  Reference reference;
  reference.set_op(op);
  reference.set_kind(DISTRIBUTION);
  for (const std::string& param : params) reference.add_params(param);
  return reference;
}

Pixels Uneven() {
  Pixels image(12, 10, 3);
  for (size_t i = 0; i < image.values.size(); ++i) {
    image.values[i] = (i * i * 31 + 7 * i) % 256;
  }
  return image;
}

TEST(DistributionTest, SaysWhatDoesNotFit) {
  const Reference window = Ref("some_window", {"height=5", "width=4"});
  const auto good = CheckDraw(window, Uneven(), Crop(Uneven(), 2, 3, 5, 4));
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_TRUE(good->possible);
  EXPECT_TRUE(good->exact);
  const auto bad = CheckDraw(window, Uneven(), Crop(Uneven(), 2, 3, 4, 5));
  EXPECT_FALSE(bad->possible);
  EXPECT_FALSE(bad->exact);
  EXPECT_EQ(bad->problem, "the size is 5x4");
}

TEST(DistributionTest, NoiseIsNeverExact) {
  Pixels image(64, 64, 3);
  for (double& value : image.values) value = 128;
  const Reference none =
      Ref("salt_and_pepper", {"amount=(0,0.5)", "salt=(0,1)"});
  const auto check = CheckDraw(none, image, image);
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_TRUE(check->possible);
  EXPECT_FALSE(check->exact);
}

TEST(DistributionTest, WrongReferences) {
  for (const Reference& reference :
       {Ref("windows", {}), Ref("some_window", {"height=5"}),
        Ref("gaussian_noise", {"std=0"}), Ref("gaussian_noise", {"std=-1"}),
        Ref("shuffle_tiles", {"rows=0", "columns=4"}),
        Ref("permute_channels", {"order=1"})}) {
    EXPECT_FALSE(CheckDraw(reference, Uneven(), Uneven()).ok())
        << reference.op();
  }
}

TEST(DistributionTest, Names) {
  EXPECT_THAT(DistributionOps(), Contains("erase_some_rectangle"));
}

}  // namespace
}  // namespace feedrate
