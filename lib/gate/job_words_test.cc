#include "lib/gate/job_words.h"

#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(JobWordsTest, NamesWhatTellsJobsApart) {
  Row row;
  row.set_job_id("0123456789abcdef");
  EXPECT_EQ(JobWords(row), "0123456789abcdef");
  row.set_mode("micro");
  row.set_library("opencv");
  row.set_transform("Resize");
  row.set_device("cpu");
  EXPECT_EQ(JobWords(row), "opencv Resize");
  row.set_mode("pipeline");
  row.set_device("cuda");
  row.set_batch_size(64);
  row.set_workers(2);
  (*row.mutable_settings())["prefetch"] = "4";
  EXPECT_EQ(JobWords(row),
            "pipeline opencv Resize cuda batch_size=64 workers=2 prefetch=4");
}

TEST(JobWordsTest, APlainCommandIsItsName) {
  Row row;
  row.set_mode("command");
  (*row.mutable_settings())["name"] = "sleep 1";
  EXPECT_EQ(JobWords(row), "sleep 1");
}

TEST(GlobMatchesTest, Cases) {
  EXPECT_TRUE(GlobMatches("", ""));
  EXPECT_TRUE(GlobMatches("*", ""));
  EXPECT_TRUE(GlobMatches("opencv *", "opencv Resize"));
  EXPECT_TRUE(GlobMatches("*Re?ize*", "opencv Resize cuda"));
  EXPECT_TRUE(GlobMatches("a*b*c", "a--b-b--c"));
  EXPECT_FALSE(GlobMatches("opencv", "opencv Resize"));
  EXPECT_FALSE(GlobMatches("?", ""));
  EXPECT_FALSE(GlobMatches("a*b", "a-c"));
}

TEST(IsWantedJobTest, IdsAndWords) {
  EXPECT_TRUE(IsWantedJob("", "0123456789abcdef", "x"));
  EXPECT_TRUE(IsWantedJob("0123", "0123456789abcdef", "x"));
  EXPECT_FALSE(IsWantedJob("012", "0123456789abcdef", "x"));
  EXPECT_TRUE(IsWantedJob("x*", "0123456789abcdef", "xy"));
}

}  // namespace
}  // namespace feedrate
