#include "lib/base/without_query.h"

#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(WithoutQueriesTest, LeavesOutQueriesAlone) {
  EXPECT_EQ(WithoutQueries(""), "");
  EXPECT_EQ(WithoutQueries("a?b s3://bucket/a?b"), "a?b s3://bucket/a?b");
  EXPECT_EQ(WithoutQueries("https://h/a.tar"), "https://h/a.tar");
  EXPECT_EQ(WithoutQueries("--dataset=https://h/{0..9}.tar?X-Sig=abc"),
            "--dataset=https://h/{0..9}.tar?...");
  EXPECT_EQ(WithoutQueries("dataset: \"http://h/a?k=1\"\nid: \"b\""),
            "dataset: \"http://h/a?...\"\nid: \"b\"");
  EXPECT_EQ(WithoutQueries("http://a?1 https://b?2"),
            "http://a?... https://b?...");
}

}  // namespace
}  // namespace feedrate
