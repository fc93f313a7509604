#include "lib/adapters/worker/child_session.h"

#include <fcntl.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/media/small_corpus.h"
#include "lib/records/worker.pb.h"
#include "lib/worker/source_list.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Logs its calls; throws on a given item.
class RecordingTransform : public PreparedTransform {
 public:
  RecordingTransform(std::vector<std::string>* log, const Corpus& corpus)
      : log_(log), corpus_(corpus) {}
  void Seed(uint64_t seed) override {
    log_->push_back(absl::StrCat("s", seed));
  }
  void Run(int64_t item) override {
    log_->push_back(absl::StrCat("r", item));
    if (log_->front() == "throw") throw std::out_of_range("no such pixel");
  }
  absl::StatusOr<Output> RunForOutput(int64_t item) override {
    Run(item);
    const ImageView image = corpus_.image(item);
    Output output;
    output.data = image.data;
    output.bytes = corpus_.item(item).bytes;
    output.dtype = "uint8";
    output.layout = "HWC";
    output.shape = {image.height, image.width, image.channels};
    return output;
  }

 private:
  std::vector<std::string>* log_;
  const Corpus& corpus_;
};

// Delivers nothing; logs its calls.
class RecordingLoader : public PreparedLoader {
 public:
  RecordingLoader(std::vector<std::string>* log, const LoaderInput& input)
      : log_(log), input_(input) {}
  absl::StatusOr<EpochReply> RunEpoch(const EpochCommand& command) override {
    log_->push_back(absl::StrCat("e", command.first(), "+", command.count()));
    EpochReply reply;
    reply.set_items(input_.corpus == nullptr
                        ? static_cast<int64_t>(input_.files.size())
                        : input_.corpus->size());
    return reply;
  }
  absl::StatusOr<Output> OutputFor(int64_t item, uint64_t seed) override {
    log_->push_back(absl::StrCat("o", item, ",", seed));
    Output output;
    output.data = &pixel_;
    output.bytes = sizeof(pixel_);
    output.dtype = "float32";
    output.layout = "CHW";
    output.shape = {1, 1, 1};
    return output;
  }

 private:
  std::vector<std::string>* log_;
  const LoaderInput& input_;
  const float pixel_ = 0.5f;
};

class RecordingAdapter : public Adapter {
 public:
  std::string library() const override { return "recording"; }
  std::string version() const override { return "1.2"; }
  int threads() const override { return 3; }
  absl::StatusOr<std::unique_ptr<PreparedTransform>> Prepare(
      const PrepareCommand& spec, const Corpus& corpus) override {
    if (spec.native_op() == "unknown") {
      return absl::InvalidArgumentError("unknown operation");
    }
    return std::make_unique<RecordingTransform>(&log, corpus);
  }
  absl::StatusOr<std::unique_ptr<PreparedLoader>> PrepareLoader(
      const PrepareCommand& spec, const LoaderInput& input) override {
    if (spec.native_op() == "unknown") {
      return Adapter::PrepareLoader(spec, input);
    }
    return std::make_unique<RecordingLoader>(&log, input);
  }
  std::vector<std::string> log;
};

LoaderSpec SomeLoader(const std::string& source) {
  LoaderSpec spec;
  spec.set_scope(kMemoryScope);
  spec.set_source(source);
  spec.set_batch_size(2);
  spec.set_prefetch(2);
  spec.set_channels(3);
  spec.set_crop(4);
  spec.set_crop_position("center");
  spec.add_mean(0);
  spec.add_std(1);
  spec.set_input_scale(255);
  spec.set_on_error("fail");
  return spec;
}

std::string PrepareOfLoader(const std::string& native_op,
                            const LoaderSpec& spec) {
  PrepareCommand command;
  command.set_library("recording");
  command.set_native_op(native_op);
  *command.mutable_loader() = spec;
  return CommandLine(command);
}

class ChildSessionTest : public ::testing::Test {
 protected:
  ChildSessionTest()
      : corpus_(SmallCorpus(3)), session_(&adapter_, dup(corpus_.fd())) {}

