#include "lib/runner/row_output.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kRow[] = "{\"schema\":1,\"record\":\"row\",\"job_id\":\"a\"}";

class RowOutputTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/row_output_" +
              testing::UnitTest::GetInstance()->current_test_info()->name() +
              std::to_string(getpid());
    ASSERT_TRUE(MakeFolder(folder_).ok());
  }

  std::string Write(const std::string& text) {
    const std::string path = folder_ + "/rows.jsonl";
    std::ofstream(path) << text;
    return path;
  }

  absl::StatusOr<std::unique_ptr<RowOutput>> Open(const std::string& path,
                                                  bool resume) {
    RowOutput::Options options;
    options.path = path;
    options.resume = resume;
    options.config = "version: 1\n";
    options.warn = [this](const std::string& text) { warnings_ += text; };
    return RowOutput::Open(options);
  }

  std::string folder_;
  std::string warnings_;
};

TEST_F(RowOutputTest, AFileStartsWithEnvAndRun) {
  const std::string path = folder_ + "/new.jsonl";
  auto output = Open(path, false);
  ASSERT_TRUE(output.ok()) << output.status();
  (*output)->SetHead(Env(), feedrate::Run());
  Row row;
  row.set_status("ok");
  ASSERT_TRUE((*output)->Write(row, "ignored.jsonl").ok());
  ASSERT_TRUE((*output)->Write(row, "ignored.jsonl").ok());
  const std::string text = *ReadFile(path);
  EXPECT_THAT(text, StartsWith("{\"schema\":1,\"record\":\"env\""));
  EXPECT_THAT(text, HasSubstr("\n{\"schema\":1,\"record\":\"run\""));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
  EXPECT_EQ((*output)->counts().at("ok"), 2);
}

TEST_F(RowOutputTest, AFolderGetsAFileALibraryAndTheConfig) {
  auto output = Open(folder_ + "/out/", false);
  ASSERT_TRUE(output.ok()) << output.status();
  ASSERT_TRUE((*output)->Write(Row(), "image-rgb/micro/a.jsonl").ok());
  ASSERT_TRUE((*output)->Write(Row(), "image-rgb/micro/b.jsonl").ok());
  EXPECT_TRUE(IsFile(folder_ + "/out/image-rgb/micro/a.jsonl"));
  EXPECT_THAT(*ReadFile(folder_ + "/out/image-rgb/micro/b.jsonl"),
              HasSubstr("\"record\":\"env\""));
  EXPECT_EQ(*ReadFile(folder_ + "/out/resolved_config.textproto"),
            "version: 1\n");
}

TEST_F(RowOutputTest, RowsAreNotOverwritten) {
  const std::string path = Write(std::string(kRow) + "\n");
  EXPECT_EQ(Open(path, false).status().code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(Open(path, true).ok());
  EXPECT_EQ(*ReadFile(path), std::string(kRow) + "\n");
}

TEST_F(RowOutputTest, AFileHasOneWriter) {
  const std::string path = folder_ + "/one_writer.jsonl";
  {
    const auto first = Open(path, /*resume=*/true);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_EQ(Open(path, /*resume=*/true).status().code(),
              absl::StatusCode::kUnavailable);
  }
  EXPECT_TRUE(Open(path, /*resume=*/true).ok());
}

TEST_F(RowOutputTest, ATornLastLineIsCutOff) {
  const std::string path =
      Write(std::string(kRow) + "\n" + std::string(kRow).substr(0, 20));
  ASSERT_TRUE(Open(path, true).ok());
  EXPECT_EQ(*ReadFile(path), std::string(kRow) + "\n");
  EXPECT_THAT(warnings_, HasSubstr("cut off a torn last line of 20 bytes"));
}

TEST_F(RowOutputTest, AWholeLastLineGetsItsNewline) {
  const std::string path = Write(std::string(kRow) + "\n" + kRow);
  ASSERT_TRUE(Open(path, true).ok());
  EXPECT_EQ(*ReadFile(path), std::string(kRow) + "\n" + kRow + "\n");
  EXPECT_EQ(warnings_, "");
}

TEST_F(RowOutputTest, ATornLineLongerThanABlockIsCutOff) {
  const std::string path = Write(std::string(kRow) + "\n{\"samples_s\":[" +
                                 std::string(200000, '1'));
  ASSERT_TRUE(Open(path, true).ok());
  EXPECT_EQ(*ReadFile(path), std::string(kRow) + "\n");
}

TEST_F(RowOutputTest, AFileThatCannotBeWrittenIsFoundAtOnce) {
  const std::string file = Write("");
  EXPECT_FALSE(Open(file + "/below/rows.jsonl", false).ok());
}

}  // namespace
}  // namespace feedrate
