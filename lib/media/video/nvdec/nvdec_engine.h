// NVDEC's library, loaded at run time, and a decoder of its engine. The
// library's header declares its own versions of types that CUDA's headers
// declare too, so include this only in sources that include none of those. For
// lib/media/video only.
#pragma once

// The order matters: the second uses what the first declares.
// clang-format off
#include <ffnvcodec/dynlink_cuda.h>
#include <ffnvcodec/dynlink_nvcuvid.h>
// clang-format on

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/media/video/nvdec/nvdec_counts.h"

namespace feedrate {

// The functions that feedrate calls. Tests supply their own.
struct Nvcuvid {
  tcuvidGetDecoderCaps* get_decoder_caps = nullptr;
  tcuvidCreateDecoder* create_decoder = nullptr;
  tcuvidDestroyDecoder* destroy_decoder = nullptr;
  tcuvidReconfigureDecoder* reconfigure_decoder = nullptr;
  tcuvidDecodePicture* decode_picture = nullptr;
  tcuvidGetDecodeStatus* get_decode_status = nullptr;
  tcuvidMapVideoFrame64* map_video_frame = nullptr;
  tcuvidUnmapVideoFrame64* unmap_video_frame = nullptr;
  tcuvidCreateVideoParser* create_parser = nullptr;
  tcuvidParseVideoData* parse = nullptr;
  tcuvidDestroyVideoParser* destroy_parser = nullptr;
};

// An error that names the call and the code: ResourceExhausted when memory is
// short, otherwise Internal.
absl::Status NvcuvidStatus(CUresult result, absl::string_view call);

// A decoder of the engine, kept from file to file. Making a decoder takes as
// long as decoding some hundred frames, so an existing one serves the next
// sequence if it can. All calls need CUDA's context in their thread. Not
// thread-safe.
class NvdecEngine {
 public:
  // `library` outlives it. Frames become ready on `stream`.
  NvdecEngine(const Nvcuvid& library, CUstream stream)
      : library_(library), stream_(stream) {}
  ~NvdecEngine() { Reset(); }
  NvdecEngine(const NvdecEngine&) = delete;
  NvdecEngine& operator=(const NvdecEngine&) = delete;

  // Prepares for a sequence, and returns how many pictures its parser may keep,
  // of which `delay` wait to be shown. Unimplemented, with the reason, when the
  // engine cannot decode it.
  absl::StatusOr<int> Fit(const CUVIDEOFORMAT& format, int delay);

  // REQUIRES for the rest: Fit succeeded, and nothing has failed since.
  absl::Status Decode(CUVIDPICPARAMS* picture);
  // Counts a picture that is not decoded.
  void Skip() { ++counts_.skipped; }

  struct Surface {
    unsigned long long address = 0;  // NOLINT(runtime/int): as in its header.
    int64_t stride = 0;
    // Rows of luma, before those of chroma.
    int64_t rows = 0;
    bool is_damaged = false;
  };
  // Waits until the picture is decoded, and makes it readable on the stream.
  // Both fields of an interlaced picture are in their rows.
  absl::StatusOr<Surface> Map(int picture);
  absl::Status Unmap(const Surface& surface);

  // Destroys the decoder; the next Fit makes a new one.
  void Reset();

  const NvdecCounts& counts() const { return counts_; }

 private:
  struct Size {
    unsigned width = 0;
    unsigned height = 0;
  };

  absl::Status CheckKind(const CUVIDEOFORMAT& format);
  absl::Status CheckSize(Size size) const;
  absl::Status Create(const CUVIDEOFORMAT& format, int surfaces);
  // False when the decoder cannot change to that size.
  bool Reconfigure(Size size);

  const Nvcuvid& library_;
  const CUstream stream_;
  CUvideodecoder decoder_ = nullptr;
  // What the decoder is for.
  cudaVideoCodec codec_ = cudaVideoCodec_NumCodecs;
  Size size_;
  Size most_;
  int surfaces_ = 0;
  // Capabilities of the engine for `codec_`, queried once per codec.
  CUVIDDECODECAPS caps_ = {};
  NvdecCounts counts_;
};

}  // namespace feedrate