  std::string Answer(const std::string& line) {
    const absl::StatusOr<std::string> reply = session_.Answer(line);
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.value_or("");
  }
  std::string Prepare(const std::string& native_op) {
    PrepareCommand command;
    command.set_library("recording");
    command.set_transform("T");
    command.set_native_op(native_op);
    command.set_seed(5);
    return Answer(CommandLine(command));
  }
  std::string Time(int64_t count) {
    TimeCommand command;
    command.set_chunk(1);
    command.set_count(count);
    return Answer(CommandLine(command));
  }
  std::string Outputs(const std::vector<int64_t>& indexes) {
    OutputCommand command;
    *command.mutable_indexes() = {indexes.begin(), indexes.end()};
    return Answer(CommandLine(command));
  }

  RecordingAdapter adapter_;
  Corpus corpus_;
  ChildSession session_;
};

TEST_F(ChildSessionTest, PreparesAndSaysWhatItMeasures) {
  const auto reply = ParseReply<PrepareReply>(Prepare("op"));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->version(), "1.2");
  EXPECT_EQ(reply->threads(), 3);
  EXPECT_GT(reply->clock_pair_s(), 0);
  EXPECT_THAT(adapter_.log, ElementsAre("s5"));
}

TEST_F(ChildSessionTest, TimesEveryCallOfTheCommand) {
  Prepare("op");
  adapter_.log.clear();
  TimeCommand command;
  command.set_first(1);
  command.set_count(5);
  command.set_chunk(2);
  command.set_seed(9);
  const auto reply = ParseTimeReply(Answer(CommandLine(command)));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->items(), 5);
  EXPECT_EQ(reply->samples_s_size(), 3);
  for (double sample : reply->samples_s()) EXPECT_GE(sample, 0);
  EXPECT_TRUE(reply->has_waited_s());
  EXPECT_THAT(adapter_.log, ElementsAre("s9", "r1", "r0", "r1", "r0", "r1"));
}

TEST_F(ChildSessionTest, ShowsOutputsUntilTheNextCommand) {
  Prepare("op");
  const auto reply = ParseReply<OutputReply>(Outputs({1, 0}));
  ASSERT_TRUE(reply.ok()) << reply.status();
  ASSERT_EQ(reply->outputs_size(), 2);
  const OutputItem& second = reply->outputs(1);
  EXPECT_THAT(second.shape(), ElementsAre(60, 80, 3));
  std::string bytes(second.bytes(), '\0');
  ASSERT_EQ(pread(reply->fd(), &bytes[0], bytes.size(), second.offset()),
            second.bytes());
  EXPECT_EQ(bytes, std::string(static_cast<const char*>(corpus_.item(0).data),
                               corpus_.item(0).bytes));
  Prepare("op");
  EXPECT_EQ(fcntl(reply->fd(), F_GETFD), -1);
}

TEST_F(ChildSessionTest, WhatGoesWrongIsAnAnswerAndTheChildGoesOn) {
  EXPECT_THAT(Time(1), HasSubstr("nothing is prepared"));
  EXPECT_THAT(Prepare("unknown"), HasSubstr("{\"error\":\"unknown operation"));
  Prepare("op");
  EXPECT_THAT(Outputs({2}), HasSubstr("no item 2; the corpus has 2"));
  EXPECT_THAT(Time(0), HasSubstr("count"));
  adapter_.log = {"throw"};
  EXPECT_THAT(Time(1), HasSubstr("std::out_of_range: no such pixel"));
  adapter_.log = {"go on"};
  EXPECT_THAT(Time(1), HasSubstr("\"items\":1"));
}

TEST_F(ChildSessionTest, RunsEpochsOfALoader) {
  ASSERT_TRUE(ParseReply<PrepareReply>(
                  Answer(PrepareOfLoader("op", SomeLoader("corpus"))))
                  .ok());
  EpochCommand command;
  command.set_first(1);
  command.set_count(5);
  const auto reply = ParseEpochReply(Answer(CommandLine(command)));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->items(), 2) << "the corpus reached the loader";
  EXPECT_EQ(ParseReply<OutputReply>(Outputs({1, 0}))->outputs_size(), 2);
  EXPECT_THAT(adapter_.log, ElementsAre("e1+5", "o1,0", "o0,0"));
  EXPECT_THAT(Outputs({2}), HasSubstr("no item 2"));
  command.set_count(0);
  EXPECT_THAT(Answer(CommandLine(command)), HasSubstr("count"));
  EXPECT_THAT(Time(1), HasSubstr("nothing is prepared"));
}

