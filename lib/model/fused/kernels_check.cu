// Holds the kernels of the fused engine against double precision on the host,
// for odd sizes, and times attention and products beside the limit of the
// memory. Needs a GPU; `gpu_train.sh kernels` of dev/gpu_bundle.sh runs it.
//
//   kernels_check [BATCH [HEADS [TOKENS]]]   sizes that are timed: 256 6 201
//   kernels_check fp8 [check]                those in FP8 only; check: untimed
//   kernels_check causal|images|norms        attention of texts or images,
//   norms
#include "lib/model/fused/check_support.cuh"

namespace feedrate {
namespace fused {
namespace {

void CheckTokens() {
  const int64_t batch = 3, channels = 3, side = 24, patch = 8, width = 128;
  const int64_t per_side = side / patch, patches = per_side * per_side;
  const int64_t first = 5, tokens = first + patches;
  const auto images = Random<float>(batch * channels * side * side);
  std::vector<double> want;
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t p = 0; p < patches; ++p) {
      for (int64_t c = 0; c < channels; ++c) {
        for (int64_t i = 0; i < patch * patch; ++i) {
          const int64_t y = p / per_side * patch + i / patch;
          const int64_t x = p % per_side * patch + i % patch;
          want.push_back(images[((b * channels + c) * side + y) * side + x]);
        }
      }
    }
  }
  CheckBuffer<float> d_images(images);
  CheckBuffer<Bf16> d_patches(want.size());
  Patchify(d_images, d_patches, batch, channels, side, patch, nullptr);
  Hold("patches", d_patches.Read(), want, kRounded);

  const auto embedded = Random<Bf16>(batch * patches * width);
  const auto class_token = Random<float>(width);
  const auto registers = Random<float>((first - 1) * width);
  auto dx = Random<float>(batch * tokens * width, 1e-5f);
  CheckStream d_x(batch * tokens, width), d_dx(&dx, width);
  std::vector<double> x, dpatches, dclass(width),
      dregisters((first - 1) * width), dbias(width);
  for (int64_t at = 0; at < batch * tokens * width; ++at) {
    const int64_t c = at % width, t = at / width % tokens;
    const int64_t b = at / width / tokens;
    if (t == 0) {
      x.push_back(class_token[c]);
      dclass[c] += dx[at];
    } else if (t < first) {
      x.push_back(registers[(t - 1) * width + c]);
      dregisters[(t - 1) * width + c] += dx[at];
    } else {
      x.push_back(
          static_cast<float>(embedded[(b * patches + t - first) * width + c]));
      dpatches.push_back(dx[at]);
      dbias[c] += dx[at];
    }
  }
  CheckBuffer<Bf16> d_embedded(embedded), d_dpatches(dpatches.size());
  CheckBuffer<float> d_class(class_token), d_registers(registers),
      d_dclass(width), d_dregisters(dregisters.size()), d_dbias(width);
  CheckSums sums;
  AssembleTokens(d_embedded, d_class, d_registers, d_x, batch, tokens, first,
                 width, nullptr);
  AssembleTokensBackward(d_dx, d_dpatches, d_dclass, d_dregisters, d_dbias,
                         &sums, batch, tokens, first, width, false, nullptr);
  sums.Run(nullptr);
  Hold("tokens", d_x.Read(), x, kRoundedStream);
  Hold("tokens, gradient of patches", d_dpatches.Read(), dpatches, kRounded);
  Hold("tokens, gradient of the class token", d_dclass.Read(), dclass, kExact);
  Hold("tokens, gradient of registers", d_dregisters.Read(), dregisters,
       kExact);
  Hold("tokens, gradient of the bias", d_dbias.Read(), dbias, kExact);

