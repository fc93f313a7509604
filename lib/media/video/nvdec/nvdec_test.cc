#include "lib/media/video/nvdec/nvdec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "lib/media/video/clip_reader.h"
#include "lib/media/video/clips.h"
#include "lib/media/video/frame_rgb.h"
#include "lib/media/video/nvdec/fake_nvcuvid.h"
#include "lib/media/video/nvdec/nvdec_engine.h"
#include "lib/media/video/synthetic_video.h"
#include "lib/media/video/yuv.h"

namespace feedrate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kFrames = 40;

std::string Encode(const std::string& container, const std::string& codec,
                   int b_frames, const std::string& pixel_format = "yuv420p") {
  EncodeOptions options;
  options.container = container;
  options.codec = codec;
  options.b_frames = b_frames;
  options.pixel_format = pixel_format;
  options.width = 162;
  options.height = 122;
  options.frames = kFrames;
  return EncodeVideo(options, 5).value();
}

// Opens a walk as nvdec_reader.cc does, through `decoder` if there is one.
absl::StatusOr<std::unique_ptr<ClipWalk>> OpenWalk(
    const std::string& file, NvdecSession* session,
    FrameDecoder* decoder = nullptr) {
  return ClipWalk::Open({"", file},
                        [=](const AVCodecParameters& parameters)
                            -> absl::StatusOr<FrameDecoder*> {
                          const absl::Status begun = session->Begin(parameters);
                          if (!begun.ok()) return begun;
                          return decoder == nullptr ? session : decoder;
                        });
}

// Reads frames of a file through a session, with the kernel's conversion.
absl::StatusOr<std::vector<uint8_t>> ReadBySession(
    const std::string& file, const std::vector<int64_t>& frames,
    NvdecSession* session, FrameDecoder* decoder = nullptr) {
  const auto walk = OpenWalk(file, session, decoder);
  if (!walk.ok()) return walk.status();
  const int64_t bytes = FrameBytesOf((*walk)->info());
  std::vector<uint8_t> rgb(frames.size() * bytes);
  const auto put = [&](const DecodedFrame& frame, size_t first, size_t count) {
    const Nv12Frame& nv12 = *frame.on_device;
    for (size_t i = first; i < first + count; ++i) {
      uint8_t* const out = rgb.data() + i * bytes;
      for (int y = 0; y < nv12.height; ++y) {
        for (int x = 0; x < nv12.width; x += kNv12Pixels) {
          Nv12Quad(nv12, x, y, out + 3 * (int64_t{y} * nv12.width + x));
        }
      }
    }
    return absl::OkStatus();
  };
  const absl::Status read = (*walk)->Read(frames, put);
  if (!read.ok()) return read;
  return rgb;
}

std::vector<uint8_t> ReadByCpu(const std::string& file,
                               const std::vector<int64_t>& frames) {
  const auto reader = ClipReader::OpenBytes(file, 1);
  std::vector<uint8_t> rgb(frames.size() * (*reader)->FrameBytes());
  EXPECT_TRUE((*reader)->Read(frames, rgb.data()).ok());
  return rgb;
}

std::vector<std::vector<int64_t>> Clips() {
  std::vector<std::vector<int64_t>> clips = {
      {0}, {kFrames - 1}, {7, 7, 8}, {1, kFrames / 2, kFrames - 1}};
  for (const ClipRule rule : {ClipRule::kUniform, ClipRule::kConsecutive}) {
    clips.push_back(ClipFrames(rule, kFrames, 16, 3, 0));
  }
  return clips;
}

struct Kind {
  const char* container;
  const char* codec;
  int b_frames;
};

class NvdecSessionKindTest : public ::testing::TestWithParam<Kind> {};

