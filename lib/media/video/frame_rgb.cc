#include "lib/media/video/frame_rgb.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/media/video/yuv_rgb.h"

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

using Sample = uint16_t;
using Sum = int32_t;

// Two neighbors share a chroma sample. Samples of more than 8 bits, and sums of
// luma and chroma with `kShift` more bits than those of 8; yuv_rgb.h has these.
template <int kShift>
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
template <int kShift>
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

template <int kShift>
void ConvertPlanes(const AVFrame& frame, const FrameWindow& window,
                   uint8_t* rgb) {
  const YuvWeights weights = WeightsOf(frame);
  // The window may begin with the second pixel of a pair.
  const int odd = window.x % 2;
  const int pairs = (odd + window.width + 1) / 2;
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
  for (int row = window.y; row < window.y + window.height; ++row) {
    if (row % 2 == 0 || row == window.y) {
      const int first = window.x / 2;
      SpreadChroma<kShift>(line(1, row / 2) + first, line(2, row / 2) + first,
                           weights, pairs, red, green, blue);
    }
    ConvertRow<kShift>(line(0, row) + window.x, red + odd, green + odd,
                       blue + odd, weights, window.width, rgb);
    rgb += int64_t{3} * window.width;
  }
}

}  // namespace

void ConvertYuv420(const AVFrame& frame, const FrameWindow& window,
                   uint8_t* rgb) {
  Yuv420Part part;
  part.y_stride = frame.linesize[0];
  part.u_stride = frame.linesize[1];
  part.v_stride = frame.linesize[2];
  part.y = frame.data[0] + window.y * part.y_stride + window.x;
  part.u = frame.data[1] + window.y / 2 * part.u_stride + window.x / 2;
  part.v = frame.data[2] + window.y / 2 * part.v_stride + window.x / 2;
  part.width = window.width;
  part.height = window.height;
  part.starts_odd = window.x % 2 != 0;
  part.starts_on_odd_row = window.y % 2 != 0;
  part.weights = WeightsOf(frame);
  Yuv420ToRgb(part, rgb);
}

absl::Status FrameRgb::Scale(const AVFrame& frame, const FrameWindow& window,
                             uint8_t* rgb) {
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
  const bool is_whole =
      window.width == frame.width && window.height == frame.height;
  if (!is_whole) scaled_.resize(size_t{3} * frame.width * frame.height);
  uint8_t* const scaled = is_whole ? rgb : scaled_.data();
  uint8_t* const planes[4] = {scaled, nullptr, nullptr, nullptr};
  const int strides[4] = {3 * frame.width, 0, 0, 0};
  const int rows = sws_scale(scaler_.get(), frame.data, frame.linesize, 0,
                             frame.height, planes, strides);
  if (rows != frame.height) {
    return absl::InvalidArgumentError("a frame could not be converted to RGB");
  }
  for (int row = 0; !is_whole && row < window.height; ++row) {
    const int64_t first =
        int64_t{window.y + row} * frame.width + int64_t{window.x};
    rgb = std::copy_n(scaled + 3 * first, 3 * window.width, rgb);
  }
  return absl::OkStatus();
}

absl::Status FrameRgb::Convert(const AVFrame& frame, const FrameWindow& window,
                               uint8_t* rgb) {
  switch (frame.format) {
    case AV_PIX_FMT_YUV420P:
    case AV_PIX_FMT_YUVJ420P:
      ConvertYuv420(frame, window, rgb);
      return absl::OkStatus();
    case AV_PIX_FMT_YUV420P10:
      ConvertPlanes<2>(frame, window, rgb);
      return absl::OkStatus();
    case AV_PIX_FMT_YUV420P12:
      ConvertPlanes<4>(frame, window, rgb);
      return absl::OkStatus();
    default:
      return Scale(frame, window, rgb);
  }
}

}  // namespace feedrate