  const int64_t rows = 37, kinds = 256;
  std::vector<int64_t> bytes;
  for (int64_t i = 0; i < rows; ++i) bytes.push_back(i * 71 % kinds);
  const auto table = Random<float>(kinds * width);
  std::vector<double> one_hot(rows * kinds), text;
  for (int64_t i = 0; i < rows; ++i) {
    one_hot[i * kinds + bytes[i]] = 1;
    for (int64_t c = 0; c < width; ++c) {
      text.push_back(table[bytes[i] * width + c]);
    }
  }
  CheckBuffer<int64_t> d_bytes(bytes);
  CheckBuffer<float> d_table(table);
  CheckStream d_text(rows, width);
  CheckBuffer<Bf16> d_one_hot(one_hot.size());
  EmbedBytes(d_bytes, d_table, d_text, rows, width, nullptr);
  OneHot(d_bytes, d_one_hot, rows, kinds, nullptr);
  Hold("embedding of bytes", d_text.Read(), text, kRoundedStream);
  Hold("one hot", d_one_hot.Read(), one_hot, kExact);
}

// `stride`: only every so many rows of the stream go on.
void CheckNorm(int64_t width, int64_t samples, int64_t stride, int branches) {
  std::printf("norm of %lld x %lld, every %lld, %d branches\n",
              static_cast<long long>(samples), static_cast<long long>(width),
              static_cast<long long>(stride), branches);
  const int64_t count = samples * width;
  auto x = Random<float>(count * stride);
  CheckStream d_x(&x, width), d_sum(samples, width);
  auto weight = Random<float>(width), scale = Random<float>(width);
  const auto scale2 = Random<float>(width);
  const auto y = Random<Bf16>(count), y2 = Random<Bf16>(count);
  // Zeros count as nearly nothing, and must not make what is not a number.
  weight[3] = scale[5] = 0;
  std::vector<double> sum(count), normed(count), rstd(samples);
  for (int64_t r = 0; r < samples; ++r) {
    double squares = 0;
    for (int64_t c = 0; c < width; ++c) {
      const int64_t at = r * width + c;
      sum[at] = x[r * stride * width + c];
      if (branches > 0) sum[at] += scale[c] * double(float(y[at]));
      if (branches > 1) sum[at] += scale2[c] * double(float(y2[at]));
      squares += sum[at] * sum[at];
    }
    rstd[r] = 1 / std::sqrt(squares / width + 1e-6);
    for (int64_t c = 0; c < width; ++c) {
      normed[r * width + c] = sum[r * width + c] * rstd[r] * weight[c];
    }
  }
  CheckBuffer<float> d_weight(weight), d_scale(scale), d_scale2(scale2),
      d_rstd(samples);
  CheckBuffer<Bf16> d_y(y), d_y2(y2), d_normed(count);
  AddNorm add;
  add.x = d_x;
  if (branches > 0) add.branches[0] = {d_y, d_scale};
  if (branches > 1) add.branches[1] = {d_y2, d_scale2};
  add.weight = d_weight;
  if (branches > 1) add.x_out = d_sum;
  add.normed = d_normed;
  add.rstd = d_rstd;
  add.rows = samples;
  add.width = width;
  add.stride = stride;
  RunAddNorm(add, nullptr);
  Hold("  normed", d_normed.Read(), normed, kRounded);
  Hold("  one over the root", d_rstd.Read(), rstd, kExact);
  if (branches > 1) Hold("  sum", d_sum.Read(), sum, kRoundedStream);

  // Backward, for a stream of which every so many rows have a gradient already.
  const int64_t rows = samples * stride;
  auto dresidual = Random<float>(count);
  CheckStream d_dresidual(&dresidual, width), d_dx(rows, width);
  const auto before = Random<float>(width);
  const auto in = Random<float>(rows * width);
  const auto dn = Random<Bf16>(rows * width);
  std::vector<float> in_rstd;
  std::vector<Bf16> in_normed;
  std::vector<double> dx(rows * width), dy(rows * width), dweight(width),
      dbias(width);
  for (int64_t c = 0; c < width; ++c) dweight[c] = dbias[c] = before[c];
  for (int64_t r = 0; r < rows; ++r) {
    double squares = 0, dot = 0;
    for (int64_t c = 0; c < width; ++c)
      squares += in[r * width + c] * in[r * width + c];
    const double root = 1 / std::sqrt(squares / width + 1e-6);
    in_rstd.push_back(root);
    for (int64_t c = 0; c < width; ++c) {
      const double w = weight[c] == 0 ? 1e-20 : weight[c];
      in_normed.push_back(static_cast<float>(in[r * width + c] * root * w));
      dot += float(dn[r * width + c]) * double(float(in_normed.back())) / width;
    }
    for (int64_t c = 0; c < width; ++c) {
      const int64_t at = r * width + c;
      const double w = weight[c] == 0 ? 1e-20 : weight[c];
      const double n = float(in_normed[at]) / w, g = float(dn[at]);
      dx[at] = (g * w - n * dot) * root;
      if (r % stride == 0) dx[at] += dresidual[r / stride * width + c];
      dweight[c] += g * n;
      dy[at] = dx[at] * scale[c];
      dbias[c] += dy[at];
    }
  }
  CheckBuffer<float> d_in_rstd(in_rstd), d_dweight(before), d_dbias(before);
  CheckBuffer<Bf16> d_dn(dn), d_in_normed(in_normed), d_dy(rows * width);
  CheckSums sums;
  NormBackward back;
  back.dnormed = d_dn;
  back.normed = d_in_normed;
  back.rstd = d_in_rstd;
  back.weight = d_weight;
  back.dresidual = d_dresidual;
  if (branches > 0) back.scale = d_scale;
  back.dx = d_dx;
  back.dy = d_dy;
  back.dweight = d_dweight;
  if (branches > 0) back.dbias = d_dbias;
  back.sums = &sums;
  back.rows = rows;
  back.width = width;
  back.stride = stride;
  back.accumulate = true;
  RunNormBackward(back, nullptr);
  sums.Run(nullptr);
  Hold("  gradient of the stream", d_dx.Read(), dx, kRoundedStream);
  Hold("  gradient of the weight", d_dweight.Read(), dweight, kExact);
  // Without a branch it is that of the stream.
  Hold("  gradient of the branch", d_dy.Read(), branches > 0 ? dy : dx,
       kRounded);
  if (branches == 0) return;
  Hold("  gradient of the bias", d_dbias.Read(), dbias, kExact);
}

// A row of a stream of zeros stays zero, and one with a value that is not
// finite never becomes finite.
void CheckNotFinite() {
  const int64_t rows = 4, width = 384;
  std::vector<float> zeros(rows * width);
  std::vector<Bf16> y(rows * width, Bf16(0.f));
  y[width + 5] = NAN;
  y[2 * width + 7] = -INFINITY;
  y[3 * width + 9] = 3.f;
  CheckStream x(&zeros, width);
  CheckBuffer<Bf16> d_y(y), normed(rows * width);
  CheckBuffer<float> ones(std::vector<float>(width, 1)), rstd(rows);
  AddNorm add;
  add.x = add.x_out = x;
  add.branches[0] = {d_y, ones};
  add.weight = ones;
  add.normed = normed;
  add.rstd = rstd;
  add.rows = rows;
  add.width = width;
  RunAddNorm(add, nullptr);
  const std::vector<double> sum = x.Read();
  int wrong = 0;
  for (int64_t i = 0; i < rows * width; ++i) {
    const bool finite = i / width % 3 == 0;
    const double want = i == 3 * width + 9 ? 3 : 0;
    wrong +=
        finite ? !(std::fabs(sum[i] - want) < 1e-6) : std::isfinite(sum[i]);
  }
  failures += wrong > 0;
  std::printf("rows of zeros, or not finite: %d values wrong\n", wrong);
}

// From gradients of y = weight x + bias, of which dy was scale times dx.
void CheckScaleGradient(int64_t outputs, int64_t inputs, bool with_bias) {
  const int64_t rows = 21;
  const auto x = Random<float>(rows * inputs),
             dx = Random<float>(rows * outputs);
  const auto weight = Random<Bf16>(outputs * inputs),
             bias = Random<Bf16>(outputs);
  auto scale = Random<float>(outputs);
  scale[1] = 0;
  std::vector<float> dweight, dbias(outputs);
  std::vector<double> want(outputs);
  for (int64_t o = 0; o < outputs; ++o) {
    const double s = scale[o] == 0 ? 1e-20 : scale[o];
    double db = 0;
    for (int64_t r = 0; r < rows; ++r) {
      const double g = dx[r * outputs + o];
      double y = with_bias ? float(bias[o]) : 0;
      for (int64_t i = 0; i < inputs; ++i) {
        y += x[r * inputs + i] * double(float(weight[o * inputs + i]));
      }
      want[o] += g * y;
      db += g * s;
    }
    dbias[o] = db;
    for (int64_t i = 0; i < inputs; ++i) {
      double dw = 0;
      for (int64_t r = 0; r < rows; ++r) {
        dw += dx[r * outputs + o] * s * x[r * inputs + i];
      }
      dweight.push_back(dw);
    }
  }
  CheckBuffer<Bf16> d_weight(weight), d_bias(bias);
  CheckBuffer<float> d_dweight(dweight), d_dbias(dbias), d_scale(scale),
      out(outputs);
  CheckSums sums;
  ScaleGradient a;
  a.weight = d_weight;
  a.dweight = d_dweight;
  if (with_bias) a.bias = d_bias;
  a.dbias = d_dbias;
  a.scale = d_scale;
  a.out = out;
  a.outputs = outputs;
  a.inputs = inputs;
  sums.Add(a);
  sums.Run(nullptr);
  Hold("gradient of a scale", out.Read(), want, kExact);
}

void CheckGelu(int64_t rows, int64_t width) {
  const auto in = Random<Bf16>(rows * width, 2),
             dy = Random<Bf16>(rows * width);
  std::vector<double> value, gradient, dbias(width);
  for (int64_t i = 0; i < rows * width; ++i) {
    const double x = float(in[i]), a = std::sqrt(2 / M_PI), b = 0.044715 * a;
    const double t = std::tanh(a * x + b * x * x * x);
    value.push_back(x * (1 + t) / 2);
    const double slope =
        (1 + t) / 2 + x * (1 - t * t) * (a + 3 * b * x * x) / 2;
    gradient.push_back(float(dy[i]) * slope);
    dbias[i % width] += gradient.back();
  }
  CheckBuffer<Bf16> d_in(in), d_gradient(dy), d_value(rows * width);
  CheckBuffer<float> d_dbias(width);
  CheckSums sums;
  GeluBackward(d_in, d_gradient, d_value, d_dbias, &sums, rows, width, false,
               nullptr);
  sums.Run(nullptr);
  Hold("GELU again", d_value.Read(), value, kRounded);
  Hold("GELU, gradient", d_gradient.Read(), gradient, kRounded);
  // The instruction for tanh is exact to 2^-11.
  Hold("GELU, gradient of the bias", d_dbias.Read(), dbias, 2e-3);
}

void CheckLoss(int64_t rows, int64_t classes, bool hard) {
  const auto logits = Random<float>(rows * classes, 3);
  auto mixed = Random<float>(rows * classes);
  std::vector<int64_t> labels;
  std::vector<double> losses, gradient;
  const double factor = 0.25;
  for (int64_t r = 0; r < rows; ++r) {
    const float* const z = &logits[r * classes];
    float* const p = &mixed[r * classes];
    labels.push_back(r * 37 % classes);
    double sum = 0, mass = 0, loss = 0;
    for (int64_t c = 0; c < classes; ++c) sum += std::exp(double(z[c]));
    for (int64_t c = 0; c < classes; ++c) {
      p[c] = hard ? c == labels[r] : std::abs(p[c]) / classes;
      mass += p[c];
      loss += p[c] * (std::log(sum) - z[c]);
    }
    for (int64_t c = 0; c < classes; ++c) {
      gradient.push_back((std::exp(double(z[c])) / sum * mass - p[c]) * factor);
    }
    losses.push_back(loss);
  }
  CheckBuffer<float> d_logits(logits), d_mixed(mixed), d_losses(rows), total(1);
  CheckBuffer<int64_t> d_labels(labels);
  CheckBuffer<Bf16> d_gradient(rows * classes);
  CrossEntropy(d_logits, hard ? static_cast<int64_t*>(d_labels) : nullptr,
               hard ? nullptr : static_cast<float*>(d_mixed), d_losses,
               d_gradient, rows, classes, factor, nullptr);
  Hold(hard ? "loss of labels" : "loss of mixed labels", d_losses.Read(),
       losses, kExact);
  Hold("  gradient", d_gradient.Read(), gradient, kRounded);
  double sum = 0;
  for (const double loss : losses) sum += loss * factor;
  SumTo(d_losses, rows, factor, false, total, nullptr);
  Hold("  sum", total.Read(), {sum}, kExact);
  std::vector<double> columns(classes);
  const std::vector<double> rounded = d_gradient.Read();
  for (size_t i = 0; i < rounded.size(); ++i)
    columns[i % classes] += rounded[i];
  CheckBuffer<float> d_columns(classes);
  CheckSums sums;
  SumRows(d_gradient, rows, classes, false, d_columns, &sums, nullptr);
  sums.Run(nullptr);
  Hold("  sum of rows", d_columns.Read(), columns, 1e-4);
}

// Two steps over three tensors, of which the second one decays, with gradients
// that are clipped.
void CheckOptimizer(bool lamb) {
  const std::vector<int64_t> sizes = {700, 5000, 1024};
  std::vector<ChunkRange> tensors;
  std::vector<uint8_t> decays;
  for (size_t t = 0; t < sizes.size(); ++t) {
    const int first = tensors.size();
    const int chunks = (sizes[t] + kChunk - 1) / kChunk;
    tensors.insert(tensors.end(), chunks, {first, first + chunks});
    decays.insert(decays.end(), chunks, t == 1);
  }
  const int64_t count = tensors.size() * kChunk;
  std::vector<float> values(count), gradients(count);
  for (size_t t = 0, chunk = 0; t < sizes.size(); ++t) {
    const auto v = Random<float>(sizes[t]), g = Random<float>(sizes[t]);
    std::copy(v.begin(), v.end(), values.begin() + chunk * kChunk);
    std::copy(g.begin(), g.end(), gradients.begin() + chunk * kChunk);
    chunk += (sizes[t] + kChunk - 1) / kChunk;
  }
  std::vector<double> want = Doubles(values), m(count), v(count), u(count);
  double squares = 0;
  for (const double g : gradients) squares += g * g;
  const double norm = std::sqrt(squares), rate = 0.01, clip = 3;
  for (int step = 1; step <= 2; ++step) {
    for (int64_t i = 0; i < count; ++i) {
      const double g = gradients[i] * std::min(1.0, clip / (norm + 1e-6));
      m[i] += (g - m[i]) * 0.1;
      v[i] += (g * g - v[i]) * 0.001;
      const double decay = decays[i / kChunk] ? 0.05 : 0;
      const double c1 = lamb ? 1 : 1 - std::pow(0.9, step);
      const double c2 = lamb ? 1 : 1 - std::pow(0.999, step);
      u[i] = m[i] / c1 / (std::sqrt(v[i] / c2) + 1e-8) + decay * want[i];
    }
    for (size_t chunk = 0; chunk < tensors.size(); chunk = tensors[chunk].end) {
      double lengths = 0, strides = 0;
      const ChunkRange& range = tensors[chunk];
      for (int64_t j = range.first * kChunk; j < range.end * kChunk; ++j) {
        lengths += want[j] * want[j];
        strides += u[j] * u[j];
      }
      const double ratio = lamb ? std::sqrt(lengths / strides) : 1;
      for (int64_t j = range.first * kChunk; j < range.end * kChunk; ++j) {
        want[j] -= rate * ratio * u[j];
      }
    }
  }
  const std::vector<float> zeros(count);
  CheckBuffer<float> d_values(values), d_gradients(gradients), first(zeros),
      second(zeros), d_norm(1), partial(1024),
      learning_rate(std::vector<float>{0.01f}), steps(std::vector<float>{0}),
      chunk_squares(2 * tensors.size());
  CheckBuffer<Bf16> rounded(count);
  CheckBuffer<uint8_t> d_decays(decays);
  CheckBuffer<ChunkRange> d_tensors(tensors);
  Norm(d_gradients, count, d_norm, partial, nullptr);
  Hold("norm of gradients", d_norm.Read(), {norm}, kExact);
  OptimizerStep a;
  a.values = d_values;
  a.gradients = d_gradients;
  a.first = first;
  a.second = second;
  a.rounded = rounded;
  a.decays = d_decays;
  a.count = count;
  a.clip_norm = clip;
  a.norm = d_norm;
  a.learning_rate = learning_rate;
  a.steps = steps;
  a.tensors = d_tensors;
  a.chunk_squares = chunk_squares;
  for (int step = 0; step < 2; ++step) {
    (lamb ? RunLamb : RunAdamW)(a, nullptr);
  }
  Hold(lamb ? "LAMB" : "AdamW", d_values.Read(), want, kExact);
  Hold("  rounded", rounded.Read(), want, kRounded);
}

}  // namespace
}  // namespace fused
}  // namespace feedrate

