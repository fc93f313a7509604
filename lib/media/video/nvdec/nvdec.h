// NVDEC as a decoder of packets. For lib/media/video only.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/media/video/clip_walk.h"
#include "lib/media/video/demux.h"
#include "lib/media/video/nvdec/nvdec_counts.h"

// A CUDA stream, by the name that the driver and the runtime share.
struct CUstream_st;

namespace feedrate {

struct Nvcuvid;
class NvdecEngine;

// Keeps one decoder of the engine from file to file; parsers, which cost next
// to nothing, are made per file. Frames are NV12 in device memory. All calls
// need CUDA's context in their thread. Not thread-safe.
//
//   NvdecSession session(library, stream);
//   RETURN_IF_ERROR(session.Begin(parameters));
//   RETURN_IF_ERROR(session.Send(packet, wanted, &sink));
//   RETURN_IF_ERROR(session.Drain(&sink));
class NvdecSession : public FrameDecoder {
 public:
  // Both outlive it. The sink must finish its work with a frame on `stream`
  // before it returns.
  NvdecSession(const Nvcuvid& library, CUstream_st* stream);
  ~NvdecSession() override;

  // Prepares for the stream of another file. Unimplemented means the engine
  // does not decode such streams, and another decoder must. Send and Drain may
  // return it too, since only the stream itself tells what it is, and when a
  // wanted frame was not decoded.
  absl::Status Begin(const AVCodecParameters& parameters);

  const char* name() const override { return avcodec_get_name(codec_); }
  absl::Status Send(const AVPacket& packet, bool wanted,
                    FrameSink* sink) override;
  absl::Status Drain(FrameSink* sink) override;

  const NvdecCounts& counts() const;

 private:
  // The library's callbacks.
  struct Callbacks;

  absl::Status CreateParser(int codec);
  absl::Status SendPacket(const AVPacket& packet);
  absl::Status SendEnd();
  // The time of the frame that the parser shows.
  absl::StatusOr<int64_t> TimeOf(int picture, int64_t parser_time);
  // Starts a run of packets from a key frame on.
  void BeginRow();
  // Sends a piece of the stream to the parser.
  absl::Status ParsePacket(const AVPacket& packet);
  // Takes matrix and range of a key frame of VP9 from its header.
  void ReadVp9Colors(const AVPacket& packet);
  absl::Status ParseHeader();
  absl::Status ParseEnd();
  absl::Status Parse(absl::string_view bytes, unsigned flags, int64_t pts);
  // Returns `status`. After a failure, destroys parser and decoder.
  absl::Status Checked(absl::Status status);
  void DestroyParser();

  const Nvcuvid& library_;
  const std::unique_ptr<NvdecEngine> engine_;
  std::unique_ptr<PacketFilter> filter_;
  void* parser_ = nullptr;
  // What the parser was told about the stream.
  std::shared_ptr<void> known_;

  // Properties of the file.
  AVCodecID codec_ = AV_CODEC_ID_NONE;
  AVColorSpace matrix_ = AVCOL_SPC_UNSPECIFIED;
  bool full_range_ = false;
  // Properties of the sequence: size, colors, and where in a surface pictures
  // begin.
  Nv12Frame picture_;
  int64_t left_ = 0;
  int64_t top_ = 0;

  // The next packet is the first of its run.
  bool is_fresh_ = true;
  // Packets since the last one with a wanted frame.
  int unwanted_ = 0;
  // Pictures of this run that were not decoded, by index.
  std::array<bool, 64> missing_ = {};
  // VP9 and AV1, whose parser's times are not used: the packets whose frame was
  // not shown yet, in order, and the time of the packet with which each picture
  // was decoded, by index.
  struct UnshownPacket {
    int64_t pts = 0;
    // It shows a picture of an earlier packet.
    bool shows_earlier = false;
  };
  std::deque<UnshownPacket> unshown_;
  std::array<int64_t, 64> times_ = {};
  int64_t packet_time_ = 0;
  // State of the call in progress: where frames go, and what failed in a
  // callback.
  FrameSink* sink_ = nullptr;
  absl::Status failure_;
};

// Loads NVDEC's functions; the library stays loaded. Unavailable, in one line,
// where the driver's video part is missing. Thread-safe.
absl::StatusOr<const Nvcuvid*> LoadNvcuvid();

}  // namespace feedrate
