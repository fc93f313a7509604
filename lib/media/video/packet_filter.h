// Packets of a container as the plain stream that an engine's parser reads. For
// lib/media/video alone.
#ifndef FEEDRATE_LIB_MEDIA_VIDEO_PACKET_FILTER_H_
#define FEEDRATE_LIB_MEDIA_VIDEO_PACKET_FILTER_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/media/video/av.h"

extern "C" {
#include <libavcodec/bsf.h>
}

namespace feedrate {

// Start codes in the place of lengths (H.264, HEVC), and a frame in a packet
// (MPEG-4, in some AVI files); other codecs' packets stay as they are. Not
// thread-safe.
class PacketFilter {
 public:
  using Emit = std::function<absl::Status(const AVPacket& packet)>;

  // InvalidArgument when the file's own description of the stream is broken.
  static absl::StatusOr<std::unique_ptr<PacketFilter>> Create(
      const AVCodecParameters& parameters);

  // What stands before the first packet: parameter sets, as plain stream.
  absl::string_view header() const;

  // Emits what comes of a packet: one, as a rule, with the same times.
  absl::Status Send(const AVPacket& packet, const Emit& emit);
  // Emits what it held back; the next packet may be from anywhere.
  absl::Status Drain(const Emit& emit);

 private:
  struct Deleter {
    void operator()(AVBSFContext* context) const { av_bsf_free(&context); }
  };

  PacketFilter() = default;
  absl::Status Receive(const Emit& emit);

  std::unique_ptr<AVBSFContext, Deleter> context_;
  AvPtr<AVPacket> in_;
  AvPtr<AVPacket> out_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_VIDEO_PACKET_FILTER_H_
