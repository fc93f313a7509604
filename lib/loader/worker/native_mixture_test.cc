#include "lib/loader/worker/native_mixture.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/loader/mixture/testing.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

TransformSpec SmallSpec() {
  TransformSpec spec;
  spec.mixture = TestOptions(0).spec;
  return spec;
}

TEST(NativeMixtureTest, CountsWhatBatchesHold) {
  const std::vector<MixtureSource> sources = TestMixture();
  const auto loader = PrepareNativeMixture(SmallSpec(), sources);
  ASSERT_TRUE(loader.ok()) << loader.status();
  EpochCommand command;
  command.seed = 3;
  command.count = 40;
  const absl::StatusOr<EpochReply> reply = (*loader)->RunEpoch(command);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->items, 40);
  ASSERT_EQ(reply->batches, 5);
  ASSERT_EQ(reply->times_s.size(), 5);
  ASSERT_EQ(reply->counts.size(), 5);
  double before = 0;
  for (int i = 0; i < 5; ++i) {
    EXPECT_GE(reply->times_s[i], before);
    before = reply->times_s[i];
    int64_t samples = 0;
    for (size_t j = 1; j < reply->counts[i].size(); j += 2) {
      samples += reply->counts[i][j];
    }
    EXPECT_EQ(samples, 8);
  }
  EXPECT_EQ(reply->bytes_out, 40 * 2 * 24 * 24 * 3);
  EXPECT_EQ(reply->stages.size(), 2);
  EXPECT_GT(reply->memory_bound_bytes, 0);
  EXPECT_TRUE((*loader)->Stop().ok());
  // And again: the same batches.
  EXPECT_EQ((*loader)->RunEpoch(command)->counts, reply->counts);
}

TEST(NativeMixtureTest, AWeightOfNothingIsRefused) {
  std::vector<MixtureSource> sources = TestMixture();
  for (const double weight : {0.0, -1.0}) {
    sources[1].weight = weight;
    EXPECT_THAT(
        std::string(
            PrepareNativeMixture(SmallSpec(), sources).status().message()),
        HasSubstr("data set \"b\": weight"));
  }
}

TEST(NativeMixtureTest, ATeardownCanBeDelayed) {
  const std::vector<MixtureSource> sources = TestMixture();
  const auto loader = PrepareNativeMixture(SmallSpec(), sources);
  ASSERT_TRUE(loader.ok()) << loader.status();
  setenv(kTeardownDelayVariable, "0.05", 1);
  EXPECT_GE((*loader)->Stop().value(), 0.05);
  unsetenv(kTeardownDelayVariable);
}

}  // namespace
}  // namespace feedrate
