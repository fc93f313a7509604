#include "lib/media/video/container_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/base/files.h"
#include "lib/media/video/clip_reader.h"
#include "lib/media/video/clips.h"
#include "lib/media/video/demux.h"
#include "lib/media/video/synthetic_video.h"
#include "lib/media/video/timed_reader.h"

namespace feedrate {
namespace {

constexpr int kWholeFrames = 30;

struct WholeKind {
  const char* container;
  const char* codec;
  int b_frames = 0;
  const char* container_options = "";
  const char* codec_options = "";
};

const WholeKind kWholeKinds[] = {
    {"avi", "mpeg4"},
    {"avi", "mpeg4", 2},
    {"mp4", "libx264", 2},
    {"mp4", "libx264", 0, "moov_size=4096"},
    {"mp4", "libx264", 0, "movflags=frag_keyframe+empty_moov"},
    {"mkv", "libx264", 2},
    {"mkv", "libx264", 2, "live=1"},
    {"mkv", "mpeg4", 2},
    {"webm", "libvpx-vp9", 0, "", "cpu-used=8,deadline=realtime"},
};

std::string NameOf(const WholeKind& kind) {
  return absl::StrCat(kind.container, " ", kind.codec, " ", kind.b_frames, " ",
                      kind.container_options);
}

EncodeOptions OptionsOf(const WholeKind& kind) {
  EncodeOptions options;
  options.container = kind.container;
  options.codec = kind.codec;
  options.b_frames = kind.b_frames;
  options.container_options = kind.container_options;
  options.codec_options = kind.codec_options;
  options.width = 96;
  options.height = 64;
  options.frames = kWholeFrames;
  return options;
}

// The bytes of a file of each kind that this FFmpeg can write.
std::vector<std::pair<std::string, std::string>> WholeFiles() {
  std::vector<std::pair<std::string, std::string>> files;
  for (const WholeKind& kind : kWholeKinds) {
    const auto file = EncodeVideo(OptionsOf(kind), 4);
    if (absl::StrContains(file.status().message(), "has no encoder")) continue;
    EXPECT_TRUE(file.ok()) << NameOf(kind) << file.status();
    files.emplace_back(NameOf(kind), *file);
  }
  return files;
}

// Reads some frames of damaged bytes. Each is itself, or an error, or has
// damaged pixels that no container and no decoder notices: those may be left
// from the frames before. It is never a later frame, and the file never
// shorter.
void ExpectNoOtherFrame(const std::string& bytes, int threads,
                        const std::string& what) {
  const auto reader = ClipReader::OpenBytes(bytes, threads);
  if (!reader.ok()) {
    EXPECT_NE(reader.status().message(), "");
    return;
  }
  const VideoInfo& info = (*reader)->info();
  EXPECT_EQ(info.frames, kWholeFrames) << what;
  if (info.width != 96 || info.height != 64) return;
  std::vector<uint8_t> rgb((*reader)->FrameBytes());
  for (int64_t frame = 0; frame < info.frames; frame += 3) {
    if (!(*reader)->Read({frame}, rgb.data()).ok()) return;
    const int64_t number =
        ReadPattern({rgb.data(), info.height, info.width, 3}).value_or(frame);
    EXPECT_LE(number, frame) << what;
    EXPECT_GE(number, frame - 3) << what;
  }
}

TEST(ContainerCheckTest, WholeFilesAreWhole) {
  for (const auto& [name, file] : WholeFiles()) {
    EXPECT_TRUE(CheckNotCut({"", file}).ok()) << name;
    ExpectNoOtherFrame(file, 1, name);
    const auto reader = ClipReader::OpenBytes(file, 1);
    EXPECT_TRUE(reader.ok()) << name << reader.status();
    const std::string path = ::testing::TempDir() + "/whole";
    ASSERT_TRUE(WriteFileAtomically(path, file).ok());
    EXPECT_TRUE(ClipReader::Open(path, 1).ok()) << name;
    // Other things may follow a video.
    if (absl::StartsWith(name, "mkv libx264 2 live")) continue;
    EXPECT_TRUE(ClipReader::OpenBytes(file + std::string(3, 0), 1).ok())
        << name;
  }
}

// A program that writes to a pipe does not know the sizes of lists.
TEST(ContainerCheckTest, AnAviFileWithOpenListsIsWhole) {
  std::string file = *EncodeVideo(OptionsOf(kWholeKinds[0]), 4);
  file.replace(4, 4, "\xff\xff\xff\xff");
  file.replace(file.find("movi") - 4, 4, "\xff\xff\xff\xff");
  ASSERT_TRUE(ClipReader::OpenBytes(file, 1).ok());
  ExpectNoOtherFrame(file, 1, "open lists");
  file.resize(file.find("idx1") - 9);
  EXPECT_FALSE(ClipReader::OpenBytes(file, 1).ok());
}

// Files were taken for shorter videos where they ended between two frames.
TEST(ContainerCheckTest, AFileCutOffIsRefused) {
  for (const auto& [name, file] : WholeFiles()) {
    std::set<size_t> sizes;
    for (size_t i = 0; i < 100; ++i) sizes.insert(file.size() * i / 100);
    for (size_t i = 9; i < 80; ++i) sizes.insert(file.size() - i);
    // Where frames end.
    const auto packets = PacketList::OpenUnread({"", file});
    ASSERT_TRUE(packets.ok()) << packets.status();
    while (const AVPacket* packet = (*packets)->Next().value_or(nullptr)) {
      sizes.insert(packet->pos + packet->size);
      sizes.insert(packet->pos);
    }
    for (const size_t size : sizes) {
      if (size + 9 > file.size()) continue;
      const std::string cut = file.substr(0, size);
      const auto reader = ClipReader::OpenBytes(cut, 1);
      // The index of fragments, and of AVI, may be missing. A live file ends
      // where it ends.
      const bool may_be_whole =
          absl::StrContains(name, "frag") || absl::StrContains(name, "live");
      if (may_be_whole && reader.ok()) continue;
      ASSERT_FALSE(reader.ok())
          << name << ": " << size << " of " << file.size();
      EXPECT_THAT(std::string(reader.status().message()),
                  ::testing::ContainsRegex("cut off|no video|no frame"))
          << name;
    }
  }
}

TEST(ContainerCheckTest, TheReaderByTimeRefusesAFileCutOff) {
  const std::string file = *EncodeVideo(OptionsOf(kWholeKinds[3]), 4);
  const auto reader =
      TimedReader::OpenBytes(absl::string_view(file).substr(0, 4000));
  EXPECT_THAT(std::string(reader.status().message()),
              ::testing::HasSubstr("is cut off at byte 4000"));
}

// In a damaged Matroska file, FFmpeg went on with the next cluster, and the
// frames after the damage had the numbers of those before.
TEST(ContainerCheckTest, DamageMovesNoFrame) {
  std::mt19937 random(3);
  for (const auto& [name, file] : WholeFiles()) {
    // MP4 has one table of all frames, or one per fragment, and no checksum.
    if (absl::StrContains(name, "frag")) continue;
    size_t begin = 0, end = file.size();
    if (absl::StartsWith(name, "mp4")) {
      const auto packets = *PacketList::OpenUnread({"", file});
      const AVPacket* packet = *packets->Next();
      begin = packet->pos;
      for (; packet != nullptr; packet = *packets->Next()) {
        end = packet->pos + packet->size;
      }
    }
    for (int i = 0; i < 60; ++i) {
      std::string damaged = file;
      const size_t at = begin + random() % (end - begin);
      const size_t count = i % 3 == 0 ? 1 : 1 + random() % 200;
      for (size_t j = at; j < std::min(at + count, end); ++j) {
        damaged[j] = static_cast<char>(i % 3 == 1 ? 0 : random());
      }
      ExpectNoOtherFrame(damaged, 1 + i % 2,
                         absl::StrCat(name, ": ", count, " at ", at));
    }
  }
}

// One flipped bit made a frame a palette, or nothing, and the frames after it
// had the numbers of those before.
TEST(ContainerCheckTest, AFrameOfAviThatIsNoneAnyMoreIsMissed) {
  for (const bool packed : {false, true}) {
    EncodeOptions options = OptionsOf({"avi", "mpeg4", 2});
    options.packed = packed;
    const std::string file = *EncodeVideo(options, 4);
    ASSERT_TRUE(ClipReader::OpenBytes(file, 1).ok());
    size_t chunk = file.find("movi");
    // The fifth has two frames if they are packed; others may have none.
    for (int i = 0; i < 5; ++i) chunk = file.find("00dc", chunk + 1);
    std::string other = file;
    other[chunk + 2] = 'p';
    EXPECT_THAT(std::string(ClipReader::OpenBytes(other, 1).status().message()),
                ::testing::MatchesRegex("is cut off or damaged: it stores .*"));
    other = file;
    other[chunk + 8] ^= 4;  // The start code of the frame.
    EXPECT_FALSE(ClipReader::OpenBytes(other, 1).ok()) << packed;
  }
}

TEST(ContainerCheckTest, AWrongChecksumIsToldWithItsPlace) {
  std::string file = *EncodeVideo(OptionsOf(kWholeKinds[5]), 4);
  file[file.size() / 2] ^= 1;
  EXPECT_THAT(
      std::string(ClipReader::OpenBytes(file, 1).status().message()),
      ::testing::MatchesRegex("is damaged: the checksum of bytes [0-9]+ to "
                              "[0-9]+ is wrong"));
}

// FFmpeg ended the program where one of several threads met a damaged frame.
TEST(ContainerCheckTest, DamagedMpeg4IsAReasonWithSeveralThreads) {
  EncodeOptions options = OptionsOf({"mp4", "mpeg4", 2});
  const std::string file = *EncodeVideo(options, 4);
  std::mt19937 random(5);
  int failed = 0;
  for (int i = 0; i < 40; ++i) {
    std::string damaged = file;
    for (int j = 0; j < 20; ++j) {
      damaged[500 + random() % (file.size() / 2)] = static_cast<char>(random());
    }
    const auto reader = ClipReader::OpenBytes(damaged, 3);
    if (!reader.ok()) continue;
    std::vector<int64_t> frames;
    for (int64_t f = 0; f < (*reader)->info().frames; ++f) frames.push_back(f);
    std::vector<uint8_t> rgb(frames.size() * (*reader)->FrameBytes());
    failed += !(*reader)->Read(frames, rgb.data()).ok();
  }
  EXPECT_GT(failed, 20);
}

}  // namespace
}  // namespace feedrate
