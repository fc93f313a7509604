#include "lib/adapters/ffmpeg/ffmpeg_adapter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "lib/adapters/worker/child_session.h"
#include "lib/base/files.h"
#include "lib/base/unique_fd.h"
#include "lib/media/item_ids.h"
#include "lib/media/video/clips.h"
#include "lib/media/video/synthetic_video.h"
#include "lib/records/worker.pb.h"
#include "lib/worker/message.h"
#include "lib/worker/source_list.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

std::string VideoFile(const std::string& name) {
  EncodeOptions options;
  options.width = 160;
  options.height = 120;
  options.frames = 30;
  const std::string path = ::testing::TempDir() + "/" + name;
  EXPECT_TRUE(WriteFileAtomically(path, EncodeVideo(options, 2).value()).ok());
  return path;
}

PrepareCommand Decode() {
  PrepareCommand command;
  command.set_library("ffmpeg");
  command.set_scenario("video-decode-16f");
  command.mutable_decode()->set_threads(1);
  return command;
}

TEST(FfmpegAdapterTest, DecodesTheClipsOfTheList) {
  FfmpegAdapter adapter;
  const std::vector<SourceFile> files = {{VideoFile("a.avi"), 1, {3, 4, 29}},
                                         {VideoFile("b.avi"), 1, {0, 0}}};
  const auto decoder = adapter.PrepareDecoder(Decode(), files);
  ASSERT_TRUE(decoder.ok()) << decoder.status();
  for (const int64_t item : {0, 1, 0}) {
    const absl::StatusOr<Output> output = (*decoder)->RunForOutput(item);
    ASSERT_TRUE(output.ok()) << output.status();
    const std::vector<int64_t>& frames = files[item].frames;
    ASSERT_EQ(output->shape,
              (std::vector<int64_t>{static_cast<int64_t>(frames.size()), 120,
                                    160, 3}));
    const auto* data = static_cast<const uint8_t*>(output->data);
    for (size_t i = 0; i < frames.size(); ++i) {
      EXPECT_EQ(ReadPattern({data + i * 120 * 160 * 3, 120, 160, 3}),
                frames[i]);
    }
  }
}

TEST(FfmpegAdapterTest, AnswersTheRunner) {
  FfmpegAdapter adapter;
  UniqueFd list = WriteSourceList({{VideoFile("c.avi"), 1, {1, 2}},
                                   {"/absent.avi", 1, {0}}})
                      .value();
  ChildSession session(&adapter, list.Release());
  EXPECT_THAT(session.Answer(CommandLine(Decode())).value(),
              HasSubstr("\"threads\":1"));
  TimeCommand time;
  time.set_count(1);
  time.set_chunk(1);
  EXPECT_THAT(session.Answer(CommandLine(time)).value(),
              HasSubstr("\"items\":1"));
  time.set_count(2);
  EXPECT_THAT(session.Answer(CommandLine(time)).value(),
              HasSubstr("/absent.avi: no video: No such file"));
  OutputCommand output;
  output.add_indexes(0);
  EXPECT_THAT(session.Answer(CommandLine(output)).value(),
              HasSubstr("\"shape\":[2,120,160,3]"));
  output.set_indexes(0, 2);
  EXPECT_THAT(session.Answer(CommandLine(output)).value(),
              HasSubstr("no item 2"));
}

TEST(FfmpegAdapterTest, AClipWithoutFramesIsRefused) {
  FfmpegAdapter adapter;
  EXPECT_THAT(std::string(adapter.PrepareDecoder(Decode(), {{"/a.avi", 1, {}}})
                              .status()
                              .message()),
              HasSubstr("no frames"));
}

constexpr int kCrop = 48;

