#include "lib/loader/fault_list.h"

#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(FaultListTest, KeepsTheFirstByPosition) {
  FaultList faults;
  for (int64_t position = 100; position > 0; --position) {
    faults.Add({position, position * 2, "name", "reason"});
  }
  EXPECT_EQ(faults.total(), 100);
  const auto kept = faults.kept();
  ASSERT_EQ(kept.size(), FaultList::kKept);
  EXPECT_EQ(kept.front().position, 1);
  EXPECT_EQ(kept.back().position, 20);
  EXPECT_EQ(kept.back().item, 40);
}

}  // namespace
}  // namespace feedrate
