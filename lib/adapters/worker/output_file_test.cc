#include "lib/adapters/worker/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

Output Of(const std::string& bytes) {
  Output output;
  output.data = bytes.data();
  output.bytes = bytes.size();
  output.dtype = "uint8";
  output.layout = "HWC";
  output.shape = {1, static_cast<int64_t>(bytes.size()), 1};
  return output;
}

std::string Read(int fd, const OutputItem& item) {
  std::string bytes(item.bytes, '\0');
  EXPECT_EQ(pread(fd, &bytes[0], item.bytes, item.offset), item.bytes);
  return bytes;
}

TEST(OutputFileTest, OthersReadItThroughProc) {
  absl::StatusOr<OutputFile> file = OutputFile::Create();
  ASSERT_TRUE(file.ok()) << file.status();
  const std::string first(100, 'a'), second = "bcd";
  ASSERT_TRUE(file->Append(Of(first)).ok());
  ASSERT_TRUE(file->Append(Of(second)).ok());
  const OutputReply& contents = file->contents();
  const int fd =
      open(absl::StrCat("/proc/self/fd/", contents.fd).c_str(), O_RDONLY);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(contents.outputs.size(), 2);
  EXPECT_EQ(contents.outputs[1].offset, 128);
  EXPECT_THAT(contents.outputs[1].shape, ::testing::ElementsAre(1, 3, 1));
  EXPECT_EQ(contents.outputs[1].dtype, "uint8");
  EXPECT_EQ(contents.outputs[1].layout, "HWC");
  EXPECT_EQ(Read(fd, contents.outputs[0]), first);
  EXPECT_EQ(Read(fd, contents.outputs[1]), second);
  close(fd);
}

TEST(OutputFileTest, ClosesWithTheObject) {
  int fd = -1;
  {
    absl::StatusOr<OutputFile> file = OutputFile::Create();
    ASSERT_TRUE(file.ok());
    const OutputFile moved = std::move(*file);
    fd = moved.contents().fd;
    EXPECT_GE(fcntl(fd, F_GETFD), 0);
  }
  EXPECT_EQ(fcntl(fd, F_GETFD), -1);
}

}  // namespace
}  // namespace feedrate
