#include "lib/loader/mixture/mixture_folder.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/loader/testing/test_files.h"

namespace feedrate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string Message(const std::string& folder) {
  return std::string(ReadMixtureFolder(folder).status().message());
}

TEST(MixtureFolderTest, FoldersAreDataSets) {
  const std::string folder = NewTestFolder();
  for (const char* name : {"b", "a", "empty"}) {
    ASSERT_TRUE(MakeFolder(JoinPath(folder, name)).ok());
  }
  WriteTestFile(folder, "a/2.tfrecord", "");
  WriteTestFile(folder, "a/1.tfrecord-00000-of-00001", "");
  WriteTestFile(folder, "a/readme.txt", "");
  WriteTestFile(folder, "b/1.tfrecord", "");
  const auto sources = ReadMixtureFolder(folder);
  ASSERT_TRUE(sources.ok()) << sources.status();
  ASSERT_THAT(*sources, SizeIs(2));
  EXPECT_EQ((*sources)[0].name, "a");
  EXPECT_EQ((*sources)[0].weight, 1);
  ASSERT_THAT((*sources)[0].shards, SizeIs(2));
  EXPECT_THAT((*sources)[0].shards[0], HasSubstr("/a/1.tfrecord-00000"));
}

TEST(MixtureFolderTest, TheFileSaysOrderAndWeights) {
  const std::string folder = NewTestFolder();
  for (const char* name : {"a", "b"}) {
    ASSERT_TRUE(MakeFolder(JoinPath(folder, name)).ok());
  }
  ASSERT_TRUE(WriteMixtureFile(folder, {{"b", 0.125}, {"a", 3}}).ok());
  const auto sources = ReadMixtureFolder(folder);
  ASSERT_TRUE(sources.ok()) << sources.status();
  EXPECT_EQ((*sources)[0].name, "b");
  EXPECT_EQ((*sources)[0].weight, 0.125);
  EXPECT_THAT((*sources)[0].shards, SizeIs(0)) << "the mixture decides";
}

TEST(MixtureFolderTest, SaysWhatIsMissing) {
  EXPECT_THAT(Message("/no/such/folder"), HasSubstr("no such folder"));
  const std::string folder = NewTestFolder();
  EXPECT_THAT(Message(folder),
              AllOf(HasSubstr("no data set"), HasSubstr("mixture.textproto")));
  ASSERT_TRUE(WriteMixtureFile(folder, {{"gone", 1}}).ok());
  EXPECT_THAT(Message(folder), HasSubstr("data set \"gone\""));
  WriteTestFile(folder, kMixtureFileName, "weights { dataset: \"a\" }");
  EXPECT_THAT(Message(folder), HasSubstr("lacks its dataset or its weight"));
  WriteTestFile(folder, kMixtureFileName, "weight { }");
  EXPECT_THAT(Message(folder), HasSubstr("mixture.textproto:1"));
}

}  // namespace
}  // namespace feedrate
