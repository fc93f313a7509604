#include "lib/model/mixer_flops.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/text.h"

namespace feedrate {
namespace {

constexpr int kHyenaOrder = 2;
constexpr int kShortTaps = 3;

FlopsPart Work(const std::string& name, double flops, int64_t parameters,
               int64_t activations) {
  FlopsPart part;
  part.name = name;
  part.parameters = parameters;
  part.forward_flops = std::llround(flops);
  part.training_flops = 3 * part.forward_flops;
  part.multiplied_flops = part.training_flops;
  part.activations = activations;
  return part;
}

// `count` products of the sequence with width x width.
FlopsPart Projections(const MixerShape& s, int count) {
  return Work("projections", 2.0 * count * s.length * s.width * s.width,
              count * s.width * s.width, 2 * count * s.length * s.width);
}

// `count` depthwise convolutions as long as the sequence: FFT of signal and
// kernel, product, inverse FFT, over 2 x length points.
FlopsPart LongConvolution(const MixerShape& s, int count) {
  const double points = 2.0 * s.length;
  const double fft = 2.5 * points * std::log2(points);
  const double product = 6 * (points / 2 + 1);
  // Signal in and out, kernel, and the two spectra written and read.
  const int64_t values = 3 * s.length + 4 * (2 * s.length + 2);
  return Work("long_convolution", count * s.width * (3 * fft + product), 0,
              count * s.width * values);
}

// Position in, `kernels` x width out, for each step of the kernel. It does not
// depend on the sample, but each training step makes it anew.
FlopsPart KernelNetwork(const MixerShape& s, int kernels) {
  const double inner = s.kernel_width * s.kernel_width * s.kernel_layers;
  const double weights =
      s.kernel_width + inner + s.kernel_width * kernels * s.width;
  return Work(
      "kernel_network", 2.0 * s.length * weights, std::llround(weights),
      s.length * (s.kernel_width * (s.kernel_layers + 1) + kernels * s.width));
}

std::vector<FlopsPart> AttentionMixer(const MixerShape& s) {
  return {Projections(s, 4),
          Work("attention", 4.0 * s.length * s.length * s.width, 0,
               4 * s.length * s.width)};
}

std::vector<FlopsPart> HyenaMixer(const MixerShape& s) {
  const int streams = kHyenaOrder + 1;
  return {
      Projections(s, streams + 1),
      Work("short_convolution", 2.0 * kShortTaps * streams * s.length * s.width,
           kShortTaps * streams * s.width, 2 * streams * s.length * s.width),
      LongConvolution(s, kHyenaOrder),
      Work("gating", 1.0 * kHyenaOrder * s.length * s.width, 0,
           3 * kHyenaOrder * s.length * s.width),
      KernelNetwork(s, kHyenaOrder)};
}

std::vector<FlopsPart> CkConvMixer(const MixerShape& s) {
  return {LongConvolution(s, 1), Projections(s, 1), KernelNetwork(s, 1)};
}

}  // namespace

std::vector<std::string> MixerNames() {
  return {"attention", "hyena", "ckconv"};
}

absl::StatusOr<std::vector<FlopsPart>> CountMixer(const std::string& mixer,
                                                  const MixerShape& shape) {
  if (mixer == "attention") return AttentionMixer(shape);
  if (mixer == "hyena") return HyenaMixer(shape);
  if (mixer == "ckconv") return CkConvMixer(shape);
  return absl::InvalidArgumentError(absl::StrCat(
      "mixer \"", mixer, "\" is unknown", DidYouMean(mixer, MixerNames())));
}

}  // namespace feedrate
