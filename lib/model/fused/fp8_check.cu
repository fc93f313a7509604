#include <cstring>

#include "lib/model/fused/check_support.cuh"
#include "lib/model/fused/fp8.cuh"
#include "lib/model/fused/hopper_products.h"

namespace feedrate {
namespace fused {
namespace {

// Half a step of E4M3 is 1/16 of the smallest number it can be of, and of E5M2
// 1/8; over many values the mean is about half of that.
constexpr double kE4m3Bar = 0.04, kE5m2Bar = 0.08;

void Expect(const char* what, int64_t wrong) {
  failures += wrong != 0;
  std::printf("%-44s %lld wrong%s\n", what, static_cast<long long>(wrong),
              wrong != 0 ? "  <-- WRONG" : "");
}

double Decode(uint8_t byte, bool gradient) {
  return __half2float(
      __half(__nv_cvt_fp8_to_halfraw(byte, gradient ? __NV_E5M2 : __NV_E4M3)));
}

uint8_t Encode(float value) {
  return __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3);
}

// A tensor in FP8 on the device, with its scale.
class Fp8Buffer {
 public:
  Fp8Buffer(int64_t rows, int64_t columns, bool gradient, float scale)
      : rows_(rows),
        columns_(columns),
        gradient_(gradient),
        bytes_(rows * columns),
        transposed_(std::vector<uint8_t>(columns * Fp8PaddedRows(rows))),
        scale_(std::vector<Fp8Scale>{MakeScale(gradient, scale)}) {}

  static Fp8Scale MakeScale(bool gradient, float scale) {
    Fp8Scale s;
    s.scale = scale;
    s.inverse = 1 / scale;
    s.limit = gradient ? kE5m2Limit : kE4m3Limit;
    return s;
  }

  Fp8Out Out() { return {bytes_, transposed_, scale_}; }
  Fp8In Rows() { return {bytes_, scale_}; }

  Fp8Scale Scale() {
    Fp8Scale s;
    cudaMemcpy(&s, static_cast<Fp8Scale*>(scale_), sizeof(s),
               cudaMemcpyDefault);
    return s;
  }
  std::vector<uint8_t> Bytes() { return Copy(bytes_, rows_ * columns_); }
  // What the bytes stand for.
  std::vector<double> Values() {
    const double inverse = Scale().inverse;
    std::vector<double> values;
    for (const uint8_t byte : Bytes()) {
      values.push_back(Decode(byte, gradient_) * inverse);
    }
    return values;
  }
  // Bytes of the transposed tensor that are not those of the rows, or are
  // beyond them and not zero.
  int64_t WrongColumns() {
    const int64_t padded = Fp8PaddedRows(rows_);
    const std::vector<uint8_t> bytes = Bytes(),
                               other = Copy(transposed_, columns_ * padded);
    int64_t wrong = 0;
    for (int64_t c = 0; c < columns_; ++c) {
      for (int64_t place = 0; place < padded; ++place) {
        const int64_t row =
            place / kFp8Rows * kFp8Rows + Fp8Row(place % kFp8Rows);
        wrong += other[c * padded + place] !=
                 (row < rows_ ? bytes[row * columns_ + c] : 0);
      }
    }
    return wrong;
  }

 private:
  static std::vector<uint8_t> Copy(uint8_t* from, int64_t count) {
    std::vector<uint8_t> host(count);
    cudaMemcpy(host.data(), from, count, cudaMemcpyDefault);
    return host;
  }

