// Who makes frames of packets: the CPU, or an engine of a GPU. For
// lib/media/video alone.
#ifndef FEEDRATE_LIB_MEDIA_VIDEO_FRAME_DECODER_H_
#define FEEDRATE_LIB_MEDIA_VIDEO_FRAME_DECODER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "lib/media/video/av.h"
#include "lib/media/video/nv12_math.h"

namespace feedrate {

struct DecodedFrame {
  int width = 0;
  int height = 0;
  bool is_damaged = false;
  // One of the two, in memory of the host or of the device.
  const AVFrame* on_host = nullptr;
  const Nv12Frame* on_device = nullptr;
};

// Where frames go.
class FrameSink {
 public:
  virtual ~FrameSink() = default;

  // Told of every frame that comes, in display order; `pts` is that of its
  // packet. True: it is wanted, and Take is next.
  virtual bool Wants(int64_t pts) = 0;
  // The frame is gone when it returns.
  virtual absl::Status Take(const DecodedFrame& frame) = 0;
};

// A decoder of one stream. After a failure it is good for nothing. Not
// thread-safe.
class FrameDecoder {
 public:
  virtual ~FrameDecoder() = default;

  // Such as `h264`.
  virtual const char* name() const = 0;

  // Lets it have the next packet, and lets `sink` have the frames that are
  // ready. The frame of a packet that is not wanted may be left out when no
  // other depends on it. The first packet, and the one after Drain, is that of
  // a key frame.
  virtual absl::Status Send(const AVPacket& packet, bool wanted,
                            FrameSink* sink) = 0;
  // The end of packets in a row: `sink` gets the frames that are still inside.
  // Null: they are dropped.
  virtual absl::Status Drain(FrameSink* sink) = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_VIDEO_FRAME_DECODER_H_