class ClipLoaderTest : public ::testing::Test {
 protected:
  ClipLoaderTest() {
    EncodeOptions options;
    options.width = 96;
    options.height = 64;
    options.frames = 12;
    for (int i = 0; i < 5; ++i) {
      const std::string path =
          ::testing::TempDir() + "/clip_loader_" + std::to_string(i) + ".avi";
      EXPECT_TRUE(
          WriteFileAtomically(path, EncodeVideo(options, i).value()).ok());
      input_.files.push_back({path, 1, {0, 4, 11}});
    }
    spec_.set_native_op("cv::flip");
    spec_.add_params("flip_code=1");
    LoaderSpec& loader = *spec_.mutable_loader();
    loader.set_scope(kDecodeScope);
    loader.set_source("files");
    loader.set_batch_size(2);
    loader.set_workers(2);
    loader.set_prefetch(2);
    loader.set_channels(3);
    loader.set_crop(kCrop);
    loader.set_crop_position("random");
    loader.add_mean(0.5);
    loader.add_std(0.25);
    loader.set_input_scale(255);
    loader.set_on_error("skip");
  }
  absl::StatusOr<std::unique_ptr<PreparedLoader>> TryMake() {
    return FfmpegAdapter().PrepareLoader(spec_, input_);
  }
  std::unique_ptr<PreparedLoader> Make() {
    absl::StatusOr<std::unique_ptr<PreparedLoader>> made = TryMake();
    EXPECT_TRUE(made.ok()) << made.status();
    return std::move(made).value();
  }

  PrepareCommand spec_;
  LoaderInput input_;
};

TEST_F(ClipLoaderTest, DeliversEveryItemOnce) {
  for (const int workers : {0, 1, 3}) {
    spec_.mutable_loader()->set_workers(workers);
    EpochCommand command;
    command.set_count(12);
    const auto reply = Make()->RunEpoch(command);
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->items(), 12);
    EXPECT_EQ(reply->batches(), 6);
    EXPECT_EQ(reply->errors_total(), 0);
    EXPECT_EQ(reply->bytes_out(), int64_t{12} * 3 * 3 * kCrop * kCrop * 4);
  }
}

// The ids of each batch of an epoch.
std::vector<std::vector<int64_t>> IdsOf(const EpochReply& reply) {
  std::vector<std::vector<int64_t>> ids;
  for (const BatchCounts& batch : reply.ids()) {
    ids.emplace_back(batch.list().begin(), batch.list().end());
  }
  return ids;
}

// Nine videos that show which they are.
class ClipOrderTest : public ClipLoaderTest {
 protected:
  ClipOrderTest() {
    input_.files.clear();
    for (int i = 0; i < kClips; ++i) {
      EncodeOptions options;
      options.width = 96;
      options.height = 96;
      options.frames = 5;
      options.color = ItemIdColor(i);
      const std::string path =
          ::testing::TempDir() + "/clip_order_" + std::to_string(i) + ".avi";
      EXPECT_TRUE(
          WriteFileAtomically(path, EncodeVideo(options, i).value()).ok());
      input_.files.push_back({path, 1, {0, 4}});
    }
    spec_.mutable_loader()->set_shuffle(true);
    command_.set_seed(3);
    command_.set_count(kClips);
    command_.set_ids(true);
  }
  EpochReply Run() {
    const absl::StatusOr<EpochReply> reply = Make()->RunEpoch(command_);
    EXPECT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->unreadable(), 0);
    return *reply;
  }

  static constexpr int kClips = 9;
  EpochCommand command_;
};

