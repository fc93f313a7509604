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
