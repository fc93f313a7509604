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
#include "lib/media/video/packet_list.h"
#include "lib/media/video/video_info.h"

namespace feedrate {

// An open decoder for such a stream, on one thread unless `configure` says
// otherwise. Damage is an error: what a lenient decoder would make of it is no
// frame of the video. InvalidArgument with the reason.
absl::StatusOr<AvPtr<AVCodecContext>> OpenDecoder(
    const AVCodecParameters& parameters,
    const std::function<void(AVCodecContext*)>& configure);

// Not thread-safe.
class ClipWalk {
 public:
  // Who decodes such a stream. The decoder is fresh or flushed, and lives as
  // long as the walk.
  using FindDecoder = std::function<absl::StatusOr<AVCodecContext*>(
      const AVCodecParameters& parameters)>;
  // Takes a frame; it is number first … first+count-1 of the clip. The frame
  // is gone when it returns.
  using Take = std::function<absl::Status(const AVFrame& frame, size_t first,
                                          size_t count)>;

  static absl::StatusOr<std::unique_ptr<ClipWalk>> Open(
      const VideoPlace& place, const FindDecoder& find_decoder);

  const VideoInfo& info() const { return info_; }

  // Decodes from the key frame before each frame that is wanted, skips what
  // nothing depends on, and ends with a flushed decoder. As ClipReader::Read;
  // after a failure the decoder is good for nothing.
  absl::Status Read(const std::vector<int64_t>& frames, const Take& take);

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
  // Lets the decoder have a packet, or null for the end, and takes its frames.
  absl::Status Feed(const AVPacket* packet);
  // A frame that is shown as number `number`.
  absl::Status Offer(const AVFrame& frame, int64_t number);
  bool Wants(int64_t number) const;

  std::unique_ptr<PacketList> packets_;
  VideoInfo info_;
  AVCodecContext* decoder_ = nullptr;
  AvPtr<AVFrame> frame_;
  // Numbers of the frames whose packets are 0, 1, …
  std::vector<int64_t> shown_as_;

  // Of the call in progress.
  std::vector<int64_t> wanted_;
  std::vector<bool> got_;
  int64_t missing_ = 0;
  int64_t counted_ = 0;
  const Take* take_ = nullptr;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_VIDEO_CLIP_WALK_H_