  const int64_t rows_, columns_;
  const bool gradient_;
  CheckBuffer<uint8_t> bytes_, transposed_;
  CheckBuffer<Fp8Scale> scale_;
};

// Holds what a kernel noted against the exact values.
void HoldScale(const Fp8Scale& scale, const std::vector<double>& exact) {
  double most = 0;
  int64_t beyond = 0;
  for (const double v : exact) {
    most = std::max(most, std::abs(v));
    beyond += std::abs(v) > scale.limit * scale.inverse;
  }
  float largest = 0;
  std::memcpy(&largest, &scale.largest, sizeof(largest));
  Hold("  the largest value", {largest}, {most}, 0.01);
  const double counted = scale.clipped;
  const bool good =
      std::abs(counted - beyond) <= 0.1 * beyond + (beyond > 0 ? 2 : 0);
  failures += !good;
  std::printf("  beyond its type: %.0f, exactly %lld%s\n", counted,
              static_cast<long long>(beyond), good ? "" : "  <-- WRONG");
}

void CheckNorms(int64_t rows, int64_t width, float scale) {
  std::printf("norms in FP8, %lld x %lld\n", static_cast<long long>(rows),
              static_cast<long long>(width));
  auto x = Random<float>(rows * width);
  const auto y = Random<Bf16>(rows * width);
  const auto weight = Random<float>(width), factor = Random<float>(width);
  CheckStream d_x(&x, width), d_out(rows, width), dx(rows, width);
  CheckBuffer<float> d_weight(weight), d_factor(factor), rstd(rows),
      dweight(width), dbias(width);
  CheckSums sums;
  CheckBuffer<Bf16> d_y(y), normed(rows * width), dy(rows * width);
  AddNorm a;
  a.x = d_x;
  a.branches[0] = {d_y, d_factor};
  a.weight = d_weight;
  a.x_out = d_out;
  a.normed = normed;
  a.rstd = rstd;
  a.rows = rows;
  a.width = width;
  RunAddNorm(a, nullptr);
  // The kernels in bf16 are held against the host elsewhere.
  const std::vector<double> want = normed.Read(), want_out = d_out.Read();
  Fp8Buffer out(rows, width, false, scale);
  CheckBuffer<Bf16> again(rows * width);
  a.normed = again;
  RunAddNormFp8(a, out.Out(), nullptr);
  Hold("  normed, bf16", again.Read(), want, 1e-9);
  Hold("  sum", d_out.Read(), want_out, 1e-9);
  if (scale < 100) Hold("  normed", out.Values(), want, kE4m3Bar);
  Expect("  normed, transposed", out.WrongColumns());
  HoldScale(out.Scale(), want);

  NormBackward b;
  b.dnormed = normed;
  b.normed = normed;
  b.rstd = rstd;
  b.weight = d_weight;
  b.scale = d_factor;
  b.dx = dx;
  b.dy = dy;
  b.dweight = dweight;
  b.dbias = dbias;
  b.sums = &sums;
  b.rows = rows;
  b.width = width;
  RunNormBackward(b, nullptr);
  sums.Run(nullptr);
  const std::vector<double> want_dy = dy.Read(), want_dx = dx.Read(),
                            want_dbias = dbias.Read(),
                            want_dweight = dweight.Read();
  Fp8Buffer gradient(rows, width, true, scale);
  b.dy = nullptr;
  RunNormBackwardFp8(b, gradient.Out(), nullptr);
  sums.Run(nullptr);
  Hold("  gradient of the stream", dx.Read(), want_dx, kExact);
  Hold("  gradient of the weight", dweight.Read(), want_dweight, kExact);
  Hold("  gradient of the bias", dbias.Read(), want_dbias, kExact);
  Hold("  gradient of the branch", gradient.Values(), want_dy, kE5m2Bar);
  Expect("  gradient, transposed", gradient.WrongColumns());
}

void CheckWeights(int64_t outputs, int64_t inputs) {
  const auto values = Random<float>(outputs * inputs);
  CheckBuffer<float> d_values(values);
  for (const bool lanes : {false, true}) {
    Fp8Buffer out(outputs, inputs, false, 30);
    // inputs x outputs, not in an order of rows.
    CheckBuffer<uint8_t> columns(std::vector<uint8_t>(outputs * inputs));
    Fp8Weight weight;
    weight.values = d_values;
    weight.out = out.Out();
    weight.out.columns = columns;
    weight.lane_rows = weight.lane_columns = lanes;
    weight.outputs = outputs;
    weight.inputs = inputs;
    CheckBuffer<Fp8Weight> d_weight(std::vector<Fp8Weight>{weight});
    RunFp8Weights(d_weight, 1, outputs / 64 * (inputs / 64), nullptr);
    const std::vector<uint8_t> rows = out.Bytes();
    std::vector<uint8_t> transposed(outputs * inputs);
    cudaMemcpy(transposed.data(), static_cast<uint8_t*>(columns),
               transposed.size(), cudaMemcpyDefault);
    const auto channel = [&](int64_t i) {
      return lanes ? i / 32 * 32 + Fp8Channel(i % 32) : i;
    };
    int64_t wrong = 0;
    for (int64_t r = 0; r < outputs; ++r) {
      for (int64_t c = 0; c < inputs; ++c) {
        wrong += rows[r * inputs + c] !=
                 Encode(values[channel(r) * inputs + c] * 30);
        wrong += transposed[c * outputs + r] !=
                 Encode(values[r * inputs + channel(c)] * 30);
      }
    }
    Expect(lanes ? "weights in FP8, in the lanes' order" : "weights in FP8",
           wrong);
  }
}

// Random values, rounded to FP8 by the kernel for weights, as rows or columns.
struct Rounded {
  Rounded(int64_t outputs, int64_t inputs, float size, bool lanes)
      : buffer(outputs, inputs, false, 100 / size),
        columns(std::vector<uint8_t>(outputs * inputs)),
        values(Random<float>(outputs * inputs, size)) {
    CheckBuffer<float> d_values(values);
    Fp8Weight weight;
    weight.values = d_values;
    weight.out = buffer.Out();
    weight.out.columns = columns;
    weight.lane_rows = weight.lane_columns = lanes;
    weight.outputs = outputs;
    weight.inputs = inputs;
    CheckBuffer<Fp8Weight> d_weight(std::vector<Fp8Weight>{weight});
    RunFp8Weights(d_weight, 1, outputs / 64 * (inputs / 64), nullptr);
    cudaDeviceSynchronize();
    const float scale = 100 / size;
    for (float& v : values) v = Decode(Encode(v * scale), false) / scale;
  }
  Fp8In Transposed() { return {columns, buffer.Rows().scale}; }

