#include "lib/adapters/cuda/bench/checks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "lib/adapters/cuda/bench/checker.h"
#include "lib/adapters/cuda/bench/samples.h"
#include "lib/adapters/cuda/blur_math.h"

namespace feedrate::fused {
namespace {

std::vector<float> Joined(const std::vector<HostImage>& images) {
  std::vector<float> values;
  for (const HostImage& image : images) {
    values.insert(values.end(), image.values.begin(), image.values.end());
  }
  return values;
}

}  // namespace

void Checker::Compare(const std::string& name,
                      const std::vector<float>& expected,
                      const std::vector<float>& actual, Tolerance tolerance) {
  double greatest = 0;
  size_t differ = 0;
  bool bad = expected.size() != actual.size();
  for (size_t i = 0; !bad && i < expected.size(); ++i) {
    const double difference = std::abs(expected[i] - actual[i]);
    if (!(difference <= 1e30)) bad = true;
    greatest = std::max(greatest, difference);
    if (difference > std::max(0.01f * tolerance.value, tolerance.rounding)) {
      ++differ;
    }
  }
  const double fraction =
      static_cast<double>(differ) / static_cast<double>(expected.size());
  const bool ok = !bad && greatest <= 1.02 * tolerance.value &&
                  fraction <= tolerance.fraction;
  std::printf("%-4s %-44s max %.3g of %.3g, %.4f%% differ\n",
              ok ? "ok" : "FAIL", name.c_str(), greatest, tolerance.value,
              100 * fraction);
  std::fflush(stdout);
  if (!ok) ++failed_;
}

void Checker::ByteOp(
    const std::string& name,
    const std::function<cudaError_t(const ByteBatch&, const ByteBatch&)>&
        launch,
    const std::function<HostImage(const HostImage&, int)>& host,
    Tolerance tolerance, const std::vector<ImageSize>& out_sizes) {
  for (const bool crooked : {true, false}) {
    ByteBatch in(sizes_, crooked);
    ByteBatch out(out_sizes, crooked);
    std::vector<HostImage> images;
    std::vector<HostImage> expected;
    for (const ImageSize& size : sizes_) {
      images.push_back(RandomImage(size, &random_));
      expected.push_back(
          Rounded(host(images.back(), static_cast<int>(images.size()) - 1)));
    }
    in.Fill(images);
    out.Poison();
    CHECK_CUDA(launch(in, out));
    CHECK_CUDA(cudaDeviceSynchronize());
    Compare(name + (crooked ? " (crooked)" : ""), Joined(expected),
            Joined(out.Images()), tolerance);
  }
}

void Checker::BothBlurs(
    const std::string& name,
    const std::function<cudaError_t(const ByteBatch&, const ByteBatch&,
                                    BlurPath)>& launch) {
  ByteBatch in(sizes_, true);
  std::vector<HostImage> images;
  for (const ImageSize& size : sizes_) {
    images.push_back(RandomImage(size, &random_));
  }
  in.Fill(images);
  std::vector<float> made[2];
  for (const BlurPath path : {BlurPath::kStrips, BlurPath::kTiles}) {
    ByteBatch out(sizes_, true);
    out.Poison();
    CHECK_CUDA(launch(in, out, path));
    CHECK_CUDA(cudaDeviceSynchronize());
    made[path == BlurPath::kTiles ? 1 : 0] = Joined(out.Images());
  }
  Compare(name, made[0], made[1], {0, 0, 0});
}

void Checker::Bytes() {
  const int count = static_cast<int>(sizes_.size());
  std::vector<Jitter> jitters;
  std::vector<Projection> affine;
  std::vector<Projection> resize;
  std::vector<Projection> flip;
  std::vector<Projection> perspective;
  std::vector<float> sigmas;
  std::vector<ImageSize> halves;
  for (int i = 0; i < count; ++i) {
    const ImageSize size = sizes_[i];
    jitters.push_back(RandomJitter(&random_));
    affine.push_back(AffineProjection(RandomAffine(size, &random_), size.height,
                                      size.width));
    halves.push_back({size.height / 2 + 3, size.width * 2 - 1});
    resize.push_back(ResizeProjection(size.height, size.width, halves[i].height,
                                      halves[i].width));
    flip.push_back(CropProjection(0, 0, size.width, true));
    perspective.push_back(
        {{0.95f, 0.05f, 10, -0.03f, 0.9f, 15, 1e-4f, -2e-4f}});
    sigmas.push_back(0.8f + 0.3f * static_cast<float>(i));
  }
  const Buffer<Jitter> jitters_d(jitters);
  const Buffer<float> sigmas_d(sigmas);
  ByteOp(
      "jitter bytes",
      [&](const ByteBatch& in, const ByteBatch& out) {
        return JitterBytes(in.device(), jitters_d.data(), count, out.device(),
                           nullptr);
      },
      [&](const HostImage& image, int i) {
        return HostJitter(image, jitters[i]);
      },
      {}, sizes_);
  const auto warp = [&](const std::string& name,
                        const std::vector<Projection>& projections, Edge edge,
                        const std::vector<ImageSize>& to) {
    const Buffer<Projection> projections_d(projections);
    ByteOp(
        name,
        [&](const ByteBatch& in, const ByteBatch& out) {
          return WarpBytes(in.device(), projections_d.data(), count, edge,
                           out.device(), 1024, 1024, nullptr);
        },
        [&](const HostImage& image, int i) {
          return HostWarp(image, projections[i], edge, to[i].height,
                          to[i].width);
        },
        {}, to);
  };
  warp("affine bytes", affine, Edge::kZero, sizes_);
  warp("affine bytes, border repeated", affine, Edge::kReplicate, sizes_);
  warp("perspective bytes", perspective, Edge::kZero, sizes_);
  warp("flip bytes", flip, Edge::kZero, sizes_);
  warp("resize bytes", resize, Edge::kReplicate, halves);
  for (int radius = 1; radius <= kMaxBlurRadius; ++radius) {
    const auto launch = [&](const ByteBatch& in, const ByteBatch& out,
                            BlurPath path) {
      return BlurBytes(in.device(), sigmas_d.data(), count, radius,
                       out.device(), 512, 512, nullptr, path);
    };
    const std::string name = "blur bytes, radius " + std::to_string(radius);
    for (const BlurPath path : {BlurPath::kStrips, BlurPath::kTiles}) {
      ByteOp(
          name + (path == BlurPath::kStrips ? ", strips" : ", tiles"),
          [&](const ByteBatch& in, const ByteBatch& out) {
            return launch(in, out, path);
          },
          [&](const HostImage& image, int i) {
            return HostBlur(image, sigmas[i], radius);
          },
          {}, sizes_);
    }
    BothBlurs(name + ", both ways", launch);
  }
  const auto tone = [&](const std::string& name, Tone kind, float amount) {
    const Buffer<float> amounts_d(std::vector<float>(count, amount));
    ByteOp(
        name,
        [&](const ByteBatch& in, const ByteBatch& out) {
          return ToneBytes(in.device(), kind, amounts_d.data(), count,
                           out.device(), nullptr);
        },
        [&](const HostImage& image, int) {
          return HostTone(image, kind, amount);
        },
        {0.5f, 0}, sizes_);
  };
  tone("invert", Tone::kInvert, 0);
  tone("posterize", Tone::kPosterize, 4);
  tone("solarize", Tone::kSolarize, 128);
  tone("multiply", Tone::kMultiply, 1.2f);
  ByteOp(
      "equalize",
      [&](const ByteBatch& in, const ByteBatch& out) {
        return EqualizeBytes(in.device(), count, out.device(), nullptr);
      },
      [](const HostImage& image, int) { return HostEqualize(image); },
      {0.5f, 0}, sizes_);
}

void Checker::PlaneOp(
    const std::string& name, ImageSize to,
    const std::function<cudaError_t(const fused::Planes&, float*)>& launch,
    const std::function<HostImage(const HostImage&, int)>& host,
    float tolerance) {
  const ImageSize size = {200, 256};
  std::vector<HostImage> images;
  std::vector<HostImage> expected;
  for (int i = 0; i < 3; ++i) {
    images.push_back(RandomImage(size, &random_));
    expected.push_back(host(images.back(), i));
  }
  const Buffer<float> in(PlanesOf(images));
  Buffer<float> out(3u * 3 * to.height * to.width);
  out.Poison();
  CHECK_CUDA(launch({in.data(), 3, size.height, size.width}, out.data()));
  CHECK_CUDA(cudaDeviceSynchronize());
  Compare(name, PlanesOf(expected), out.Values(), {tolerance, 1});
}

void Checker::Planes() {
  const ImageSize size = {200, 256};
  std::vector<Jitter> jitters;
  std::vector<Projection> affine;
  for (int i = 0; i < 3; ++i) {
    jitters.push_back(RandomJitter(&random_));
    affine.push_back(AffineProjection(RandomAffine(size, &random_), size.height,
                                      size.width));
  }
  const std::vector<float> sigmas = {0.7f, 1.5f, 2.5f};
  const Buffer<Jitter> jitters_d(jitters);
  const Buffer<float> sigmas_d(sigmas);
  PlaneOp(
      "jitter planes", size,
      [&](const fused::Planes& in, float* out) {
        return JitterPlanes(in, jitters_d.data(), out, nullptr);
      },
      [&](const HostImage& image, int i) {
        return HostJitter(image, jitters[i]);
      });
  const auto warp = [&](const std::string& name, WarpPath path, Edge edge,
                        const std::vector<Projection>& projections,
                        float tolerance = kPlaneTolerance) {
    const Buffer<Projection> projections_d(projections);
    WarpTextures textures;
    PlaneOp(
        name, size,
        [&](const fused::Planes& in, float* out) {
          CHECK_CUDA(MakeWarpTextures(in, &textures));
          return WarpPlanes(in, projections_d.data(), edge, path, out, nullptr,
                            &textures);
        },
        [&](const HostImage& image, int i) {
          return HostWarp(image, projections[i], edge, size.height, size.width);
        },
        tolerance);
    FreeWarpTextures(&textures);
  };
  warp("affine planes, tile", WarpPath::kTile, Edge::kZero, affine);
  warp("affine planes, tile, border repeated", WarpPath::kTile,
       Edge::kReplicate, affine);
  warp("affine planes, gather 8", WarpPath::kGather8, Edge::kZero, affine);
  warp("affine planes, gather 16", WarpPath::kGather16, Edge::kZero, affine);
  warp("affine planes, gather 32", WarpPath::kGather32, Edge::kZero, affine);
  warp("affine planes, quads", WarpPath::kQuads, Edge::kZero, affine);
  warp("affine planes, quads, border repeated", WarpPath::kQuads,
       Edge::kReplicate, affine);
  // Places in steps of 1/256, of neighbours that may be black and white.
  warp("affine planes, filtered", WarpPath::kFiltered, Edge::kZero, affine,
       4.0f / 256);
  for (int radius = 1; radius <= kMaxBlurRadius; ++radius) {
    PlaneOp(
        "blur planes, radius " + std::to_string(radius), size,
        [&](const fused::Planes& in, float* out) {
          return BlurPlanes(in, sigmas_d.data(), radius, out, nullptr);
        },
        [&](const HostImage& image, int i) {
          return HostBlur(image, sigmas[i], radius);
        });
  }
  for (const ImageSize to : {ImageSize{400, 512}, ImageSize{77, 100}}) {
    PlaneOp(
        "resize planes to " + std::to_string(to.width), to,
        [&](const fused::Planes& in, float* out) {
          return ResizePlanes(in, to.height, to.width, out, nullptr);
        },
        [&](const HostImage& image, int) {
          return HostWarp(
              image,
              ResizeProjection(image.height, image.width, to.height, to.width),
              Edge::kReplicate, to.height, to.width);
        });
  }
}

int RunChecks(unsigned seed) {
  Checker checker(seed);
  checker.Bytes();
  checker.Planes();
  checker.Recipes();
  return checker.failed();
}

}  // namespace feedrate::fused
