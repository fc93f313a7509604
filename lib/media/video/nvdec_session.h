// NVDEC as a decoder of packets. For lib/media/video alone.
#ifndef FEEDRATE_LIB_MEDIA_VIDEO_NVDEC_SESSION_H_
#define FEEDRATE_LIB_MEDIA_VIDEO_NVDEC_SESSION_H_

#include <array>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/media/video/av.h"
#include "lib/media/video/frame_decoder.h"
#include "lib/media/video/nvdec_counts.h"
#include "lib/media/video/packet_filter.h"

// A stream of CUDA, as its driver and its runtime both call it.
struct CUstream_st;

namespace feedrate {

struct Nvcuvid;
class NvdecEngine;

// Goes from file to file with one decoder of the engine; parsers, which cost
// next to nothing, are each for one file. Its frames are NV12 in device memory.
// All calls need CUDA's context in their thread. Not thread-safe.
//
//   NvdecSession session(library, stream);
//   RETURN_IF_ERROR(session.Begin(parameters));
//   RETURN_IF_ERROR(session.Send(packet, wanted, &sink));
//   RETURN_IF_ERROR(session.Drain(&sink));
class NvdecSession : public FrameDecoder {
 public:
  // Both outlive it. The sink has waited for what it does with a frame on
  // `stream` when it returns.
  NvdecSession(const Nvcuvid& library, CUstream_st* stream);
  ~NvdecSession() override;

  // Gets ready for the stream of another file. Unimplemented: the engine does
  // not decode such streams, and another decoder has to. Send and Drain may say
  // so too, since it is the stream itself that tells what it is, and where a
  // frame that is wanted comes undecoded.
  absl::Status Begin(const AVCodecParameters& parameters);

  const char* name() const override { return avcodec_get_name(codec_); }
  absl::Status Send(const AVPacket& packet, bool wanted,
                    FrameSink* sink) override;
  absl::Status Drain(FrameSink* sink) override;

  const NvdecCounts& counts() const;

 private:
  // What the library calls back.
  struct Callbacks;

  absl::Status CreateParser(int codec);
  absl::Status SendPacket(const AVPacket& packet);
  absl::Status SendEnd();
  // Packets from a key frame on follow.
  void BeginRow();
  // A piece of the stream for the parser.
  absl::Status ParsePacket(const AVPacket& packet);
  absl::Status ParseHeader();
  absl::Status ParseEnd();
  absl::Status Parse(absl::string_view bytes, unsigned flags, int64_t pts);
  // Passes a status on. After a failure parser and decoder are gone.
  absl::Status Checked(absl::Status status);
  void DestroyParser();

  const Nvcuvid& library_;
  const std::unique_ptr<NvdecEngine> engine_;
  std::unique_ptr<PacketFilter> filter_;
  void* parser_ = nullptr;
  // What the parser was told of the stream.
  std::shared_ptr<void> known_;

  // Of the file.
  AVCodecID codec_ = AV_CODEC_ID_NONE;
  AVColorSpace matrix_ = AVCOL_SPC_UNSPECIFIED;
  bool full_range_ = false;
  // Of the sequence: size, colours, and where in a surface pictures begin.
  Nv12Frame picture_;
  int64_t left_ = 0;
  int64_t top_ = 0;

  // The next packet is the first of its row.
  bool is_fresh_ = true;
  // Packets since the last one whose frame is wanted.
  int unwanted_ = 0;
  // Pictures of this row that were not decoded, by their index.
  std::array<bool, 64> missing_ = {};
  // Of the call in progress: where frames go, and what failed in a callback.
  FrameSink* sink_ = nullptr;
  absl::Status failure_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_VIDEO_NVDEC_SESSION_H_
