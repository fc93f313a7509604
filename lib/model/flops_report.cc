#include "lib/model/flops_report.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/draw/charts.h"
#include "lib/draw/text.h"

namespace feedrate {
namespace {

bool IsMixer(const std::string& name) {
  const std::vector<std::string> mixers = MixerNames();
  return std::find(mixers.begin(), mixers.end(), name) != mixers.end();
}

Flops RecordOf(const std::string& model, int64_t tokens, const FlopsPart& part,
               const FlopsOptions& options) {
  Flops record;
  record.set_model(model);
  record.set_part(part.name);
  record.set_tokens(tokens);
  record.set_parameters(part.parameters);
  record.set_forward_flops(part.forward_flops);
  record.set_training_flops(part.training_flops);
  record.set_multiplied_flops(part.multiplied_flops);
  record.set_batch_size(options.batch_size);
  record.set_forward_bytes(
      part.ForwardBytes(options.batch_size, options.bytes_per_value));
  record.set_intensity(
      part.Intensity(options.batch_size, options.bytes_per_value));
  record.set_counted(part.counted);
  return record;
}

void AddParts(const std::string& model, int64_t tokens,
              std::vector<FlopsPart> parts, const FlopsOptions& options,
              std::vector<Flops>* records) {
  parts.push_back(TotalOf(parts));
  for (const FlopsPart& part : parts) {
    records->push_back(RecordOf(model, tokens, part, options));
  }
}

absl::Status CheckOptions(const FlopsOptions& options) {
  std::vector<std::string> known = ModelNames();
  for (const std::string& mixer : MixerNames()) known.push_back(mixer);
  for (const std::string& name : options.models) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--model: \"", name, "\" is unknown", DidYouMean(name, known)));
    }
  }
  // Far beyond any model, and far below 64-bit overflow.
  constexpr int64_t kMost = int64_t{1} << 22;
  for (const int64_t length : options.lengths) {
    if (length < 1 || length > kMost) {
      return absl::InvalidArgumentError(
          absl::StrCat("--lengths: ", length, " is not between 1 and ", kMost));
    }
  }
  if (options.width < 1 || options.width > 65536) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--width: ", options.width, " is not between 1 and 65536"));
  }
  if (options.batch_size < 1 || options.batch_size > 1000000) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--batch_size: ", options.batch_size, " is not between 1 and 1000000"));
  }
  return absl::OkStatus();
}

std::string Giga(int64_t flops) { return SignificantText(flops / 1e9, 3); }

// Mixers with at least two lengths, in order.
std::vector<LineSeries> SeriesOf(const std::vector<Flops>& records) {
  std::vector<LineSeries> series;
  for (const Flops& record : records) {
    if (!IsMixer(record.model()) || record.part() != "total") continue;
    if (series.empty() || series.back().name != record.model()) {
      series.push_back({record.model(), {}});
    }
    LinePoint point;
    point.x = record.tokens();
    point.y.value = record.forward_flops() / 1e9;
    point.hover =
        absl::StrCat(record.model(), ", ", record.tokens(),
                     " tokens: ", Giga(record.forward_flops()), " GFLOP");
    series.back().points.push_back(point);
  }
  return series;
}

}  // namespace

absl::StatusOr<std::vector<Flops>> FlopsRecords(const FlopsOptions& options) {
  RETURN_IF_ERROR(CheckOptions(options));
  std::vector<int64_t> lengths = options.lengths;
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  std::vector<Flops> records;
  for (const std::string& name : options.models) {
    if (!IsMixer(name)) {
      const ModelSpec& spec = *ModelNamed(name);  // Checked by CheckOptions.
      AddParts(name, spec.tokens(), CountModel(spec), options, &records);
      continue;
    }
    for (const int64_t length : lengths) {
      MixerShape shape;
      shape.length = length;
      shape.width = options.width;
      ASSIGN_OR_RETURN(const std::vector<FlopsPart> parts,
                       CountMixer(name, shape));
      AddParts(name, length, parts, options, &records);
    }
  }
  return records;
}

std::string FlopsTable(const std::vector<Flops>& records, bool markdown) {
  const Align right = Align::kRight;
  Table table(
      {"model", "tokens", "part", "parameters", "forward GFLOP",
       "training GFLOP", "forward MiB", "FLOP/byte"},
      {Align::kLeft, right, Align::kLeft, right, right, right, right, right});
  for (const Flops& record : records) {
    const bool total = record.part() == "total";
    std::string part = record.part();
    if (!record.counted()) absl::StrAppend(&part, " (FLOP not in total)");
    table.AddRow({record.model(), absl::StrCat(record.tokens()), part,
                  SignificantText(record.parameters(), 3),
                  Giga(record.forward_flops()), Giga(record.training_flops()),
                  SignificantText(record.forward_bytes() / (1 << 20)),
                  SignificantText(record.intensity(), 3)});
    if (total && !markdown) table.AddRule();
  }
  return markdown ? table.ToMarkdown() : table.ToText();
}

absl::StatusOr<std::string> FlopsFigure(const std::vector<Flops>& records) {
  LineChart chart;
  chart.title = "Operations of one layer over the length of its sequence";
  chart.x_title = "tokens";
  chart.y_title = "forward GFLOP";
  chart.y_scale = ScaleType::kLog;
  chart.height = 340;
  chart.series = SeriesOf(records);
  size_t longest = 0;
  for (const LineSeries& series : chart.series) {
    longest = std::max(longest, series.points.size());
  }
  if (longest < 2) {
    return absl::InvalidArgumentError(
        "the figure shows how mixers grow: --model needs at least one of "
        "attention, hyena, ckconv, and --lengths at least two values");
  }
  return DrawLineChart(chart).ToFile();
}

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

// Maps a position to `kernels` x width, for each step of the kernel.
// Independent of the sample, but computed anew in each training step.
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
