#include "lib/worker/message.h"

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string WithoutNewline(const std::string& line) {
  EXPECT_EQ(line.back(), '\n');
  return line.substr(0, line.size() - 1);
}

TEST(MessageTest, HelloRoundTrip) {
  Hello hello;
  hello.pid = 12;
  hello.versions = {{"kornia", "0.8.2"}, {"torchvision", "0.26.0"}};
  hello.import_s = 2.5;
  const std::string line = HelloLine(hello);
  EXPECT_EQ(line, R"({"hello":1,"pid":12,"versions":{"kornia":"0.8.2",)"
                  R"("torchvision":"0.26.0"},"import_s":2.5})"
                  "\n");
  const auto parsed = ParseHello(WithoutNewline(line));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->versions, hello.versions);
}

TEST(MessageTest, PrepareRoundTripKeepsOddText) {
  PrepareCommand command;
  command.library = "pillow";
  command.transform = "Resize";
  command.native_op = "Image.resize";
  command.params = {"size=(512,512)", "name=\"a\\b\"\n\xff"};
  command.scenario = "image-rgb";
  command.device = "cpu";
  command.seed = -7;
  command.opencv_threads = 0;
  const auto parsed = ParseChildCommand(WithoutNewline(PrepareLine(command)));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->op, ChildCommand::Op::kPrepare);
  EXPECT_EQ(parsed->prepare.params[0], "size=(512,512)");
  EXPECT_EQ(parsed->prepare.params[1], "name=\"a\\b\"\n\xEF\xBF\xBD");
  EXPECT_EQ(parsed->prepare.seed, -7);
  EXPECT_EQ(parsed->prepare.opencv_threads, 0);
  EXPECT_EQ(parsed->prepare.torch_intra_op, -1);
}

TEST(MessageTest, TimeRoundTripIsExact) {
  TimeCommand command;
  command.count = 2000;
  command.seed = ~uint64_t{0};
  const auto parsed = ParseChildCommand(WithoutNewline(TimeLine(command)));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->time.seed, command.seed);
  TimeReply reply;
  reply.samples_s = {1e-9, 0.1 + 0.2, 0};
  reply.items = 3;
  const auto back = ParseTimeReply(WithoutNewline(TimeReplyLine(reply)));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->samples_s, reply.samples_s);
}

TEST(MessageTest, OutputRoundTrip) {
  OutputReply reply;
  reply.fd = 9;
  reply.outputs.push_back({0, 12, "uint8", "HWC", {2, 2, 3}});
  const auto parsed = ParseOutputReply(WithoutNewline(OutputReplyLine(reply)));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->outputs.size(), 1);
  EXPECT_THAT(parsed->outputs[0].shape, ElementsAre(2, 2, 3));
}

TEST(MessageTest, ChildInfoWithAndWithoutStatus) {
  EXPECT_EQ(ParseChildInfo(WithoutNewline(SpawnedLine(5)))->pid, 5);
  EXPECT_EQ(
      ParseChildInfo(WithoutNewline(ReapedLine({5, 139, 1 << 20})))->status,
      139);
}

TEST(MessageTest, AnErrorIsTheLibrarys) {
  const absl::Status status =
      ParseTimeReply(R"({"error":"TypeError: no","traceback":"x"})").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(status.message(), "TypeError: no");
}

TEST(MessageTest, MemoryThatRanOutIsToldApart) {
  for (const char* line : {R"({"error":"MemoryError: Unable to allocate"})",
                           R"({"error":"std::bad_alloc"})"}) {
    EXPECT_EQ(ParseTimeReply(line).status().code(),
              absl::StatusCode::kResourceExhausted);
  }
}

TEST(MessageTest, GarbageIsNamed) {
  const absl::Status status = ParseTimeReply("\x01Segmentation").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("garbage instead of an answer"));
}

TEST(MessageTest, AMissingOrWrongFieldIsNamed) {
  for (const char* line :
       {R"({})", R"({"samples_s":[1],"items":"x"})",
        R"({"samples_s":["a"],"items":1})", R"({"samples_s":[-1],"items":1})",
        R"([1,2])", R"({"samples_s":[null],"items":1})", ""}) {
    EXPECT_EQ(ParseTimeReply(line).status().code(), absl::StatusCode::kDataLoss)
        << line;
  }
}

}  // namespace
}  // namespace feedrate
