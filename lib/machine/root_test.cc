#include "lib/machine/root.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/machine/testing/fake_root.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(RootTest, ReadsBelowItsFolder) {
  FakeRoot files;
  files.Write("/proc/x", " 17 \n");
  const Root root = files.root();
  EXPECT_FALSE(root.is_live());
  EXPECT_TRUE(root.Exists("/proc/x"));
  EXPECT_EQ(root.Read("/proc/x"), " 17 \n");
  EXPECT_EQ(root.Read("proc/x", 2), " 1");
  EXPECT_EQ(root.ReadText("/proc/x"), "17");
  EXPECT_EQ(root.ReadInt("/proc/x"), 17);
}

TEST(RootTest, WhatIsAbsentOrGarbledIsNotKnown) {
  FakeRoot files;
  files.Write("/proc/word", "max\n");
  files.Write("/proc/huge", "99999999999999999999\n");
  const Root root = files.root();
  EXPECT_FALSE(root.Exists("/proc/none"));
  EXPECT_EQ(root.Read("/proc/none"), std::nullopt);
  EXPECT_EQ(root.Read("/proc"), std::nullopt);
  EXPECT_EQ(root.ReadText("/proc/none"), "");
  EXPECT_EQ(root.ReadInt("/proc/none"), std::nullopt);
  EXPECT_EQ(root.ReadInt("/proc/word"), std::nullopt);
  EXPECT_EQ(root.ReadInt("/proc/huge"), std::nullopt);
  EXPECT_THAT(root.List("/none"), IsEmpty());
}

TEST(RootTest, ListsSortedNames) {
  FakeRoot files;
  files.Write("/sys/b", "");
  files.Write("/sys/a/file", "");
  files.Write("/sys/.c", "");
  EXPECT_THAT(files.root().List("/sys"), ElementsAre(".c", "a", "b"));
}

TEST(RootTest, ReadsMoreThanOneBuffer) {
  FakeRoot files;
  const std::string contents(10000, 'x');
  files.Write("/proc/long", contents);
  EXPECT_EQ(files.root().Read("/proc/long"), contents);
  EXPECT_EQ(files.root().Read("/proc/long", 5000)->size(), 5000);
}

TEST(RootTest, ResolvesLinksInsideItself) {
  FakeRoot files;
  files.Write("/opt/python/bin/python3.11", "");
  const std::string link = files.root().PathOf("/opt/python3");
  ASSERT_EQ(symlink("python/bin/python3.11", link.c_str()), 0);
  EXPECT_EQ(files.root().Resolve("/opt/python3"), "/opt/python/bin/python3.11");
  EXPECT_EQ(files.root().Resolve("/none"), "/none");
  const std::string out = files.root().PathOf("/opt/out");
  ASSERT_EQ(symlink("/", out.c_str()), 0);
  EXPECT_EQ(files.root().Resolve("/opt/out"), "/opt/out");
}

TEST(RootTest, APipeDoesNotBlock) {
  FakeRoot files;
  files.Write("/proc/x", "");
  ASSERT_EQ(mkfifo(files.root().PathOf("/proc/pipe").c_str(), 0600), 0);
  EXPECT_EQ(files.root().ReadText("/proc/pipe"), "");
}

TEST(RootTest, LiveRootIsTheMachine) {
  EXPECT_TRUE(Root().is_live());
  EXPECT_TRUE(Root("//").is_live());
  EXPECT_EQ(Root().PathOf("/proc/stat"), "/proc/stat");
  EXPECT_NE(Root().Read("/proc/stat"), std::nullopt);
}

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
