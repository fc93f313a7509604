#include "lib/machine/cpu_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(CpuListTest, RangesAndSingles) {
  EXPECT_THAT(ParseCpuList("0"), ElementsAre(0));
  EXPECT_THAT(ParseCpuList("0-3\n"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(ParseCpuList("8,0-1,10-11"), ElementsAre(0, 1, 8, 10, 11));
  EXPECT_THAT(ParseCpuList("1-2,2-3"), ElementsAre(1, 2, 3));
  EXPECT_THAT(ParseCpuList("0-1023"), SizeIs(1024));
}

TEST(CpuListTest, WhatIsNoListIsEmpty) {
  for (const char* text : {"", "\n", "-", "3-1", "0-", "a", "0,,1", "0-1-2",
                           "0,x", "-1", "0-99999999", "0-3,"}) {
    EXPECT_THAT(ParseCpuList(text), IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace feedrate