namespace {

void CheckCausalAttention() {
  using feedrate::fused::AttentionSizes;
  for (const AttentionSizes& z :
       {AttentionSizes{2, 2, 300, 300}, AttentionSizes{1, 2, 1024, 1024},
        AttentionSizes{1, 3, 77, 77}, AttentionSizes{3, 1, 5, 5},
        AttentionSizes{1, 1, 640, 640},
        // Scores that need the largest one.
        AttentionSizes{2, 2, 300, 300, 8},
        // More heads than processors.
        AttentionSizes{20, 7, 200, 200}}) {
    AttentionSizes causal = z;
    causal.causal = true;
    feedrate::fused::CheckAttention(causal);
  }
}

void CheckImageAttention() {
  using feedrate::fused::AttentionSizes;
  for (const AttentionSizes& z :
       {AttentionSizes{2, 3, 201, 201}, AttentionSizes{2, 2, 208, 208},
        AttentionSizes{1, 2, 77, 77}, AttentionSizes{3, 1, 16, 16},
        AttentionSizes{2, 2, 201, 1}, AttentionSizes{1, 3, 5, 5},
        // Scores that need the largest one.
        AttentionSizes{2, 2, 201, 201, 8},
        // More heads than processors.
        AttentionSizes{60, 5, 201, 201}}) {
    feedrate::fused::CheckAttention(z);
  }
}

void CheckNorms() {
  feedrate::fused::CheckTokens();
  for (const int64_t width : {128, 256, 384, 512, 768}) {
    feedrate::fused::CheckNorm(width, 37, 1, 2);
  }
  feedrate::fused::CheckNorm(384, 37, 1, 0);
  feedrate::fused::CheckNorm(384, 5, 7, 1);
  // More rows than warps.
  feedrate::fused::CheckNorm(512, 4099, 1, 2);
  feedrate::fused::CheckNotFinite();
}

}  // namespace

