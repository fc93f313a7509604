#include "lib/base/override_flags.h"

#include "gflags/gflags.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/flag_parser.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;

class OverrideFlagsTest : public ::testing::Test {
 private:
  gflags::FlagSaver saver_;
};

TEST_F(OverrideFlagsTest, NothingGivenIsNothingSet) {
  const Overrides set = OverridesFromFlags();
  EXPECT_FALSE(set.num_items.has_value());
  EXPECT_FALSE(set.libraries.has_value());
  EXPECT_FALSE(set.output.has_value());
}

// Zero is what most flags default to; giving it is still an answer.
TEST_F(OverrideFlagsTest, AZeroThatIsGivenCounts) {
  ASSERT_TRUE(ParseFlags({"--workers=0", "--num-items=5"}).ok());
  const Overrides set = OverridesFromFlags();
  EXPECT_EQ(set.num_items, 5);
  EXPECT_EQ(set.workers, 0);
  EXPECT_FALSE(set.batch_size.has_value());
}

TEST_F(OverrideFlagsTest, ListsSplitAtCommas) {
  ASSERT_TRUE(ParseFlags({"--libraries=kornia, pillow,"}).ok());
  EXPECT_THAT(*OverridesFromFlags().libraries, ElementsAre("kornia", "pillow"));
}

}  // namespace
}  // namespace feedrate
