#include "lib/media/video/frame_rgb.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/media/video/av.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace feedrate {
namespace {

bool IsFullRange(const AVFrame& frame) {
  return frame.color_range == AVCOL_RANGE_JPEG ||
         frame.format == AV_PIX_FMT_YUVJ420P;
}

// What swscale calls the matrix of the frame.
int MatrixOf(const AVFrame& frame) {
  switch (frame.colorspace) {
    case AVCOL_SPC_BT709:
      return SWS_CS_ITU709;
    case AVCOL_SPC_BT2020_NCL:
    case AVCOL_SPC_BT2020_CL:
      return SWS_CS_BT2020;
    case AVCOL_SPC_SMPTE240M:
      return SWS_CS_SMPTE240M;
    case AVCOL_SPC_FCC:
      return SWS_CS_FCC;
    default:
      return SWS_CS_ITU601;
  }
}

// In 1/64, so that sums of three fit into 16 bits, which is twice the pixels an
// instruction.
struct Weights {
  int16_t black;
  int16_t y;
  int16_t red_v;
  int16_t green_u;
  int16_t green_v;
  int16_t blue_u;
};

Weights WeightsOf(const AVFrame& frame) {
  // Of red and blue in luma.
  double kr = 0.299;
  double kb = 0.114;
  switch (MatrixOf(frame)) {
    case SWS_CS_ITU709:
      kr = 0.2126, kb = 0.0722;
      break;
    case SWS_CS_BT2020:
      kr = 0.2627, kb = 0.0593;
      break;
    case SWS_CS_SMPTE240M:
      kr = 0.212, kb = 0.087;
      break;
    case SWS_CS_FCC:
      kr = 0.30, kb = 0.11;
      break;
    default:
      break;
  }
  const bool full = IsFullRange(frame);
  const double chroma = 64 * 255.0 / (full ? 255 : 224);
  const double kg = 1 - kr - kb;
  const auto whole = [](double value) {
    return static_cast<int16_t>(std::lround(value));
  };
  Weights weights;
  weights.black = full ? 0 : 16;
  // 74.5 for limited range: y is doubled and the weight is 149, see below.
  weights.y = whole(128 * 255.0 / (full ? 255 : 219));
  weights.red_v = whole(chroma * 2 * (1 - kr));
  weights.green_u = whole(chroma * 2 * (1 - kb) * kb / kg);
  weights.green_v = whole(chroma * 2 * (1 - kr) * kr / kg);
  weights.blue_u = whole(chroma * 2 * (1 - kb));
  return weights;
}

inline uint8_t ToByte(int value) {
  return static_cast<uint8_t>(std::clamp(value >> 6, 0, 255));
}

// Two neighbours share a chroma sample. Written so that compilers turn it into
// vector code: no branches, one loop, chroma spread out beforehand.
void ConvertRow(const uint8_t* __restrict y, const int16_t* __restrict red,
                const int16_t* __restrict green, const int16_t* __restrict blue,
                const Weights& weights, int width, uint8_t* __restrict rgb) {
  const int black = weights.black;
  const int weight = weights.y;
  for (int x = 0; x < width; ++x) {
    const int luma = ((y[x] - black) * weight + 1) >> 1;
    rgb[3 * x] = ToByte(luma + red[x]);
    rgb[3 * x + 1] = ToByte(luma + green[x]);
    rgb[3 * x + 2] = ToByte(luma + blue[x]);
  }
}

// Chroma of one row for each pixel, with the rounding already in it.
void SpreadChroma(const uint8_t* __restrict u, const uint8_t* __restrict v,
                  const Weights& weights, int pairs, int16_t* __restrict red,
                  int16_t* __restrict green, int16_t* __restrict blue) {
  for (int i = 0; i < pairs; ++i) {
    const int du = u[i] - 128;
    const int dv = v[i] - 128;
    const auto r = static_cast<int16_t>(weights.red_v * dv + 32);
    const auto g =
        static_cast<int16_t>(32 - weights.green_u * du - weights.green_v * dv);
    const auto b = static_cast<int16_t>(weights.blue_u * du + 32);
    red[2 * i] = red[2 * i + 1] = r;
    green[2 * i] = green[2 * i + 1] = g;
    blue[2 * i] = blue[2 * i + 1] = b;
  }
}

}  // namespace

void ConvertYuv420(const AVFrame& frame, uint8_t* rgb) {
  const Weights weights = WeightsOf(frame);
  const int pairs = (frame.width + 1) / 2;
  // Kept: a row is small, and allocating it for each frame is not.
  thread_local std::vector<int16_t> chroma;
  chroma.resize(static_cast<size_t>(pairs) * 6);
  int16_t* const red = chroma.data();
  int16_t* const green = red + 2 * pairs;
  int16_t* const blue = green + 2 * pairs;
  for (int row = 0; row < frame.height; ++row) {
    if (row % 2 == 0) {
      SpreadChroma(frame.data[1] + row / 2 * frame.linesize[1],
                   frame.data[2] + row / 2 * frame.linesize[2], weights, pairs,
                   red, green, blue);
    }
    ConvertRow(frame.data[0] + row * frame.linesize[0], red, green, blue,
               weights, frame.width, rgb + int64_t{3} * frame.width * row);
  }
}

absl::Status FrameRgb::Scale(const AVFrame& frame, uint8_t* rgb) {
  const auto format = static_cast<AVPixelFormat>(frame.format);
  scaler_.reset(
      sws_getCachedContext(scaler_.release(), frame.width, frame.height, format,
                           frame.width, frame.height, AV_PIX_FMT_RGB24,
                           SWS_BILINEAR | SWS_FULL_CHR_H_INT | SWS_ACCURATE_RND,
                           nullptr, nullptr, nullptr));
  if (scaler_ == nullptr) {
    const char* name = av_get_pix_fmt_name(format);
    return absl::InvalidArgumentError(
        absl::StrCat("frames of pixel format ", name == nullptr ? "?" : name,
                     " cannot be converted to RGB"));
  }
  const int* table = sws_getCoefficients(MatrixOf(frame));
  sws_setColorspaceDetails(scaler_.get(), table, IsFullRange(frame), table,
                           /*dstRange=*/1, 0, 1 << 16, 1 << 16);
  uint8_t* const planes[4] = {rgb, nullptr, nullptr, nullptr};
  const int strides[4] = {3 * frame.width, 0, 0, 0};
  const int rows = sws_scale(scaler_.get(), frame.data, frame.linesize, 0,
                             frame.height, planes, strides);
  if (rows == frame.height) return absl::OkStatus();
  return absl::InvalidArgumentError("a frame could not be converted to RGB");
}

absl::Status FrameRgb::Convert(const AVFrame& frame, uint8_t* rgb) {
  if (frame.format == AV_PIX_FMT_YUV420P ||
      frame.format == AV_PIX_FMT_YUVJ420P) {
    ConvertYuv420(frame, rgb);
    return absl::OkStatus();
  }
  return Scale(frame, rgb);
}

}  // namespace feedrate