int main(int argc, char** argv) {
  using feedrate::fused::AttentionSizes;
  const auto argument = [&](int i, int64_t otherwise) {
    return argc > i ? std::atoll(argv[i]) : otherwise;
  };
  if (argc > 1 && argv[1] == std::string("causal")) {
    CheckCausalAttention();
    if (argc == 2) feedrate::fused::TimeCausal({64, 8, 1024, 1024});
    std::printf("%d wrong\n", feedrate::fused::failures);
    return feedrate::fused::failures > 0 ? 1 : 0;
  }
  if (argc > 1 && argv[1] == std::string("images")) {
    CheckImageAttention();
    if (argc == 2) feedrate::fused::TimeAttention({256, 6, 201, 201});
    std::printf("%d wrong\n", feedrate::fused::failures);
    return feedrate::fused::failures > 0 ? 1 : 0;
  }
  if (argc > 1 && argv[1] == std::string("norms")) {
    CheckNorms();
    std::printf("%d wrong\n", feedrate::fused::failures);
    return feedrate::fused::failures > 0 ? 1 : 0;
  }
  feedrate::fused::CheckFp8();
  if (argc > 1 && argv[1] == std::string("fp8")) {
    if (argc == 2) feedrate::fused::TimeFp8(256 * 201, 384, 1536);
    std::printf("%d wrong\n", feedrate::fused::failures);
    return feedrate::fused::failures > 0 ? 1 : 0;
  }
  CheckImageAttention();
  CheckCausalAttention();
  CheckNorms();
  feedrate::fused::CheckScaleGradient(27, 384, false);
  feedrate::fused::CheckScaleGradient(128, 512, true);
  feedrate::fused::CheckGelu(77, 512);
  feedrate::fused::CheckGelu(1031, 1536);
  feedrate::fused::CheckLoss(19, 1000, true);
  feedrate::fused::CheckLoss(7, 257, false);
  feedrate::fused::CheckLoss(333, 250, true);
  feedrate::fused::CheckOptimizer(false);
  feedrate::fused::CheckOptimizer(true);
  // One tile; rows that do not fill a tile; more tiles than blocks.
  feedrate::fused::CheckHopperProducts(128, 384, 128);
  feedrate::fused::CheckHopperProducts(300, 384, 640);
  feedrate::fused::CheckHopperProducts(9001, 384, 1536);
  feedrate::fused::CheckHopperProducts(300, 512, 640);
  feedrate::fused::CheckHopperProducts(9001, 512, 2048);
  feedrate::fused::CheckHopperProducts(9001, 768, 3072);
  feedrate::fused::CheckQkvProduct(300, 6, 77);
  feedrate::fused::CheckQkvProduct(4097, 8, 1024);
  const int64_t tokens = argument(3, 201);
  feedrate::fused::TimeAttention(
      {argument(1, 256), argument(2, 6), tokens, tokens});
  feedrate::fused::TimeCausal(
      {argument(1, 64), argument(2, 8), argument(3, 1024), argument(3, 1024)});
  feedrate::fused::TimeHopperProducts(
      argument(1, 256) * tokens, argument(2, 6) * 64, argument(2, 6) * 256);
  feedrate::fused::TimeFp8(argument(1, 256) * tokens, argument(2, 6) * 64,
                           argument(2, 6) * 256);
  std::printf("%d wrong\n", feedrate::fused::failures);
  return feedrate::fused::failures > 0 ? 1 : 0;
}
