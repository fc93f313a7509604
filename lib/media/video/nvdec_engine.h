// A decoder of the engine, kept from file to file. For lib/media/video alone.
#ifndef FEEDRATE_LIB_MEDIA_VIDEO_NVDEC_ENGINE_H_
#define FEEDRATE_LIB_MEDIA_VIDEO_NVDEC_ENGINE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/media/video/nvcuvid.h"
#include "lib/media/video/nvdec_counts.h"

namespace feedrate {

// To make a decoder takes as long as to decode some hundred frames, so the one
// that is there serves the next sequence if it can. All calls need CUDA's
// context in their thread. Not thread-safe.
class NvdecEngine {
 public:
  // `library` outlives it. `stream` is where frames are made ready.
  NvdecEngine(const Nvcuvid& library, CUstream stream)
      : library_(library), stream_(stream) {}
  ~NvdecEngine() { Reset(); }
  NvdecEngine(const NvdecEngine&) = delete;
  NvdecEngine& operator=(const NvdecEngine&) = delete;

  // Gets ready for a sequence, and says how many pictures its parser may keep,
  // of which `delay` wait to be shown. Unimplemented with the reason: it is not
  // for the engine.
  absl::StatusOr<int> Fit(const CUVIDEOFORMAT& format, int delay);

  // REQUIRES for the rest: Fit was good, and nothing has failed since.
  absl::Status Decode(CUVIDPICPARAMS* picture);
  // Counts one that is left out.
  void Skip() { ++counts_.skipped; }

  struct Surface {
    unsigned long long address = 0;  // NOLINT(runtime/int): as in its header.
    int64_t stride = 0;
    // Rows of luma, before those of chroma.
    int64_t rows = 0;
    bool is_damaged = false;
  };
  // Waits until the picture is decoded, and lets it be read on the stream. Both
  // fields of an interlaced one are in their rows.
  absl::StatusOr<Surface> Map(int picture);
  absl::Status Unmap(const Surface& surface);

  // The next Fit makes a new one.
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
  // False: it cannot become one of that size.
  bool Reconfigure(Size size);

  const Nvcuvid& library_;
  const CUstream stream_;
  CUvideodecoder decoder_ = nullptr;
  // What the decoder is for.
  cudaVideoCodec codec_ = cudaVideoCodec_NumCodecs;
  Size size_;
  Size most_;
  int surfaces_ = 0;
  // What the engine can do with `codec_`. Asked once for a codec.
  CUVIDDECODECAPS caps_ = {};
  NvdecCounts counts_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_VIDEO_NVDEC_ENGINE_H_
