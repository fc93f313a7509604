#include "lib/media/video/frame_rgb.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace feedrate {
namespace {

bool IsFullRange(const AVFrame& frame) {
  return frame.color_range == AVCOL_RANGE_JPEG ||
         frame.format == AV_PIX_FMT_YUVJ420P;
}

// What swscale calls the matrix.
int MatrixOf(AVColorSpace matrix) {
  switch (matrix) {
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

// `red` and `blue` are their shares of luma, as 0.299 and 0.114 in BT.601.
YuvWeights MakeYuvWeights(double red, double blue, bool full_range) {
  const double chroma = 64 * 255.0 / (full_range ? 255 : 224);
  const double green = 1 - red - blue;
  const auto whole = [](double value) {
    return static_cast<int16_t>(std::lround(value));
  };
  YuvWeights weights;
  weights.black = full_range ? 0 : 16;
  weights.y = whole(128 * 255.0 / (full_range ? 255 : 219));
  weights.red_v = whole(chroma * 2 * (1 - red));
  weights.green_u = whole(chroma * 2 * (1 - blue) * blue / green);
  weights.green_v = whole(chroma * 2 * (1 - red) * red / green);
  weights.blue_u = whole(chroma * 2 * (1 - blue));
  return weights;
}

}  // namespace

YuvWeights WeightsOf(AVColorSpace matrix, bool full_range) {
  // Shares of red and blue in luma.
  double kr = 0.299;
  double kb = 0.114;
  switch (MatrixOf(matrix)) {
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
  return MakeYuvWeights(kr, kb, full_range);
}

YuvWeights WeightsOf(const AVFrame& frame) {
  return WeightsOf(frame.colorspace, IsFullRange(frame));
}

namespace {

// Two neighbors share a chroma sample. Written so that compilers turn it into
// vector code: no branches, one loop, chroma spread out beforehand. `Sum` holds
// sums of luma and chroma, which have `kShift` more bits than for 8-bit
// samples.
template <int kShift, typename Sample, typename Sum>
void ConvertRow(const Sample* __restrict y, const Sum* __restrict red,
                const Sum* __restrict green, const Sum* __restrict blue,
                const YuvWeights& weights, int width, uint8_t* __restrict rgb) {
  const int black = weights.black << kShift;
  const int weight = weights.y;
  for (int x = 0; x < width; ++x) {
    const int luma = LumaOf(black, weight, y[x]);
    rgb[3 * x] = YuvToByte((luma + red[x]) >> kShift);
    rgb[3 * x + 1] = YuvToByte((luma + green[x]) >> kShift);
    rgb[3 * x + 2] = YuvToByte((luma + blue[x]) >> kShift);
  }
}

// Chroma parts of one row, per pixel, including the rounding.
template <int kShift, typename Sample, typename Sum>
void SpreadChroma(const Sample* __restrict u, const Sample* __restrict v,
                  const YuvWeights& weights, int pairs, Sum* __restrict red,
                  Sum* __restrict green, Sum* __restrict blue) {
  for (int i = 0; i < pairs; ++i) {
    const auto r = static_cast<Sum>(RedOf<kShift>(weights, v[i]));
    const auto g = static_cast<Sum>(GreenOf<kShift>(weights, u[i], v[i]));
    const auto b = static_cast<Sum>(BlueOf<kShift>(weights, u[i]));
    red[2 * i] = red[2 * i + 1] = r;
    green[2 * i] = green[2 * i + 1] = g;
    blue[2 * i] = blue[2 * i + 1] = b;
  }
}

template <int kShift, typename Sample, typename Sum>
void ConvertPlanes(const AVFrame& frame, uint8_t* rgb) {
  const YuvWeights weights = WeightsOf(frame);
  const int pairs = (frame.width + 1) / 2;
  // Kept between frames, to save allocations.
  thread_local std::vector<Sum> chroma;
  chroma.resize(static_cast<size_t>(pairs) * 6);
  Sum* const red = chroma.data();
  Sum* const green = red + 2 * pairs;
  Sum* const blue = green + 2 * pairs;
  const auto line = [&frame](int plane, int row) {
    return reinterpret_cast<const Sample*>(frame.data[plane] +
                                           row * frame.linesize[plane]);
  };
  for (int row = 0; row < frame.height; ++row) {
    if (row % 2 == 0) {
      SpreadChroma<kShift>(line(1, row / 2), line(2, row / 2), weights, pairs,
                           red, green, blue);
    }
    ConvertRow<kShift>(line(0, row), red, green, blue, weights, frame.width,
                       rgb + int64_t{3} * frame.width * row);
  }
}

}  // namespace

void ConvertYuv420(const AVFrame& frame, uint8_t* rgb) {
  ConvertPlanes<0, uint8_t, int16_t>(frame, rgb);
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
  const int* table = sws_getCoefficients(MatrixOf(frame.colorspace));
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
  switch (frame.format) {
    case AV_PIX_FMT_YUV420P:
    case AV_PIX_FMT_YUVJ420P:
      ConvertYuv420(frame, rgb);
      return absl::OkStatus();
    case AV_PIX_FMT_YUV420P10:
      ConvertPlanes<2, uint16_t, int32_t>(frame, rgb);
      return absl::OkStatus();
    case AV_PIX_FMT_YUV420P12:
      ConvertPlanes<4, uint16_t, int32_t>(frame, rgb);
      return absl::OkStatus();
    default:
      return Scale(frame, rgb);
  }
}

}  // namespace feedrate
