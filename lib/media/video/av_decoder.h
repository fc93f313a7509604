// FFmpeg's decoders, on the CPU. For lib/media/video alone.
#ifndef FEEDRATE_LIB_MEDIA_VIDEO_AV_DECODER_H_
#define FEEDRATE_LIB_MEDIA_VIDEO_AV_DECODER_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/media/video/av.h"
#include "lib/media/video/frame_decoder.h"

namespace feedrate {

// Damage is an error: what a lenient decoder would make of it is no frame of
// the video.
class AvDecoder : public FrameDecoder {
 public:
  // `threads`: 0 is as many as it likes. InvalidArgument with the reason.
  static absl::StatusOr<std::unique_ptr<AvDecoder>> Open(
      const AVCodecParameters& parameters, int threads);

  const char* name() const override { return context_->codec->name; }
  absl::Status Send(const AVPacket& packet, bool wanted,
                    FrameSink* sink) override;
  absl::Status Drain(FrameSink* sink) override;

 private:
  AvDecoder() = default;
  absl::Status Receive(FrameSink* sink);

  AvPtr<AVCodecContext> context_;
  AvPtr<AVFrame> frame_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_VIDEO_AV_DECODER_H_
