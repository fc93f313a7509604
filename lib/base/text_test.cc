#include "lib/base/text.h"

#include <string>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(EditDistanceTest, CountsEdits) {
  EXPECT_EQ(EditDistance("", ""), 0);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("abc", ""), 3);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(EditDistance("wrokers", "workers"), 1);
}

TEST(EditDistanceTest, CaseAndHyphensAreFree) {
  EXPECT_EQ(EditDistance("Num-Items", "num_items"), 0);
}

TEST(DidYouMeanTest, NamesTheNearest) {
  EXPECT_EQ(DidYouMean("kornai", {"kornia", "pillow"}),
            "; did you mean \"kornia\"?");
}

TEST(DidYouMeanTest, ListsAFewWhenNothingIsNear) {
  EXPECT_EQ(DidYouMean("zzz", {"cpu", "cuda"}), "; use one of cpu, cuda");
}

TEST(DidYouMeanTest, IsSilentOnLongLists) {
  std::vector<std::string> many;
  for (int i = 0; i < 40; ++i) many.push_back("transform" + std::to_string(i));
  EXPECT_EQ(DidYouMean("q", many), "");
  EXPECT_EQ(DidYouMean("q", {}), "");
}

TEST(CheckChoiceTest, TakesWhatIsKnown) {
  EXPECT_TRUE(CheckChoice("--format", "jsonl", {"table", "jsonl"}).ok());
}

TEST(CheckChoiceTest, NamesFlagValueAndTheNearest) {
  const absl::Status status =
      CheckChoice("--format", "jsnl", {"table", "jsonl"});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(StartsWith("--format: \"jsnl\" is unknown"), HasSubstr("jsonl")));
}

TEST(Utf8LengthTest, FirstAndLastOfEachLength) {
  EXPECT_EQ(Utf8Length(absl::string_view("\0", 1)), 1);
  EXPECT_EQ(Utf8Length("\x7Fx"), 1);
  EXPECT_EQ(Utf8Length("\xC2\x80x"), 2);
  EXPECT_EQ(Utf8Length("\xDF\xBF"), 2);
  EXPECT_EQ(Utf8Length("\xE0\xA0\x80"), 3);
  EXPECT_EQ(Utf8Length("\xED\x9F\xBF"), 3);
  EXPECT_EQ(Utf8Length("\xEE\x80\x80"), 3);
  EXPECT_EQ(Utf8Length("\xF0\x90\x80\x80"), 4);
  EXPECT_EQ(Utf8Length("\xF4\x8F\xBF\xBF"), 4);
}

TEST(Utf8LengthTest, WhatIsNoCharacter) {
  for (const char* text :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2x", "\xE0\x9F\xBF",
        "\xED\xA0\x80", "\xE2\x82", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80", "\xFF"}) {
    EXPECT_EQ(Utf8Length(text), 0) << text;
  }
}

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

TEST(WithoutQueriesTest, LeavesOutUsersAndPasswords) {
  EXPECT_EQ(WithoutQueries("see https://me:p@ss@h:1/a@b?k=1, "),
            "see https://h:1/a@b?... ");
  EXPECT_EQ(WithoutQueries("http://me@h"), "http://h");
  EXPECT_EQ(WithoutQueries("http://h/a@b"), "http://h/a@b");
}

TEST(DatasetIdTest, TheLastPartWithoutItsEnding) {
  EXPECT_EQ(*DatasetId("/data/imagenet/val"), "val");
  EXPECT_EQ(*DatasetId("/data/imagenet/val/"), "val");
  EXPECT_EQ(*DatasetId("gs://bucket/imagenet/val.tar"), "val");
  EXPECT_EQ(*DatasetId("https://host/a/val.tar.gz"), "val");
  EXPECT_EQ(*DatasetId("val"), "val");
}

TEST(DatasetIdTest, SyntheticDataIsNamedByItsParameters) {
  EXPECT_EQ(*DatasetId("synthetic:rgb,seed=1,n=20"),
            "synthetic:rgb,n=20,seed=1");
  EXPECT_EQ(*DatasetId("synthetic:rgb"), "synthetic:rgb");
}

TEST(DatasetIdTest, NothingToNameItByIsAnError) {
  for (const char* bad : {"", "/", "..", "synthetic:", "synthetic:n=3",
                          "synthetic:rgb,n", "synthetic:rgb,=2"}) {
    EXPECT_FALSE(DatasetId(bad).ok()) << bad;
  }
}

TEST(DatasetIdTest, OfAnAddressItIsTheLastPart) {
  EXPECT_EQ(*DatasetId("s3://bucket/a/val/"), "val");
  EXPECT_EQ(*DatasetId("gs://bucket"), "bucket");
  EXPECT_EQ(*DatasetId("https://host/shard-{000..099}.tar"),
            "shard-{000..099}");
  EXPECT_EQ(*DatasetId("https://host/a/val.tar?X-Amz-Signature=0/1"), "val");
}

TEST(IsRemoteDatasetTest, KnowsAddresses) {
  EXPECT_TRUE(IsRemoteDataset("s3://bucket/prefix"));
  EXPECT_TRUE(IsRemoteDataset("gs://bucket"));
  EXPECT_TRUE(IsRemoteDataset("https://host/shard-{000..099}.tar"));
  EXPECT_TRUE(IsRemoteDataset("file:///data"));
  EXPECT_FALSE(IsRemoteDataset("/data/s3://x"));
  EXPECT_FALSE(IsRemoteDataset("synthetic:rgb,n=10"));
}

TEST(SizesTest, Units) {
  EXPECT_EQ(ParseSize("4096"), 4096);
  EXPECT_EQ(ParseSize("48K\n"), 48 * 1024);
  EXPECT_EQ(ParseSize(" 105M"), 105 * 1024 * 1024);
  EXPECT_EQ(ParseSize("2G"), int64_t{2} << 30);
  EXPECT_EQ(ParseSize("263842304 kB"), int64_t{263842304} * 1024);
  EXPECT_EQ(ParseSize("0 kB"), 0);
}

TEST(SizesTest, NoSize) {
  for (const char* text : {"", "K", "-1", "-1K", "12Q", "1.5M", "max",
                           "9223372036854775807K", "99999999999999999999"}) {
    EXPECT_EQ(ParseSize(text), std::nullopt) << text;
  }
}

TEST(SizesTest, AFlagIsNamed) {
  EXPECT_EQ(*SizeOfFlag("--x", "2K", 1), 2048);
  EXPECT_EQ(*SizeOfFlag("--x", "0", 0), 0);
  EXPECT_EQ(SizeOfFlag("--x", "2Q", 1).status().message(),
            "--x: \"2Q\" is no size; write it as 500M or 2G");
  EXPECT_EQ(SizeOfFlag("--x", "0", 1).status().message(),
            "--x: 0 is too small; use at least 1 bytes, such as 500M");
}

}  // namespace
}  // namespace feedrate
