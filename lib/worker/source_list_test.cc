#include "lib/worker/source_list.h"

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/unique_fd.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

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