TEST_F(ChildSessionTest, ALoaderThatIsNoneIsRefused) {
  EpochCommand command;
  command.set_count(1);
  Prepare("op");
  EXPECT_THAT(Answer(CommandLine(command)), HasSubstr("nothing is prepared"));
  EXPECT_THAT(Answer(PrepareOfLoader("unknown", SomeLoader("corpus"))),
              HasSubstr("recording is not a loader"));
  LoaderSpec spec = SomeLoader("corpus");
  spec.set_scope("everything");
  EXPECT_THAT(Answer(PrepareOfLoader("op", spec)),
              HasSubstr("everything\\\" is unknown"));
}

TEST(ChildSessionFilesTest, ALoaderGetsItsFiles) {
  const auto list = WriteSourceList({{"/a.jpg", 1}, {"/b.jpg", 2}});
  ASSERT_TRUE(list.ok()) << list.status();
  RecordingAdapter adapter;
  ChildSession session(&adapter, dup(list->get()));
  EpochCommand command;
  command.set_count(4);
  // A list can be read again; a loader may be prepared twice.
  for (int attempt = 0; attempt < 2; ++attempt) {
    ASSERT_TRUE(ParseReply<PrepareReply>(
                    *session.Answer(PrepareOfLoader("op", SomeLoader("files"))))
                    .ok());
    const auto reply = ParseEpochReply(*session.Answer(CommandLine(command)));
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->items(), 2);
  }
}

TEST_F(ChildSessionTest, AnotherLibraryIsRefused) {
  PrepareCommand command;
  command.set_library("x");
  EXPECT_THAT(Answer(CommandLine(command)),
              HasSubstr("this worker is for recording, not for x"));
}

TEST_F(ChildSessionTest, GarbageEndsTheConversation) {
  EXPECT_FALSE(session_.Answer("garbage").ok());
  EXPECT_FALSE(session_.Answer("").ok());
}

TEST(ChildSessionCorpusTest, ABrokenCorpusIsAnAnswer) {
  RecordingAdapter adapter;
  ChildSession session(&adapter, open("/dev/null", O_RDONLY));
  PrepareCommand command;
  command.set_library("recording");
  command.set_transform("T");
  command.set_native_op("T");
  for (int attempt = 0; attempt < 2; ++attempt) {
    EXPECT_THAT(session.Answer(CommandLine(command)).value(),
                HasSubstr("\"error\""));
  }
}

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
  std::string bytes(item.bytes(), '\0');
  EXPECT_EQ(pread(fd, &bytes[0], item.bytes(), item.offset()), item.bytes());
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
      open(absl::StrCat("/proc/self/fd/", contents.fd()).c_str(), O_RDONLY);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(contents.outputs_size(), 2);
  EXPECT_EQ(contents.outputs(1).offset(), 128);
  EXPECT_THAT(contents.outputs(1).shape(), ::testing::ElementsAre(1, 3, 1));
  EXPECT_EQ(contents.outputs(1).dtype(), "uint8");
  EXPECT_EQ(contents.outputs(1).layout(), "HWC");
  EXPECT_EQ(Read(fd, contents.outputs(0)), first);
  EXPECT_EQ(Read(fd, contents.outputs(1)), second);
  close(fd);
}

TEST(OutputFileTest, ClosesWithTheObject) {
  int fd = -1;
  {
    absl::StatusOr<OutputFile> file = OutputFile::Create();
    ASSERT_TRUE(file.ok());
    const OutputFile moved = std::move(*file);
    fd = moved.contents().fd();
    EXPECT_GE(fcntl(fd, F_GETFD), 0);
  }
  EXPECT_EQ(fcntl(fd, F_GETFD), -1);
}

}  // namespace
}  // namespace feedrate
