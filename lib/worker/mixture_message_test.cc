#include "lib/worker/mixture_message.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::string_view WithoutNewline(const std::string& line) {
  return absl::string_view(line).substr(0, line.size() - 1);
}

TEST(MixtureMessageTest, PrepareRoundTrip) {
  PrepareCommand command;
  command.library = "native";
  command.mixture.emplace();
  command.mixture->metadata = "full";
  command.mixture->frame_height = 128;
  command.mixture->samples_per_episode = 0;
  const std::string line = PrepareLine(command);
  const auto parsed = ParseChildCommand(WithoutNewline(line));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_TRUE(parsed->prepare.mixture.has_value());
  EXPECT_EQ(parsed->prepare.mixture->frame_height, 128);
  EXPECT_EQ(PrepareLine(parsed->prepare), line);
}

TEST(MixtureMessageTest, StopRoundTrip) {
  const auto parsed = ParseChildCommand(WithoutNewline(StopLine()));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->op, ChildCommand::Op::kStop);
  const std::string reply = StopReplyLine({0.25});
  EXPECT_EQ(ParseStopReply(WithoutNewline(reply))->teardown_s, 0.25);
  EXPECT_FALSE(ParseStopReply("{\"teardown_s\":-1}").ok());
}

TEST(MixtureMessageTest, AWrongFieldIsNamed) {
  MixtureSpec spec;
  EXPECT_TRUE(CheckMixtureSpec(spec).ok());
  spec.queue_depth = 0;
  EXPECT_THAT(std::string(CheckMixtureSpec(spec).message()),
              HasSubstr("queue_depth is 0; use at least 1"));
  spec = MixtureSpec();
  spec.frame_width = 225;
  EXPECT_THAT(std::string(CheckMixtureSpec(spec).message()),
              HasSubstr("frame_width is 225"));
  spec = MixtureSpec();
  spec.metadata = "some";
  EXPECT_THAT(std::string(CheckMixtureSpec(spec).message()),
              HasSubstr("use none, dataset_only or full"));
}

TEST(MixtureMessageTest, SourcesPassThroughAMemoryFile) {
  const std::vector<MixtureSource> sources = {{"a", 1.5, {"/x/1", "/x/2"}},
                                              {"b", 0.25, {}}};
  const auto fd = WriteMixtureSources(sources);
  ASSERT_TRUE(fd.ok()) << fd.status();
  const auto read = ReadMixtureSources(fd->get());
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 2);
  EXPECT_EQ((*read)[0].name, "a");
  EXPECT_EQ((*read)[0].weight, 1.5);
  EXPECT_THAT((*read)[0].shards, ElementsAre("/x/1", "/x/2"));
  EXPECT_TRUE((*read)[1].shards.empty());
}

TEST(MixtureMessageTest, AListWithoutDataSetsIsRefused) {
  const auto fd = WriteMixtureSources({});
  ASSERT_TRUE(fd.ok()) << fd.status();
  EXPECT_THAT(std::string(ReadMixtureSources(fd->get()).status().message()),
              HasSubstr("list of data sets is empty"));
}

TEST(MixtureMessageTest, CountsOfBatchesRoundTrip) {
  EpochReply reply;
  reply.items = 8;
  reply.batches = 2;
  reply.samples_s = {0.5, 0.25};
  reply.times_s = {0.5, 0.75};
  reply.counts = {{0, 3, 2, 1}, {1, 4}};
  reply.left_out = {"empty"};
  const std::string line = EpochReplyLine(reply);
  const auto parsed = ParseEpochReply(WithoutNewline(line));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_THAT(parsed->counts,
              ElementsAre(ElementsAre(0, 3, 2, 1), ElementsAre(1, 4)));
  EXPECT_THAT(parsed->left_out, ElementsAre("empty"));
  EXPECT_EQ(EpochReplyLine(*parsed), line);
}

TEST(MixtureMessageTest, CountsThatAreNoPairsAreRefused) {
  EpochReply reply;
  reply.times_s = {0.5};
  reply.counts = {{0, 3, 2}};
  EXPECT_THAT(std::string(ParseEpochReply(WithoutNewline(EpochReplyLine(reply)))
                              .status()
                              .message()),
              HasSubstr("counts"));
}

}  // namespace
}  // namespace feedrate
