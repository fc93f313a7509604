// Host work of a timed call of 256 images before the device gets it:
//
//   bazel run -c opt //lib/ops/cuda:pack_call_benchmark
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lib/ops/cuda/fused_op.h"

namespace feedrate {
namespace {

constexpr int64_t kImages = 256;

void Pack(benchmark::State& state, const std::string& native_op,
          const std::vector<std::string>& params) {
  TransformSpec spec;
  spec.native_op = native_op;
  spec.params = params;
  const FusedOp op = MakeFusedOp(spec).value();
  CallPacker packer(&op);
  for (int64_t i = 0; i < kImages; ++i) packer.AddInput({nullptr, 256, 256, 0});
  std::vector<uint64_t> block(packer.BlockBytes(kImages) / 8 + 1);
  Random random(1);
  for (auto _ : state) {
    packer.Pack(0, kImages, kImages, &random,
                reinterpret_cast<uint8_t*>(block.data()));
    benchmark::ClobberMemory();
  }
}

using Names = std::vector<std::string>;
BENCHMARK_CAPTURE(Pack, flip, "flip", Names{"axis=horizontal"});
BENCHMARK_CAPTURE(Pack, crop, "crop",
                  Names{"size=(224,224)", "position=uniform"});
BENCHMARK_CAPTURE(Pack, rotate, "affine", Names{"degrees=30"});
BENCHMARK_CAPTURE(Pack, affine, "affine",
                  Names{"degrees=U(-25,25)", "scale=U(0.9,1.1)"});
BENCHMARK_CAPTURE(Pack, jitter, "jitter",
                  Names{"brightness=U(0.6,1.4)", "contrast=U(0.6,1.4)",
                        "saturation=U(0.6,1.4)", "hue=U(-0.1,0.1)",
                        "order=random"});
BENCHMARK_CAPTURE(Pack, blur, "gaussian_blur", Names{"size=5", "sigma=2"});

}  // namespace
}  // namespace feedrate

BENCHMARK_MAIN();