TEST_P(NvdecSessionKindTest, FramesAreThoseOfTheCpu) {
  const Kind& kind = GetParam();
  FakeNvcuvid nvcuvid;
  {
    NvdecSession session(nvcuvid.library(), nullptr);
    const std::string file = Encode(kind.container, kind.codec, kind.b_frames);
    for (const std::vector<int64_t>& clip : Clips()) {
      const auto rgb = ReadBySession(file, clip, &session);
      ASSERT_TRUE(rgb.ok()) << rgb.status();
      EXPECT_TRUE(*rgb == ReadByCpu(file, clip));
    }
    // One decoder for all files, one parser per file.
    EXPECT_EQ(session.counts().created, 1);
    EXPECT_EQ(nvcuvid.created_parsers, static_cast<int>(Clips().size()));
    EXPECT_EQ(nvcuvid.parsers, 1);
    EXPECT_EQ(nvcuvid.mapped, 0);
  }
  EXPECT_EQ(nvcuvid.parsers, 0);
  EXPECT_EQ(nvcuvid.decoders, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, NvdecSessionKindTest,
    ::testing::Values(Kind{"mp4", "libx264", 3}, Kind{"mov", "libx264", 0},
                      Kind{"mkv", "libx264", 2},
                      // Frames are identified by counting.
                      Kind{"avi", "libx264", 2}, Kind{"avi", "mpeg4", 2},
                      Kind{"avi", "mpeg4", 0}, Kind{"mp4", "mpeg4", 2},
                      Kind{"webm", "libvpx-vp9", 0},
                      Kind{"mp4", "libvpx-vp9", 0}),
    [](const ::testing::TestParamInfo<Kind>& info) {
      return absl::StrCat(info.param.container,
                          absl::StrReplaceAll(info.param.codec, {{"-", "_"}}),
                          info.param.b_frames);
    });

// A packet of these bytes instead.
AvPtr<AVPacket> WithBytes(const AVPacket& packet, const std::string& bytes) {
  AvPtr<AVPacket> other(av_packet_alloc());
  EXPECT_EQ(av_new_packet(other.get(), static_cast<int>(bytes.size())), 0);
  std::memcpy(other->data, bytes.data(), bytes.size());
  EXPECT_EQ(av_packet_copy_props(other.get(), &packet), 0);
  return other;
}

// Shows the picture in slot 0, where a key frame is.
constexpr char kShowAgain = static_cast<char>(0x88);

// Makes key frames of VP9 pictures that are not shown, each with another one
// behind it in its packet that shows it, and the index of both.
struct Hider : FrameDecoder {
  explicit Hider(NvdecSession* session) : session(*session) {}
  const char* name() const override { return session.name(); }
  absl::Status Send(const AVPacket& packet, bool wanted,
                    FrameSink* sink) override {
    if ((packet.flags & AV_PKT_FLAG_KEY) == 0) {
      return session.Send(packet, wanted, sink);
    }
    std::string bytes(reinterpret_cast<const char*>(packet.data), packet.size);
    bytes[0] = static_cast<char>(bytes[0] & ~0x02);
    const std::string mark = "\xd9";
    std::string sizes(8, '\0');
    const auto size = static_cast<uint32_t>(packet.size);
    std::memcpy(&sizes[0], &size, sizeof(size));
    sizes[4] = 1;
    bytes += kShowAgain + mark + sizes + mark;
    ++hidden;
    return session.Send(*WithBytes(packet, bytes), wanted, sink);
  }
  absl::Status Drain(FrameSink* sink) override { return session.Drain(sink); }

  NvdecSession& session;
  int hidden = 0;
};

TEST(NvdecSessionTest, PicturesOfVp9MayBeHidden) {
  FakeNvcuvid nvcuvid;
  NvdecSession session(nvcuvid.library(), nullptr);
  Hider hider(&session);
  const std::string file = Encode("webm", "libvpx-vp9", 0);
  for (const std::vector<int64_t>& clip : Clips()) {
    const auto rgb = ReadBySession(file, clip, &session, &hider);
    ASSERT_TRUE(rgb.ok()) << rgb.status();
    EXPECT_TRUE(*rgb == ReadByCpu(file, clip));
  }
  EXPECT_GT(hider.hidden, 4);
  EXPECT_EQ(session.counts().decoded, nvcuvid.shown + hider.hidden);
}

TEST(NvdecSessionTest, WhereVp9IsNotShownAnotherDecoderMustRead) {
  FakeNvcuvid nvcuvid;
  NvdecSession session(nvcuvid.library(), nullptr);
  const std::string file = Encode("webm", "libvpx-vp9", 0);
  nvcuvid.unshown = {5};
  const auto read = ReadBySession(file, {7}, &session);
  EXPECT_EQ(read.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(read.status().message(),
              HasSubstr("a picture before frame 6 was not shown"));
}

TEST(NvdecSessionTest, AnotherDecoderMustReadAVp9WhoseLastPictureIsMissing) {
  FakeNvcuvid nvcuvid;
  NvdecSession session(nvcuvid.library(), nullptr);
  nvcuvid.unshown = {7};
  const auto read =
      ReadBySession(Encode("webm", "libvpx-vp9", 0), {7}, &session);
  EXPECT_TRUE(absl::IsUnimplemented(read.status())) << read.status();
}

TEST(NvdecSessionTest, ColorsOfVp9AreThoseOfTheStream) {
  FakeNvcuvid nvcuvid;
  NvdecSession session(nvcuvid.library(), nullptr);
  std::string file = Encode("webm", "libvpx-vp9", 0);
  const std::vector<uint8_t> before = ReadByCpu(file, {3});
  // BT.709 and the full range in the header of key frames, after its mark; the
  // container says nothing.
  const std::string mark = "\x49\x83\x42";
  int found = 0;
  for (size_t at = file.find(mark); at != std::string::npos;
       at = file.find(mark, at + 1)) {
    file[at + 3] = static_cast<char>((file[at + 3] & 0x0f) | 0x50);
    ++found;
  }
  EXPECT_GT(found, 1);
  const std::vector<uint8_t> wanted = ReadByCpu(file, {3});
  EXPECT_FALSE(wanted == before);
  const auto rgb = ReadBySession(file, {3}, &session);
  ASSERT_TRUE(rgb.ok()) << rgb.status();
  EXPECT_TRUE(*rgb == wanted);
}

// Wants all frames and keeps their times.
struct AllFrames : FrameSink {
  bool Wants(int64_t pts) override {
    times.push_back(pts);
    return true;
  }
  absl::Status Take(const DecodedFrame& frame) override {
    return absl::OkStatus();
  }
  std::vector<int64_t> times;
};

// Hands packets on, and shows the picture of the first again instead of each
// second one.
struct Repeater : FrameDecoder {
  explicit Repeater(NvdecSession* session) : session(*session) {}
  const char* name() const override { return session.name(); }
  absl::Status Send(const AVPacket& packet, bool wanted, FrameSink*) override {
    if (packet.pts % 2 == 0) return session.Send(packet, wanted, &all);
    const AvPtr<AVPacket> again = WithBytes(packet, {kShowAgain});
    return session.Send(*again, wanted, &all);
  }
  absl::Status Drain(FrameSink*) override { return session.Drain(&all); }

  NvdecSession& session;
  AllFrames all;
};

TEST(NvdecSessionTest, Vp9MayShowAPictureAgain) {
  FakeNvcuvid nvcuvid;
  NvdecSession session(nvcuvid.library(), nullptr);
  Repeater repeater(&session);
  const std::string file = Encode("webm", "libvpx-vp9", 0);
  const auto walk = OpenWalk(file, &session, &repeater);
  ASSERT_TRUE(walk.ok()) << walk.status();
  // Its frames go to `all`.
  const absl::Status read =
      (*walk)->Read({9}, [](auto&&...) { return absl::OkStatus(); });
  EXPECT_TRUE(absl::IsInvalidArgument(read)) << read;
  EXPECT_THAT(repeater.all.times, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST(NvdecSessionTest, TimesRiseWithinARow) {
  FakeNvcuvid nvcuvid;
  NvdecSession session(nvcuvid.library(), nullptr);
  const std::string file = Encode("mp4", "libx264", 3);
  for (const std::vector<int64_t>& clip : Clips()) {
    ASSERT_TRUE(ReadBySession(file, clip, &session).ok());
  }
  EXPECT_TRUE(nvcuvid.times_rise);
}

TEST(NvdecSessionTest, PicturesMayComeTwoPacketsLate) {
  FakeNvcuvid nvcuvid;
  nvcuvid.late = 2;
  NvdecSession session(nvcuvid.library(), nullptr);
  const std::string file = Encode("mp4", "libx264", 3);
  for (int64_t i = 0; i + 5 < kFrames; ++i) {
    const std::vector<int64_t> clip = {i, i + 5};
    const auto rgb = ReadBySession(file, clip, &session);
    ASSERT_TRUE(rgb.ok()) << rgb.status();
    EXPECT_TRUE(*rgb == ReadByCpu(file, clip));
  }
  EXPECT_GT(session.counts().skipped, 0);
}

TEST(NvdecSessionTest, WhatComesLaterIsForAnotherDecoder) {
  FakeNvcuvid nvcuvid;
  nvcuvid.late = 5;
  NvdecSession session(nvcuvid.library(), nullptr);
  const std::string file = Encode("mp4", "libx264", 3);
  bool was_left_out = false;
  for (int64_t i = 0; i + 9 < kFrames; ++i) {
    const std::vector<int64_t> clip = {i, i + 9};
    const auto rgb = ReadBySession(file, clip, &session);
    if (rgb.ok()) {
      EXPECT_TRUE(*rgb == ReadByCpu(file, clip));
      continue;
    }
    EXPECT_TRUE(absl::IsUnimplemented(rgb.status())) << rgb.status();
    EXPECT_THAT(std::string(rgb.status().message()),
                HasSubstr("is wanted and was not decoded"));
    was_left_out = true;
  }
  EXPECT_TRUE(was_left_out);
}

TEST(NvdecSessionTest, EachRowOfPacketsIsDrained) {
  FakeNvcuvid nvcuvid;
  NvdecSession session(nvcuvid.library(), nullptr);
  // Key frames are 0, 12, 24, 36: three runs of packets.
  ASSERT_TRUE(
      ReadBySession(Encode("mp4", "libx264", 0), {1, 13, 37}, &session).ok());
  EXPECT_EQ(nvcuvid.ends, 3);
  EXPECT_EQ(session.counts().created, 1);
}

TEST(NvdecSessionTest, WhatNothingNeedsIsLeftOut) {
  FakeNvcuvid nvcuvid;
  NvdecSession session(nvcuvid.library(), nullptr);
  const std::string file = Encode("mp4", "libx264", 3);
  ASSERT_TRUE(ReadBySession(file, {11}, &session).ok());
  EXPECT_GT(session.counts().skipped, 0);
  EXPECT_LT(session.counts().decoded, 12);
  // They are shown anyway, and nobody takes them.
  EXPECT_EQ(session.counts().skipped + session.counts().decoded, nvcuvid.shown);
  std::vector<int64_t> all(kFrames);
  for (int64_t i = 0; i < kFrames; ++i) all[i] = i;
  const int64_t skipped = session.counts().skipped;
  ASSERT_TRUE(ReadBySession(file, all, &session).ok());
  EXPECT_EQ(session.counts().skipped, skipped);
}

TEST(NvdecSessionTest, PicturesMayBeginInsideTheirSurface) {
  FakeNvcuvid nvcuvid;
  nvcuvid.left = 16;
  nvcuvid.top = 6;
  NvdecSession session(nvcuvid.library(), nullptr);
  const std::string file = Encode("mp4", "libx264", 2);
  const auto rgb = ReadBySession(file, {3, 30}, &session);
  ASSERT_TRUE(rgb.ok()) << rgb.status();
  EXPECT_TRUE(*rgb == ReadByCpu(file, {3, 30}));
}

TEST(NvdecSessionTest, OtherStreamsAreNotItsOwn) {
  FakeNvcuvid nvcuvid;
  NvdecSession session(nvcuvid.library(), nullptr);
  const std::string good = Encode("mp4", "libx264", 0);
  ASSERT_TRUE(ReadBySession(good, {3}, &session).ok());
  for (const std::string& file : {Encode("mp4", "libx264", 2, "yuv444p"),
                                  Encode("avi", "mjpeg", 0, "yuvj420p")}) {
    const auto rgb = ReadBySession(file, {3}, &session);
    EXPECT_TRUE(absl::IsUnimplemented(rgb.status())) << rgb.status();
  }
  // The decoder still exists.
  ASSERT_TRUE(ReadBySession(good, {3}, &session).ok());
  EXPECT_EQ(session.counts().created, 1);
}

TEST(NvdecSessionTest, DamageNamesItsFrame) {
  FakeNvcuvid nvcuvid;
  NvdecSession session(nvcuvid.library(), nullptr);
  const std::string file = Encode("mp4", "libx264", 2);
  nvcuvid.damaged = {5};
  // Nobody wants it.
  EXPECT_TRUE(ReadBySession(file, {4, 6}, &session).ok());
  const auto rgb = ReadBySession(file, {4, 5, 6}, &session);
  EXPECT_TRUE(absl::IsInvalidArgument(rgb.status()));
  EXPECT_EQ(rgb.status().message(), "frame 5 is damaged");
  EXPECT_EQ(nvcuvid.mapped, 0);
  EXPECT_EQ(nvcuvid.decoders, 0);
  // It starts again.
  nvcuvid.damaged = {};
  EXPECT_TRUE(ReadBySession(file, {4, 5, 6}, &session).ok());
  EXPECT_EQ(session.counts().created, 2);
}

// The weights for luma and chroma of a file's first frame.
YuvWeights ColorsOf(const std::string& file, const FakeNvcuvid& nvcuvid) {
  NvdecSession session(nvcuvid.library(), nullptr);
  YuvWeights weights = {};
  const auto put = [&weights](const DecodedFrame& frame, size_t, size_t) {
    weights = frame.on_device->weights;
    return absl::OkStatus();
  };
  EXPECT_TRUE((*OpenWalk(file, &session))->Read({0}, put).ok());
  return weights;
}

bool IsSame(const YuvWeights& a, const YuvWeights& b) {
  return a.black == b.black && a.y == b.y && a.red_v == b.red_v &&
         a.green_u == b.green_u && a.green_v == b.green_v &&
         a.blue_u == b.blue_u;
}

TEST(NvdecSessionTest, ColorsAreThoseThatTheStreamNames) {
  FakeNvcuvid nvcuvid;
  const std::string h264 = Encode("mp4", "libx264", 0);
  const YuvWeights usual = WeightsOf(AVCOL_SPC_UNSPECIFIED, false);
  EXPECT_TRUE(IsSame(ColorsOf(h264, nvcuvid), usual));
  nvcuvid.matrix = 0;
  EXPECT_TRUE(IsSame(ColorsOf(h264, nvcuvid), usual));
  nvcuvid.matrix = AVCOL_SPC_BT709;
  nvcuvid.full_range = true;
  const YuvWeights bt709 = WeightsOf(AVCOL_SPC_BT709, true);
  ASSERT_FALSE(IsSame(bt709, usual));
  EXPECT_TRUE(IsSame(ColorsOf(h264, nvcuvid), bt709));
  // There it may be a default.
  EXPECT_TRUE(IsSame(ColorsOf(Encode("avi", "mpeg4", 0), nvcuvid), usual));
}

struct Failing {
  int FakeNvcuvid::*code;
  int value;
  const char* call;
  absl::StatusCode status;
};

TEST(NvdecSessionTest, FailuresNameTheirCall) {
  const std::string file = Encode("mp4", "libx264", 2);
  for (const Failing& failing :
       {Failing{&FakeNvcuvid::create_result, 2, "cuvidCreateDecoder",
                absl::StatusCode::kResourceExhausted},
        Failing{&FakeNvcuvid::decode_result, 700, "cuvidDecodePicture",
                absl::StatusCode::kInternal},
        Failing{&FakeNvcuvid::map_result, 400, "cuvidMapVideoFrame64",
                absl::StatusCode::kInternal},
        Failing{&FakeNvcuvid::create_parser_result, 801,
                "cuvidCreateVideoParser", absl::StatusCode::kInternal},
        Failing{&FakeNvcuvid::parse_result, 1, "cuvidParseVideoData",
                absl::StatusCode::kInvalidArgument}}) {
    SCOPED_TRACE(failing.call);
    FakeNvcuvid nvcuvid;
    NvdecSession session(nvcuvid.library(), nullptr);
    nvcuvid.*failing.code = failing.value;
    const auto rgb = ReadBySession(file, {4}, &session);
    EXPECT_EQ(rgb.status().code(), failing.status);
    EXPECT_THAT(std::string(rgb.status().message()),
                AllOf(HasSubstr(failing.call),
                      HasSubstr(absl::StrCat("error ", failing.value))));
    EXPECT_EQ(nvcuvid.decoders, 0);
    EXPECT_EQ(nvcuvid.parsers, 0);
    EXPECT_EQ(nvcuvid.mapped, 0);
    nvcuvid.*failing.code = 0;
    EXPECT_TRUE(ReadBySession(file, {4}, &session).ok());
  }
}

TEST(NvdecSessionTest, AfterAFailureAFileIsBegunAnew) {
  FakeNvcuvid nvcuvid;
  NvdecSession session(nvcuvid.library(), nullptr);
  EXPECT_TRUE(absl::IsFailedPrecondition(session.Drain(nullptr)));
}

}  // namespace
}  // namespace feedrate
