#include "lib/runner/fits_together.h"

#include <cstdint>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "lib/catalogue/catalogue.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

constexpr int64_t kGib = int64_t{1} << 30;

TEST(FitsTogetherTest, OnlyWhatCopiesItsInputsTakesThem) {
  const absl::StatusOr<Catalogue> catalogue = Catalogue::Load("configs");
  ASSERT_TRUE(catalogue.ok()) << catalogue.status();
  Job job;
  job.set_library("pillow");
  EXPECT_GT(OwnBytes(*catalogue, job, 4 * kGib), 4 * kGib);
  job.set_library("opencv");
  EXPECT_LT(OwnBytes(*catalogue, job, 4 * kGib), kGib);
}

TEST(FitsTogetherTest, ATenthIsLeftToOthers) {
  EXPECT_TRUE(FitTogether({4 * kGib, 4 * kGib}, 9 * kGib));
  EXPECT_FALSE(FitTogether({4 * kGib, 4 * kGib}, 8 * kGib));
}

TEST(FitsTogetherTest, OneAloneAlwaysRuns) {
  EXPECT_TRUE(FitTogether({4 * kGib}, kGib));
  EXPECT_TRUE(FitTogether({}, 0));
}

}  // namespace
}  // namespace feedrate
