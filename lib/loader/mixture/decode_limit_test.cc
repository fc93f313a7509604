#include "lib/loader/mixture/decode_limit.h"

#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "lib/loader/mixture/testing.h"
#include "lib/worker/loader_message.h"

namespace feedrate {
namespace {

TEST(MixtureDecodeLimitTest, IsAboveZeroForAnyThreads) {
  const MixtureSpec spec = TestOptions(0).spec;
  MixtureLimitOptions options;
  options.samples = 20;
  options.rounds = 1;
  for (const int threads : {0, 1, 3}) {
    options.threads = threads;
    const auto limit = MixtureDecodeLimit(TestMixture(), spec, options);
    ASSERT_TRUE(limit.ok()) << limit.status();
    EXPECT_GT(*limit, 0);
  }
}

TEST(MixtureDecodeLimitTest, PassesOverWhatCannotBeUsed) {
  std::vector<MixtureSource> sources = TestMixture();
  sources[0].shards.clear();
  MixtureLimitOptions options;
  options.samples = 8;
  options.rounds = 1;
  const MixtureSpec spec = TestOptions(0).spec;
  EXPECT_TRUE(MixtureDecodeLimit(sources, spec, options).ok());
  for (MixtureSource& source : sources) source.shards.clear();
  EXPECT_EQ(MixtureDecodeLimit(sources, spec, options).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace feedrate
