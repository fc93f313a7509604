#include "lib/media/video/nvdec_engine.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

// Of decoders, for any codec.
constexpr int kMaxSurfaces = 32;
// What the longest lists of references need, for a parser that does not say.
constexpr int kUsualSurfaces = 20;
// One that is read while the next is made ready.
constexpr int kOutputSurfaces = 2;

int SurfacesFor(const CUVIDEOFORMAT& format, int delay) {
  const int needed = format.min_num_decode_surfaces > 0
                         ? format.min_num_decode_surfaces
                         : kUsualSurfaces;
  // One more for the picture that is decoded meanwhile.
  return std::min(kMaxSurfaces, needed + delay + 1);
}

}  // namespace

absl::Status NvdecEngine::CheckKind(const CUVIDEOFORMAT& format) {
  if (format.chroma_format != cudaVideoChromaFormat_420 ||
      format.bit_depth_luma_minus8 != 0 ||
      format.bit_depth_chroma_minus8 != 0) {
    return absl::UnimplementedError("is not of 8 bits and 4:2:0");
  }
  // Chroma would be shared by other pixels than those of the stream.
  if (format.coded_width % 2 != 0 || format.coded_height % 2 != 0 ||
      format.display_area.left % 2 != 0 || format.display_area.top % 2 != 0) {
    return absl::UnimplementedError("has an odd size or an odd margin");
  }
  const auto& area = format.display_area;
  if (area.left < 0 || area.left >= area.right ||
      static_cast<unsigned>(area.right) > format.coded_width || area.top < 0 ||
      area.top >= area.bottom ||
      static_cast<unsigned>(area.bottom) > format.coded_height) {
    return absl::UnimplementedError("shows more than it codes");
  }
  if (caps_.eCodecType != format.codec || caps_.bIsSupported == 0) {
    caps_ = {};
    caps_.eCodecType = format.codec;
    caps_.eChromaFormat = format.chroma_format;
    RETURN_IF_ERROR(NvcuvidStatus(library_.get_decoder_caps(&caps_),
                                  "cuvidGetDecoderCaps"));
  }
  const bool gives_nv12 =
      caps_.nOutputFormatMask & 1 << cudaVideoSurfaceFormat_NV12;
  if (caps_.bIsSupported != 0 && gives_nv12) return absl::OkStatus();
  return absl::UnimplementedError("is of a codec that the engine lacks");
}

absl::Status NvdecEngine::CheckSize(Size size) const {
  if (size.width >= caps_.nMinWidth && size.height >= caps_.nMinHeight &&
      size.width <= caps_.nMaxWidth && size.height <= caps_.nMaxHeight &&
      uint64_t{size.width} * size.height / 256 <= caps_.nMaxMBCount) {
    return absl::OkStatus();
  }
  return absl::UnimplementedError(absl::StrCat(
      "is coded as ", size.width, "x", size.height, "; the engine decodes ",
      caps_.nMinWidth, "x", caps_.nMinHeight, " to ", caps_.nMaxWidth, "x",
      caps_.nMaxHeight));
}

absl::StatusOr<int> NvdecEngine::Fit(const CUVIDEOFORMAT& format, int delay) {
  RETURN_IF_ERROR(CheckKind(format));
  const Size size = {format.coded_width, format.coded_height};
  RETURN_IF_ERROR(CheckSize(size));
  const int surfaces = SurfacesFor(format, delay);
  if (decoder_ != nullptr && codec_ == format.codec && surfaces <= surfaces_) {
    const bool is_same =
        size.width == size_.width && size.height == size_.height;
    if (is_same || Reconfigure(size)) return surfaces;
  }
  RETURN_IF_ERROR(Create(format, surfaces));
  return surfaces;
}

bool NvdecEngine::Reconfigure(Size size) {
  if (size.width > most_.width || size.height > most_.height) return false;
  CUVIDRECONFIGUREDECODERINFO info = {};
  info.ulWidth = info.ulTargetWidth = size.width;
  info.ulHeight = info.ulTargetHeight = size.height;
  info.ulNumDecodeSurfaces = static_cast<unsigned>(surfaces_);
  info.display_area.right = static_cast<int16_t>(size.width);
  info.display_area.bottom = static_cast<int16_t>(size.height);
  if (library_.reconfigure_decoder(decoder_, &info) != CUDA_SUCCESS) {
    return false;
  }
  size_ = size;
  ++counts_.reconfigured;
  return true;
}

absl::Status NvdecEngine::Create(const CUVIDEOFORMAT& format, int surfaces) {
  const Size size = {format.coded_width, format.coded_height};
  // Room for the largest file so far, so that sizes in turns are one decoder's.
  Size most = {std::max(size.width, most_.width),
               std::max(size.height, most_.height)};
  if (codec_ != format.codec || !CheckSize(most).ok()) most = size;
  Reset();
  CUVIDDECODECREATEINFO info = {};
  info.ulWidth = info.ulTargetWidth = size.width;
  info.ulHeight = info.ulTargetHeight = size.height;
  info.ulMaxWidth = most.width;
  info.ulMaxHeight = most.height;
  info.ulNumDecodeSurfaces = static_cast<unsigned>(surfaces);
  info.ulNumOutputSurfaces = kOutputSurfaces;
  info.CodecType = format.codec;
  info.ChromaFormat = format.chroma_format;
  info.OutputFormat = cudaVideoSurfaceFormat_NV12;
  info.DeinterlaceMode = cudaVideoDeinterlaceMode_Weave;
  info.ulCreationFlags = cudaVideoCreate_PreferCUVID;
  CUvideodecoder decoder = nullptr;
  RETURN_IF_ERROR(NvcuvidStatus(library_.create_decoder(&decoder, &info),
                                "cuvidCreateDecoder"));
  decoder_ = decoder;
  codec_ = format.codec;
  size_ = size;
  most_ = most;
  surfaces_ = surfaces;
  ++counts_.created;
  return absl::OkStatus();
}

absl::Status NvdecEngine::Decode(CUVIDPICPARAMS* picture) {
  ++counts_.decoded;
  return NvcuvidStatus(library_.decode_picture(decoder_, picture),
                       "cuvidDecodePicture");
}

absl::StatusOr<NvdecEngine::Surface> NvdecEngine::Map(int picture) {
  CUVIDPROCPARAMS params = {};
  // Rows as they are stored, whatever the fields.
  params.progressive_frame = 1;
  params.output_stream = stream_;
  Surface surface;
  unsigned stride = 0;
  RETURN_IF_ERROR(
      NvcuvidStatus(library_.map_video_frame(
                        decoder_, picture, &surface.address, &stride, &params),
                    "cuvidMapVideoFrame64"));
  surface.stride = stride;
  surface.rows = size_.height;
  // It is not told for every codec, and then says nothing of the picture.
  CUVIDGETDECODESTATUS status = {};
  surface.is_damaged =
      library_.get_decode_status(decoder_, picture, &status) == CUDA_SUCCESS &&
      (status.decodeStatus == cuvidDecodeStatus_Error ||
       status.decodeStatus == cuvidDecodeStatus_Error_Concealed);
  return surface;
}

absl::Status NvdecEngine::Unmap(const Surface& surface) {
  return NvcuvidStatus(library_.unmap_video_frame(decoder_, surface.address),
                       "cuvidUnmapVideoFrame64");
}

void NvdecEngine::Reset() {
  if (decoder_ == nullptr) return;
  library_.destroy_decoder(decoder_);
  decoder_ = nullptr;
  surfaces_ = 0;
}

}  // namespace feedrate
