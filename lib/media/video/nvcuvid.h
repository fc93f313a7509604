// NVDEC's library, loaded at run time. Its header has types of its own for what
// CUDA's headers declare too, so this one is for sources that include none of
// those. For lib/media/video alone.
#ifndef FEEDRATE_LIB_MEDIA_VIDEO_NVCUVID_H_
#define FEEDRATE_LIB_MEDIA_VIDEO_NVCUVID_H_

// The order matters: the second uses what the first declares.
// clang-format off
#include <ffnvcodec/dynlink_cuda.h>
#include <ffnvcodec/dynlink_nvcuvid.h>
// clang-format on

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// Its functions that feedrate calls. Tests have their own.
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

// Names the call and the code: ResourceExhausted when memory is short, else
// Internal.
absl::Status NvcuvidStatus(CUresult result, absl::string_view call);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_VIDEO_NVCUVID_H_
