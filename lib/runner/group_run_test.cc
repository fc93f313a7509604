#include "lib/runner/group_run.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;

Job MakeJob(const std::string& transform, const std::string& library,
            int64_t num_items = 20) {
  Job job;
  job.set_transform(transform);
  job.set_library(library);
  job.set_num_items(num_items);
  job.set_params_sha256(library + transform);
  // Not part of the work.
  job.set_env_group(library);
  return job;
}

TEST(GroupJobsTest, LibrariesOfOneTransformGoTogether) {
  const std::vector<Job> jobs = {
      MakeJob("Resize", "opencv"), MakeJob("Resize", "pillow"),
      MakeJob("Rotate", "opencv"), MakeJob("Resize", "kornia"),
      MakeJob("Resize", "opencv", 40)};
  EXPECT_THAT(GroupJobs(jobs), ElementsAre(ElementsAre(0, 1, 3), ElementsAre(2),
                                           ElementsAre(4)));
}

TEST(ShuffledOrderTest, IsAPermutationThatTheSeedDecides) {
  const std::vector<int> order = ShuffledOrder(6, 1);
  EXPECT_EQ(std::set<int>(order.begin(), order.end()).size(), 6);
  EXPECT_EQ(ShuffledOrder(6, 1), order);
  // The same on every machine.
  EXPECT_THAT(ShuffledOrder(4, 42), ElementsAre(2, 0, 3, 1));
  EXPECT_THAT(ShuffledOrder(0, 1), ElementsAre());
}

TEST(ShuffledOrderTest, EveryPlaceIsEquallyLikely) {
  std::vector<int> first(3);
  for (int seed = 0; seed < 3000; ++seed) ++first[ShuffledOrder(3, seed)[0]];
  for (const int count : first) EXPECT_NEAR(count, 1000, 120);
}

}  // namespace
}  // namespace feedrate
