#include "lib/gate/update_baseline.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"

namespace feedrate {
namespace {

Checkout On(const std::string& branch, bool dirty) {
  Checkout checkout;
  checkout.branch = branch;
  checkout.git.set_revision("abc");
  checkout.git.set_dirty(dirty);
  return checkout;
}

TEST(UpdateBaselineTest, OnlyOnMainOfACleanCheckout) {
  EXPECT_TRUE(MayUpdate(On("main", false), "").ok());
  EXPECT_FALSE(MayUpdate(On("main", true), "").ok());
  EXPECT_FALSE(MayUpdate(On("feature", false), "").ok());
  EXPECT_FALSE(MayUpdate(On("", false), "").ok());
  EXPECT_FALSE(MayUpdate(Checkout(), "").ok());
  Checkout unknown = On("main", false);
  unknown.git.clear_dirty();
  EXPECT_FALSE(MayUpdate(unknown, "").ok());
  EXPECT_TRUE(MayUpdate(Checkout(), "new machine").ok());
}

TEST(UpdateBaselineTest, KeepsWhatItReplaced) {
  const std::string folder = absl::StrCat(testing::TempDir(), "/baselines");
  const absl::Time now = absl::FromUnixSeconds(1767323045);
  const std::vector<NewBaseline> first = {{"m", "metrics.json", "one\n"}};
  auto updates = UpdateBaselines(folder, first, On("main", false), "", now);
  ASSERT_TRUE(updates.ok()) << updates.status();
  EXPECT_EQ((*updates)[0].replaced(), "");
  const std::vector<NewBaseline> second = {{"m", "metrics.json", "two\n"}};
  updates = UpdateBaselines(folder, second, On("x", true), "why", now);
  ASSERT_TRUE(updates.ok()) << updates.status();
  EXPECT_EQ((*updates)[0].maintainer_reason(), "why");
  EXPECT_EQ((*updates)[0].replaced(),
            "history/m.metrics.20260102T030405.000Z.json");
  EXPECT_EQ(*ReadFile(folder + "/m.metrics.json"), "two\n");
  EXPECT_EQ(*ReadFile(folder + "/" + (*updates)[0].replaced()), "one\n");
  const std::string log = *ReadFile(folder + "/m.updates.jsonl");
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 2);
}

}  // namespace
}  // namespace feedrate
