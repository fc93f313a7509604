// Finds and decodes the frames of a clip, by any decoder and to any
// destination. For lib/media/video only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/media/video/clip_reader.h"
#include "lib/media/video/demux.h"
#include "lib/media/video/yuv.h"

namespace feedrate {

struct DecodedFrame {
  int width = 0;
  int height = 0;
  bool is_damaged = false;
  // One of these is set: a frame in host memory, or in device memory.
  const AVFrame* on_host = nullptr;
  const Nv12Frame* on_device = nullptr;
};

// The destination of frames.
class FrameSink {
 public:
  virtual ~FrameSink() = default;

  // Called for every frame, in display order, with the `pts` of its packet.
  // Returns true when the frame is wanted; Take follows.
  virtual bool Wants(int64_t pts) = 0;
  // The frame is only valid during the call.
  virtual absl::Status Take(const DecodedFrame& frame) = 0;
};

// Decodes the packets of one stream, on the CPU or by an engine of a GPU.
// Unusable after a failure. Not thread-safe.
class FrameDecoder {
 public:
  virtual ~FrameDecoder() = default;

  // Such as `h264`.
  virtual const char* name() const = 0;

  // Whether a run of packets may begin with an open entry. Otherwise BeginRun
  // gets only clean ones.
  virtual bool TakesOpenEntries() const { return false; }
  // Called before the first packet of a run.
  virtual absl::Status BeginRun(EntryKind entry) { return absl::OkStatus(); }
  // Takes the next packet, and gives `sink` the frames that are ready. The
  // frame of an unwanted packet may be left out when no other depends on it.
  virtual absl::Status Send(const AVPacket& packet, bool wanted,
                            FrameSink* sink) = 0;
  // Ends a run of packets: `sink` gets the remaining frames. A null sink drops
  // them.
  virtual absl::Status Drain(FrameSink* sink) = 0;
};

// Not thread-safe.
class ClipWalk : private FrameSink {
 public:
  // Finds the decoder for a stream. The decoder must be fresh, and live as long
  // as the walk or until UseDecoder replaces it.
  using FindDecoder = std::function<absl::StatusOr<FrameDecoder*>(
      const AVCodecParameters& parameters)>;
  // Stores a frame, which is number first … first+count-1 of the clip. The
  // frame is only valid during the call.
  using Put = std::function<absl::Status(const DecodedFrame& frame,
                                         size_t first, size_t count)>;

  static absl::StatusOr<std::unique_ptr<ClipWalk>> Open(
      const VideoPlace& place, const FindDecoder& find_decoder);

  const VideoInfo& info() const { return info_; }
  const AVCodecParameters& parameters() const { return packets_->parameters(); }
  absl::StatusOr<std::vector<double>> Times() const {
    return packets_->Times(info_.frames);
  }

  // Switches to another fresh decoder.
  void UseDecoder(FrameDecoder* decoder) { decoder_ = decoder; }

  // As ClipReader::Read. Decodes from the entry before each wanted frame, skips
  // frames that nothing depends on, and ends with a drained decoder.
  // After a failure the decoder is unusable.
  absl::Status Read(const std::vector<int64_t>& frames, const Put& put);

 private:
  // Packets that are decoded in sequence, starting with an entry.
  struct Segment {
    int64_t first = 0;
    int64_t last = 0;
  };

  ClipWalk() = default;
  // Counts the frames of a stream whose packets do not tell.
  static absl::StatusOr<int64_t> CountFrames(PacketList* packets);
  absl::Status CheckNumbers(const std::vector<int64_t>& frames) const;
  std::vector<Segment> SegmentsOf(bool open_too) const;
  absl::Status ReadOrdered();
  absl::Status ReadCounting();
  absl::Status Decode(const Segment& segment);
  // An error unless each of these frames has come out of the decoder.
  absl::Status CheckArrived(const std::vector<int64_t>& due);
  bool IsWanted(int64_t number) const;

  bool Wants(int64_t pts) override;
  absl::Status Take(const DecodedFrame& frame) override;

  std::unique_ptr<PacketList> packets_;
  VideoInfo info_;
  FrameDecoder* decoder_ = nullptr;

  // State of the call in progress.
  std::vector<int64_t> wanted_;
  std::vector<bool> got_;
  std::vector<int64_t> arrived_;
  int64_t missing_ = 0;
  int64_t counted_ = 0;
  // Number of the last frame.
  int64_t number_ = 0;
  const Put* put_ = nullptr;
};

// FFmpeg's decoders, on the CPU. Damage is an error: the output of a lenient
// decoder is not a frame of the video.
class AvDecoder : public FrameDecoder {
 public:
  // 0 `threads` lets FFmpeg choose; some codecs always have one.
  // InvalidArgument gives the reason.
  static absl::StatusOr<std::unique_ptr<AvDecoder>> Open(
      const AVCodecParameters& parameters, int threads);

  const char* name() const override { return strict_->codec->name; }
  bool TakesOpenEntries() const override { return true; }
  absl::Status BeginRun(EntryKind entry) override;
  absl::Status Send(const AVPacket& packet, bool wanted,
                    FrameSink* sink) override;
  absl::Status Drain(FrameSink* sink) override;

 private:
  AvDecoder() = default;
  absl::StatusOr<AvPtr<AVCodecContext>> MakeContext(int threads,
                                                    bool strict) const;
  absl::Status Receive(FrameSink* sink);

  AvPtr<AVCodecParameters> parameters_;
  AvPtr<AVCodecContext> strict_;
  // After an open entry: a strict decoder would stop where a packet says that a
  // frame before the entry is no longer needed. Null until there is one.
  AvPtr<AVCodecContext> open_;
  AVCodecContext* context_ = nullptr;  // The one in use.
  AvPtr<AVFrame> frame_;
};

}  // namespace feedrate
