#include "lib/adapters/ffmpeg/ffmpeg_adapter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/adapters/worker/child_session.h"
#include "lib/base/files.h"
#include "lib/base/unique_fd.h"
#include "lib/media/video/index_pattern.h"
#include "lib/media/video/synthetic_video.h"
#include "lib/worker/message.h"
#include "lib/worker/source_list.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

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
  command.library = "ffmpeg";
  command.scenario = "video-decode-16f";
  command.decode.emplace();
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
  EXPECT_THAT(session.Answer(PrepareLine(Decode())).value(),
              HasSubstr("\"threads\":1"));
  TimeCommand time;
  time.count = 1;
  EXPECT_THAT(session.Answer(TimeLine(time)).value(), HasSubstr("\"items\":1"));
  time.count = 2;
  EXPECT_THAT(session.Answer(TimeLine(time)).value(),
              HasSubstr("/absent.avi: no video: No such file"));
  OutputCommand output;
  output.indexes = {0};
  EXPECT_THAT(session.Answer(OutputLine(output)).value(),
              HasSubstr("\"shape\":[2,120,160,3]"));
  output.indexes = {2};
  EXPECT_THAT(session.Answer(OutputLine(output)).value(),
              HasSubstr("no item 2"));
}

TEST(FfmpegAdapterTest, AClipWithoutFramesIsRefused) {
  FfmpegAdapter adapter;
  EXPECT_THAT(std::string(adapter.PrepareDecoder(Decode(), {{"/a.avi", 1, {}}})
                              .status()
                              .message()),
              HasSubstr("no frames"));
}

}  // namespace
}  // namespace feedrate