  Fp8Buffer buffer;
  CheckBuffer<uint8_t> columns;
  // What FP8 made of them, outputs x inputs.
  std::vector<float> values;
};

void CheckProducts(int64_t rows, int64_t width, int64_t hidden) {
  std::printf("products in FP8, %lld x %lld, hidden %lld\n",
              static_cast<long long>(rows), static_cast<long long>(width),
              static_cast<long long>(hidden));
  const float small = 1 / std::sqrt(float(width));
  Rounded up(hidden, width, small, true), down(width, hidden, small, true);
  const auto bias = Random<Bf16>(hidden);
  // Bytes of numbers, and not of NaN.
  const auto bytes = [&](bool gradient) {
    std::vector<uint8_t> all;
    for (const float v : Random<float>(rows * width, 20)) {
      all.push_back(__nv_cvt_float_to_fp8(v, __NV_SATFINITE,
                                          gradient ? __NV_E5M2 : __NV_E4M3));
    }
    return all;
  };
  const auto x = bytes(false), dy = bytes(true);
  CheckBuffer<uint8_t> d_x(x), d_dy(dy);
  CheckBuffer<Fp8Scale> x_scale(
      std::vector<Fp8Scale>{Fp8Buffer::MakeScale(false, 20)}),
      dy_scale(std::vector<Fp8Scale>{Fp8Buffer::MakeScale(true, 20)});
  CheckBuffer<Bf16> d_bias(bias);
  CheckBuffer<uint8_t> slope(SlopeBytes(rows, hidden));
  CheckBuffer<float> dbias(std::vector<float>(hidden, 1));
  CheckSums sums;
  Fp8Buffer activated(rows, hidden, false, 50),
      gradient(rows, hidden, true, 1000);
  RunUpProductFp8({{d_x, x_scale},
                   up.buffer.Rows(),
                   d_bias,
                   activated.Out(),
                   slope,
                   rows,
                   width,
                   hidden},
                  nullptr);
  RunDownGradientFp8({{d_dy, dy_scale},
                      down.Transposed(),
                      slope,
                      gradient.Out(),
                      dbias,
                      &sums,
                      rows,
                      width,
                      hidden,
                      /*accumulate=*/true},
                     nullptr);
  sums.Run(nullptr);
  // Some rows, exactly.
  const int64_t step = std::max<int64_t>(1, rows / 97);
  std::vector<double> want_activated, want_gradient, got_activated,
      got_gradient;
  const std::vector<double> all_activated = activated.Values(),
                            all_gradient = gradient.Values();
  for (int64_t r = 0; r < rows; r += step) {
    for (int64_t c = 0; c < hidden; ++c) {
      double forward = float(bias[c]), backward = 0;
      for (int64_t k = 0; k < width; ++k) {
        forward +=
            Decode(x[r * width + k], false) / 20 * up.values[c * width + k];
        backward +=
            Decode(dy[r * width + k], true) / 20 * down.values[k * hidden + c];
      }
      const ExactGelu gelu(forward);
      want_activated.push_back(gelu.value);
      want_gradient.push_back(backward * gelu.slope);
      got_activated.push_back(all_activated[r * hidden + c]);
      got_gradient.push_back(all_gradient[r * hidden + c]);
    }
  }
  Hold("  up, GELU", got_activated, want_activated, kE4m3Bar);
  Expect("  up, transposed", activated.WrongColumns());
  Hold("  down, gradient with GELU", got_gradient, want_gradient, kE5m2Bar);
  Expect("  down, transposed", gradient.WrongColumns());
  std::vector<double> want_dbias(hidden, 1);
  const std::vector<double>& summed = step == 1 ? want_gradient : all_gradient;
  for (size_t i = 0; i < summed.size(); ++i)
    want_dbias[i % hidden] += summed[i];
  // Sums of many rows, with FP8's own errors, which even out.
  Hold("  down, gradient of the bias", dbias.Read(), want_dbias,
       step == 1 ? kRounded : kE5m2Bar);
  if (step == 1) HoldScale(activated.Scale(), want_activated);
  if (step == 1) HoldScale(gradient.Scale(), want_gradient);
}

void CheckScales() {
  std::vector<Fp8Scale> scales(3);
  for (Fp8Scale& s : scales) s.limit = kE4m3Limit;
  const auto set = [&](float largest) {
    std::memcpy(&scales[1].largest, &largest, sizeof(largest));
  };
  CheckBuffer<float> history(std::vector<float>(3 * kFp8History));
  CheckBuffer<int64_t> step(std::vector<int64_t>{5});
  std::vector<double> got, want;
  // The largest of 16 steps counts: 8 until it is 16 steps old.
  for (int i = 0; i < 20; ++i) {
    set(i == 0 ? 8 : 2);
    CheckBuffer<Fp8Scale> device(scales);
    UpdateFp8Scales(device, history, step, 0, 3, false, nullptr);
    cudaMemcpy(scales.data(), static_cast<Fp8Scale*>(device),
               3 * sizeof(Fp8Scale), cudaMemcpyDefault);
    got.push_back(scales[1].inverse);
    want.push_back((i < kFp8History ? 16 : 4) / kE4m3Limit);
    got.push_back(scales[0].inverse);
    want.push_back(1);
  }
  Hold("scales of the last steps", got, want, kExact);
}

}  // namespace

void CheckFp8() {
  if (!HasFp8(384, 1536)) {
    std::printf("FP8: not on this GPU\n");
    return;
  }
  CheckScales();
  CheckWeights(1536, 384);
  CheckNorms(300, 384, 10);
  CheckNorms(1031, 768, 10);
  // Many values beyond the type.
  CheckNorms(77, 384, 300);
  CheckProducts(60, 384, 128);
  CheckProducts(300, 768, 256);
  CheckProducts(9001, 384, 1536);
}

void TimeFp8(int64_t rows, int64_t width, int64_t hidden) {
  if (!HasFp8(width, hidden)) return;
  const float small = 1 / std::sqrt(float(width));
  Rounded up(hidden, width, small, true);
  auto values = Random<float>(rows * width);
  CheckStream x(&values, width), x_out(rows, width), dx(&values, width);
  CheckBuffer<float> weight(Random<float>(width)), rstd(rows), dweight(width),
      dbias(hidden);
  CheckSums sums;
  CheckBuffer<Bf16> y(Random<Bf16>(rows * width)), normed(rows * width),
      dy(rows * width), bias(Random<Bf16>(hidden));
  CheckBuffer<uint8_t> slope(SlopeBytes(rows, hidden));
  Fp8Buffer left(rows, width, false, 20), wide(rows, hidden, false, 50),
      gradient(rows, width, true, 20), wide_gradient(rows, hidden, true, 1000);
  AddNorm a;
  a.x = x;
  a.branches[0] = {y, weight};
  a.weight = weight;
  a.normed = normed;
  a.rstd = rstd;
  a.rows = rows;
  a.width = width;
  NormBackward b;
  b.dnormed = y;
  b.normed = normed;
  b.rstd = rstd;
  b.weight = b.scale = weight;
  b.dresidual = b.dx = dx;
  b.dy = dy;
  b.dweight = dweight;
  b.dbias = dbias;
  b.sums = &sums;
  b.rows = rows;
  b.width = width;
  const auto line = [&](const char* what, const std::function<void()>& call) {
    std::printf("%-28s %7.1f us\n", what, Microseconds(call));
  };
  // As a block has them: the norm inside it, and the one after it.
  line("norm in bf16", [&] { RunAddNorm(a, nullptr); });
  line("norm in FP8", [&] { RunAddNormFp8(a, left.Out(), nullptr); });
  a.branches[1] = {dy, weight};
  a.x_out = x_out;
  line("norm of two branches", [&] { RunAddNorm(a, nullptr); });
  line("norm backward in bf16", [&] {
    RunNormBackward(b, nullptr);
    sums.Run(nullptr);
  });
  line("norm backward in FP8", [&] {
    RunNormBackwardFp8(b, gradient.Out(), nullptr);
    sums.Run(nullptr);
  });
  line("up, GELU in FP8", [&] {
    RunUpProductFp8({left.Rows(), up.buffer.Rows(), bias, wide.Out(), slope,
                     rows, width, hidden},
                    nullptr);
  });
  line("down, gradient in FP8", [&] {
    RunDownGradientFp8(
        {gradient.Rows(), up.buffer.Rows(), slope, wide_gradient.Out(), dbias,
         &sums, rows, width, hidden, false},
        nullptr);
    sums.Run(nullptr);
  });
}

}  // namespace fused
}  // namespace feedrate