TEST_F(ClipOrderTest, EachEpochHasAnOrderOfItsOwn) {
  const std::vector<std::vector<int64_t>> first = IdsOf(Run());
  ASSERT_THAT(first, SizeIs(5));
  std::vector<int64_t> all;
  for (const std::vector<int64_t>& batch : first) {
    all.insert(all.end(), batch.begin(), batch.end());
  }
  EXPECT_THAT(all, UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
  spec_.mutable_loader()->set_workers(1);
  EXPECT_EQ(IdsOf(Run()), first);
  command_.set_epoch(1);
  EXPECT_NE(IdsOf(Run()), first);
}

TEST_F(ClipOrderTest, RanksShareAnEpochAndHaveAsManyBatches) {
  // Five clips and four: a batch of two is split.
  std::vector<int64_t> all;
  spec_.mutable_loader()->set_ranks(2);
  for (const int rank : {0, 1}) {
    spec_.mutable_loader()->set_rank(rank);
    const std::vector<std::vector<int64_t>> ids = IdsOf(Run());
    EXPECT_THAT(ids, SizeIs(3)) << rank;
    for (const std::vector<int64_t>& batch : ids) {
      all.insert(all.end(), batch.begin(), batch.end());
    }
  }
  EXPECT_THAT(all, UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
}

TEST_F(ClipOrderTest, AnInterruptedEpochContinues) {
  std::vector<std::vector<int64_t>> whole = IdsOf(Run());
  command_.set_batches(2);
  const EpochReply before = Run();
  EXPECT_THAT(IdsOf(before), SizeIs(2));
  EXPECT_EQ(before.state(), "3 0 4");
  command_.set_batches(0);
  command_.set_state(before.state());
  const std::vector<std::vector<int64_t>> after = IdsOf(Run());
  whole.erase(whole.begin(), whole.begin() + 2);
  EXPECT_EQ(after, whole);
  command_.set_state("4 batches");
  EXPECT_THAT(std::string(Make()->RunEpoch(command_).status().message()),
              HasSubstr("is not SEED EPOCH SAMPLES"));
}

TEST_F(ClipLoaderTest, TheLastBatchMayBeDropped) {
  spec_.mutable_loader()->set_drop_last(true);
  EpochCommand command;
  command.set_count(5);
  EXPECT_EQ(Make()->RunEpoch(command)->items(), 4);
}

TEST_F(ClipLoaderTest, WhatCannotBeReadIsReplacedOrFails) {
  input_.files[1].path = "/absent.avi";
  EpochCommand command;
  command.set_count(5);
  const auto reply = Make()->RunEpoch(command);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->items(), 5);
  ASSERT_EQ(reply->errors_total(), 1);
  EXPECT_EQ(reply->errors(0).item(), 1);
  EXPECT_THAT(reply->errors(0).reason(), HasSubstr("No such file"));
  spec_.mutable_loader()->set_on_error("fail");
  EXPECT_THAT(std::string(Make()->RunEpoch(command).status().message()),
              HasSubstr("/absent.avi: no video"));
}

TEST_F(ClipLoaderTest, OutputsAreNormalizedAndFollowTheSeed) {
  const std::unique_ptr<PreparedLoader> loader = Make();
  const Output output = *loader->OutputFor(2, 7);
  EXPECT_EQ(output.shape, (std::vector<int64_t>{3, 3, kCrop, kCrop}));
  std::vector<float> first(output.bytes / sizeof(float));
  std::memcpy(first.data(), output.data, output.bytes);
  for (const float value : first) {
    ASSERT_GE(value, -2.001f);
    ASSERT_LE(value, 2.001f);
  }
  const Output again = *loader->OutputFor(2, 7);
  EXPECT_EQ(std::memcmp(again.data, first.data(), again.bytes), 0);
  const Output other = *loader->OutputFor(2, 8);
  EXPECT_NE(std::memcmp(other.data, first.data(), other.bytes), 0);
}

TEST_F(ClipLoaderTest, WhatItCannotDoIsRefused) {
  spec_.mutable_loader()->set_batch_transform("mixup");
  EXPECT_THAT(std::string(TryMake().status().message()),
              HasSubstr("no batch transforms"));
  spec_.mutable_loader()->set_batch_transform("");
  spec_.set_native_op("cv::nothing");
  EXPECT_FALSE(TryMake().ok());
}

}  // namespace
}  // namespace feedrate
