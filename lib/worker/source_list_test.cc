#include "lib/worker/source_list.h"

#include <sys/mman.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/memory_file.h"
#include "lib/base/unique_fd.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SourceListTest, LinesOfLists) {
  const auto text_of = [](const absl::StatusOr<UniqueFd>& fd) {
    EXPECT_TRUE(fd.ok()) << fd.status();
    return *ReadMemoryFile(fd->get(), "list");
  };
  EXPECT_EQ(text_of(WriteMixtureSources({{"a", 1.5, {"/x"}}})),
            R"({"name":"a","weight":1.5,"shards":["/x"],"image":"frames",)"
            R"("action":["action"],"state":["state"],)"
            R"("instruction":"instruction","episode_id":"episode_id"})"
            "\n");
  SourceFile part = {"shard.tar", 12, {}};
  part.part = ObjectPart{512, "v", "md5:00", "a.jpg", 0xfffffff0u};
  SourceFile clip = {"/v.mp4", 3, {4, 8}};
  EXPECT_EQ(text_of(WriteSourceList({part, clip})),
            R"({"path":"shard.tar","bytes":12,"offset":512,"version":"v",)"
            R"("checksum":"md5:00","member":"a.jpg","crc32c":4294967280})"
            "\n"
            R"({"path":"/v.mp4","bytes":3,"frames":[4,8]})"
            "\n");
}

TEST(MixtureSourcesTest, SourcesPassThroughAMemoryFile) {
  std::vector<MixtureSource> sources = {{"a", 1.5, {"/x/1", "/x/2"}},
                                        {"b", 0.25, {}}};
  sources[1].image = "steps/observation/image";
  sources[1].action = {"steps/x", "steps/y"};
  sources[1].instruction = "";
  const auto fd = WriteMixtureSources(sources);
  ASSERT_TRUE(fd.ok()) << fd.status();
  const auto read = ReadMixtureSources(fd->get());
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 2);
  EXPECT_EQ((*read)[0].name, "a");
  EXPECT_EQ((*read)[0].weight, 1.5);
  EXPECT_THAT((*read)[0].shards, ElementsAre("/x/1", "/x/2"));
  EXPECT_EQ((*read)[0].image, "frames");
  EXPECT_TRUE((*read)[1].shards.empty());
  EXPECT_EQ((*read)[1].image, "steps/observation/image");
  EXPECT_THAT((*read)[1].action, ElementsAre("steps/x", "steps/y"));
  EXPECT_THAT((*read)[1].state, ElementsAre("state"));
  EXPECT_EQ((*read)[1].instruction, "");
}

TEST(MixtureSourcesTest, AListWithoutDataSetsIsRefused) {
  const auto fd = WriteMixtureSources({});
  ASSERT_TRUE(fd.ok()) << fd.status();
  EXPECT_THAT(std::string(ReadMixtureSources(fd->get()).status().message()),
              HasSubstr("list of data sets is empty"));
}

UniqueFd FileWith(const std::string& text) {
  UniqueFd fd(memfd_create("list", MFD_CLOEXEC));
  EXPECT_EQ(write(fd.get(), text.data(), text.size()), text.size());
  return fd;
}

TEST(SourceListTest, RoundTripKeepsOddNames) {
  const auto fd = WriteSourceList({{"/data/a \"b\".jpg", 12}, {"/x\ty", 0}});
  ASSERT_TRUE(fd.ok()) << fd.status();
  const auto files = ReadSourceList(fd->get());
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ(files->size(), 2);
  EXPECT_EQ((*files)[0].path, "/data/a \"b\".jpg");
  EXPECT_EQ((*files)[0].bytes, 12);
  EXPECT_EQ((*files)[1].path, "/x\ty");
  EXPECT_EQ(write(fd->get(), "x", 1), -1) << "it is sealed";
}

// It would become the name of another file.
TEST(SourceListTest, ANameThatIsNotUtf8IsRefused) {
  EXPECT_THAT(
      std::string(WriteSourceList({{"/x/\xff.jpg", 1}}).status().message()),
      HasSubstr("/x/\\xff.jpg: its name is not UTF-8"));
}

TEST(SourceListTest, RoundTripOfParts) {
  SourceFile file = {"shard.tar", 12, {}};
  file.part = ObjectPart{512, "\"etag\"", "md5:00", "a/ü.jpg", 0xfffffff0u};
  SourceFile plain = {"a.jpg", 3, {}};
  plain.part.emplace();
  const auto fd = WriteSourceList({file, plain, {"/local.jpg", 1}});
  const auto files = ReadSourceList(fd->get());
  ASSERT_TRUE(files.ok()) << files.status();
  const ObjectPart& part = *(*files)[0].part;
  EXPECT_EQ(part.offset, 512);
  EXPECT_EQ(part.version, "\"etag\"");
  EXPECT_EQ(part.checksum, "md5:00");
  EXPECT_EQ(part.member, "a/ü.jpg");
  EXPECT_EQ(part.crc32c, 0xfffffff0u);
  EXPECT_TRUE((*files)[1].part.has_value());
  EXPECT_FALSE((*files)[1].part->crc32c.has_value());
  EXPECT_FALSE((*files)[2].part.has_value());
}

TEST(SourceListTest, ABrokenLineIsNamed) {
  const UniqueFd fd = FileWith("{\"path\":\"/a\",\"bytes\":1}\n{\"path\":3}\n");
  const auto files = ReadSourceList(fd.get());
  ASSERT_FALSE(files.ok());
  EXPECT_THAT(std::string(files.status().message()), HasSubstr("line 2"));
}

TEST(SourceListTest, AnEmptyListIsRefused) {
  EXPECT_FALSE(ReadSourceList(FileWith("").get()).ok());
}

}  // namespace
}  // namespace feedrate
