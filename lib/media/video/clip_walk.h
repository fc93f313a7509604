// The way through a video to the frames of a clip, whoever decodes and wherever
// the frames go. For lib/media/video alone.
#ifndef FEEDRATE_LIB_MEDIA_VIDEO_CLIP_WALK_H_
#define FEEDRATE_LIB_MEDIA_VIDEO_CLIP_WALK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/media/video/av.h"
#include "lib/media/video/frame_decoder.h"
#include "lib/media/video/packet_list.h"
#include "lib/media/video/video_info.h"

namespace feedrate {

// Not thread-safe.
class ClipWalk : private FrameSink {
 public:
  // Who decodes such a stream. The decoder is fresh, and lives as long as the
  // walk or until another takes its place.
  using FindDecoder = std::function<absl::StatusOr<FrameDecoder*>(
      const AVCodecParameters& parameters)>;
  // Puts a frame where it belongs: it is number first … first+count-1 of the
  // clip. The frame is gone when it returns.
  using Put = std::function<absl::Status(const DecodedFrame& frame,
                                         size_t first, size_t count)>;

  static absl::StatusOr<std::unique_ptr<ClipWalk>> Open(
      const VideoPlace& place, const FindDecoder& find_decoder);

  const VideoInfo& info() const { return info_; }
  const AVCodecParameters& parameters() const { return packets_->parameters(); }

  // Another decoder from here on, as fresh as the first.
  void UseDecoder(FrameDecoder* decoder) { decoder_ = decoder; }

  // Decodes from the key frame before each frame that is wanted, skips what
  // nothing depends on, and ends with a drained decoder. As ClipReader::Read;
  // after a failure the decoder is good for nothing.
  absl::Status Read(const std::vector<int64_t>& frames, const Put& put);

 private:
  // Packets that are decoded in a row, from a key frame on.
  struct Segment {
    int64_t first = 0;
    int64_t last = 0;
  };

  ClipWalk() = default;
  absl::Status CheckNumbers(const std::vector<int64_t>& frames) const;
  absl::Status ReadOrdered();
  absl::Status ReadCounting();
  absl::Status Decode(const Segment& segment);
  bool IsWanted(int64_t number) const;

  bool Wants(int64_t pts) override;
  absl::Status Take(const DecodedFrame& frame) override;

  std::unique_ptr<PacketList> packets_;
  VideoInfo info_;
  FrameDecoder* decoder_ = nullptr;

  // Of the call in progress.
  std::vector<int64_t> wanted_;
  std::vector<bool> got_;
  int64_t missing_ = 0;
  int64_t counted_ = 0;
  // Of the frame that came last.
  int64_t number_ = 0;
  const Put* put_ = nullptr;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_VIDEO_CLIP_WALK_H_
