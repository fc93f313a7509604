#include "lib/model/roofline.h"

#include <algorithm>
#include <vector>

#include "lib/model/flops.h"

namespace feedrate {
namespace {

// Of the makers' data sheets, without sparsity, in TFLOP/s. The first whose
// name is part of the product's decides.
struct GpuPeak {
  const char* name;
  double bf16;
  double tf32;
  double fp32;
};
constexpr GpuPeak kGpuPeaks[] = {
    {"B200", 2250, 1125, 75},
    {"GH200", 989.4, 494.7, 67},
    {"H200", 989.4, 494.7, 67},
    {"H100 PCIe", 756, 378, 51},
    {"H100 NVL", 835, 417.5, 60},
    {"H100", 989.4, 494.7, 67},
    {"A100", 312, 156, 19.5},
    {"L40S", 362, 183, 91.6},
    {"L40", 181, 90.5, 90.5},
    {"L4", 121, 60, 30.3},
    {"A10G", 70, 35, 35},
    {"A10", 125, 62.5, 31.2},
    {"RTX 4090", 165.2, 82.6, 82.6},
    {"T4", 0, 0, 8.1},
};

// Weights, gradients and two moments in, all but the gradients out, and the
// gradients once more for their norm and for being set to zero.
constexpr int64_t kOptimizerValues = 4 + 3 + 2;
constexpr int64_t kMasterBytes = 4;

}  // namespace

Roofline RooflineOf(const ModelSpec& spec, const RooflineInput& input) {
  Roofline roofline;
  const int64_t batch = std::max<int64_t>(1, input.samples / input.batches);
  for (const FlopsPart& part : CountModel(spec)) {
    const double flops =
        part.counted ? static_cast<double>(batch) * part.forward_flops : 0;
    const auto bytes =
        static_cast<double>(part.ForwardBytes(batch, input.bytes_per_value));
    const double forward_s =
        std::max(flops / input.matmul_flops, bytes / input.copy_bytes);
    roofline.step_s += 3 * input.batches * forward_s;
    roofline.bytes += 3 * input.batches * bytes;
  }
  const auto update = static_cast<double>(kOptimizerValues * kMasterBytes *
                                          CountParameters(spec));
  roofline.step_s += update / input.copy_bytes;
  roofline.bytes += update;
  return roofline;
}

double PeakOfGpu(const std::string& gpu, const std::string& precision) {
  for (const GpuPeak& peak : kGpuPeaks) {
    if (gpu.find(peak.name) == std::string::npos) continue;
    if (precision == "bf16") return peak.bf16 * 1e12;
    if (precision == "tf32") return peak.tf32 * 1e12;
    return peak.fp32 * 1e12;
  }
  return 0;
}

}  // namespace feedrate
