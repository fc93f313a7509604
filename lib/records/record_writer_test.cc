#include "lib/records/record_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

class RecordWriterTest : public ::testing::Test {
 protected:
  RecordWriterTest()
      : path_(::testing::TempDir() + "/record_writer_test"),
        fd_(open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644)) {}
  ~RecordWriterTest() override { close(fd_); }

  std::string path_;
  int fd_;
};

TEST_F(RecordWriterTest, EachRecordIsOutAtOnce) {
  RecordWriter writer(fd_, "f", RecordWriter::Flush::kEachRecord);
  ASSERT_TRUE(writer.Write(Limit()).ok());
  EXPECT_EQ(*ReadFile(path_),
            "{\"schema\":1,\"record\":\"limit\",\"name\":\"\","
            "\"throughput\":0}\n");
}

TEST_F(RecordWriterTest, BufferedFileEndsWithALineAtEveryMoment) {
  RecordWriter writer(fd_, "f", RecordWriter::Flush::kWhenFull);
  for (int i = 0; i < 5000; ++i) {
    ASSERT_TRUE(writer.Write(Limit()).ok());
    if (i % 500 != 0) continue;
    const std::string content = *ReadFile(path_);
    EXPECT_TRUE(content.empty() || content.back() == '\n');
  }
  ASSERT_TRUE(writer.Finish().ok());
  const std::string content = *ReadFile(path_);
  EXPECT_EQ(std::count(content.begin(), content.end(), '\n'), 5000);
}

TEST_F(RecordWriterTest, FullDiskIsAnErrorWithTheName) {
  const int full = open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  RecordWriter writer(full, "rows.jsonl", RecordWriter::Flush::kEachRecord);
  const absl::Status status = writer.Write(Limit());
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("rows.jsonl: cannot write: No space left"));
  close(full);
}

}  // namespace
}  // namespace feedrate
