// ATen: pixels read from other positions. Parameters of each operation:
//
//   at::affine_grid_generator+at::grid_sampler  angle or rotate, scale,
//     shear=(x,y), translate_px=(x,y)
//   at::grid_sampler  matrix=(eight numbers, from output to input)
//   at::linalg_solve+at::grid_sampler  distortion_scale
//   at::conv2d+at::grid_sampler  alpha, sigma, kernel_size, separable=True
//
// Each with mode, padding_mode and align_corners=False.
#include <ATen/ops/affine_grid_generator.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/grid_sampler.h>
#include <ATen/ops/linalg_solve.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/reflection_pad2d.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "lib/adapters/torch/op.h"

namespace feedrate {
namespace {

constexpr double kRadians = 3.14159265358979323846 / 180;

// Calls grid_sampler. Its coordinates go from -1 to 1 between the outer edges
// of the outermost pixels; here pixels have integer coordinates.
class Sampler {
 public:
  explicit Sampler(Params* params)
      : mode_(params->Word("mode", {{"bilinear", 0}, {"nearest", 1}})),
        padding_(params->Word(
            "padding_mode", {{"zeros", 0}, {"border", 1}, {"reflection", 2}})) {
    if (params->Boolean("align_corners")) {
      params->Fail("align_corners", "must be False");
    }
  }

  // `grid` is N x H x W x 2, for N images.
  at::Tensor operator()(const at::Tensor& in, const at::Tensor& grid) const {
    return ToBytes(
        UnbatchedLike(in, at::grid_sampler(Batched(ToFloat(in)), grid, mode_,
                                           padding_, kAlignCorners)));
  }

  static constexpr bool kAlignCorners = false;

 private:
  int64_t mode_;
  int64_t padding_;
};

// x' = m[0] x + m[1] y + m[2], y' = m[3] x + m[4] y + m[5].
using Matrix = std::array<double, 6>;

Matrix Inverse(const Matrix& m) {
  const double det = m[0] * m[4] - m[1] * m[3];
  const double a = m[4] / det, b = -m[1] / det;
  const double c = -m[3] / det, d = m[0] / det;
  return {a, b, -(a * m[2] + b * m[5]), c, d, -(c * m[2] + d * m[5])};
}

// Makes a grid from matrices, one per image, that say where each pixel is read,
// in pixels.
at::Tensor AffineGrid(const std::vector<Matrix>& matrices,
                      const at::Tensor& in) {
  const double width = static_cast<double>(WidthOf(in));
  const double height = static_cast<double>(HeightOf(in));
  const double x = (width - 1) / 2, y = (height - 1) / 2;
  std::vector<double> thetas;
  for (const Matrix& m : matrices) {
    thetas.insert(thetas.end(),
                  {m[0], m[1] * height / width,
                   (2 * (m[0] * x + m[1] * y + m[2]) + 1) / width - 1,
                   m[3] * width / height, m[4],
                   (2 * (m[3] * x + m[4] * y + m[5]) + 1) / height - 1});
  }
  const int64_t images = ImagesOf(in);
  return at::affine_grid_generator(
      at::tensor(thetas, at::kDouble).to(FloatsLike(in)).view({images, 2, 3}),
      {images, ChannelsOf(in), HeightOf(in), WidthOf(in)},
      Sampler::kAlignCorners);
}

struct AffineSettings {
  Range rotate;
  Range scale;
  std::vector<double> shear = {0, 0};
  std::vector<double> translate = {0, 0};
};

// Where an input pixel goes. Rows count downwards: this is counterclockwise,
// and pixels above the center are sheared to the right.
Matrix AffineMatrix(const AffineSettings& settings, double x, double y,
                    Random* random) {
  const double angle = random->Uniform(settings.rotate) * kRadians;
  const double scale = random->Uniform(settings.scale);
  const double cos = scale * std::cos(angle), sin = scale * std::sin(angle);
  const double shear_x = -std::tan(settings.shear[0] * kRadians);
  const double shear_y = -std::tan(settings.shear[1] * kRadians);
  Matrix m = {cos + sin * shear_y,  cos * shear_x + sin,  0,
              -sin + cos * shear_y, -sin * shear_x + cos, 0};
  m[2] = x + settings.translate[0] - m[0] * x - m[1] * y;
  m[5] = y + settings.translate[1] - m[3] * x - m[4] * y;
  return m;
}

TorchOp Affine(Params* params) {
  AffineSettings settings;
  settings.rotate =
      params->DrawOr(params->Has("angle") ? "angle" : "rotate", 0);
  settings.scale = params->DrawOr("scale", 1);
  if (params->Has("shear")) settings.shear = params->Tuple("shear", 2);
  if (params->Has("translate_px")) {
    settings.translate = params->Tuple("translate_px", 2);
  }
  const Sampler sampler(params);
  return [=](const at::Tensor& in, Random* random) {
    const double x = static_cast<double>(WidthOf(in) - 1) / 2;
    const double y = static_cast<double>(HeightOf(in) - 1) / 2;
    std::vector<Matrix> matrices;
    for (int64_t i = 0; i < ImagesOf(in); ++i) {
      matrices.push_back(Inverse(AffineMatrix(settings, x, y, random)));
    }
    return sampler(in, AffineGrid(matrices, in));
  };
}

// N x H x W x 2 from positions in pixels, where x and y are N x H x W.
at::Tensor GridOf(at::Tensor x, at::Tensor y) {
  const double width = static_cast<double>(x.size(2));
  const double height = static_cast<double>(x.size(1));
  x.mul_(2 / width).add_(1 / width - 1);
  y.mul_(2 / height).add_(1 / height - 1);
  return at::stack({x, y}, 3);
}

// Coordinates of each column and each row, for N x H x W.
at::Tensor Columns(const at::Tensor& in) {
  return at::arange(WidthOf(in), FloatsLike(in)).view({1, 1, -1});
}
at::Tensor Rows(const at::Tensor& in) {
  return at::arange(HeightOf(in), FloatsLike(in)).view({1, -1, 1});
}

// x' = (h0 x + h1 y + h2) / (h6 x + h7 y + 1), and y' likewise. Eight numbers,
// or eight tensors of one number per image.
template <typename Numbers>
at::Tensor PerspectiveGrid(const Numbers& h, const at::Tensor& in) {
  const at::Tensor x = Columns(in);
  const at::Tensor y = Rows(in);
  const auto plane = [&](const auto& a, const auto& b, const auto& c) {
    return x.mul(a).add(y.mul(b).add_(c));
  };
  const at::Tensor below = plane(h[6], h[7], 1);
  return GridOf(plane(h[0], h[1], h[2]).div_(below),
                plane(h[3], h[4], h[5]).div_(below));
}

TorchOp Perspective(Params* params) {
  const std::vector<double> matrix = params->Tuple("matrix", 8);
  const Sampler sampler(params);
  return [=](const at::Tensor& in, Random*) {
    const at::Tensor grid = PerspectiveGrid(matrix, in);
    return sampler(in, grid.expand({ImagesOf(in), -1, -1, -1}));
  };
}

struct Point {
  double x;
  double y;
};

// The eight numbers that map `from` to `to`, corner by corner.
std::vector<double> SolveCorners(const std::array<Point, 4>& from,
                                 const std::array<Point, 4>& to) {
  std::vector<double> left, right;
  for (int i = 0; i < 4; ++i) {
    const Point &f = from[i], &t = to[i];
    left.insert(left.end(), {f.x, f.y, 1, 0, 0, 0, -t.x * f.x, -t.x * f.y});
    left.insert(left.end(), {0, 0, 0, f.x, f.y, 1, -t.y * f.x, -t.y * f.y});
    right.insert(right.end(), {t.x, t.y});
  }
  const at::Tensor solved =
      at::linalg_solve(at::tensor(left, at::kDouble).view({8, 8}),
                       at::tensor(right, at::kDouble))
          .contiguous();
  const double* numbers = solved.const_data_ptr<double>();
  return std::vector<double>(numbers, numbers + 8);
}

// Each corner moves inwards by a share of half a side.
std::vector<double> DrawPerspective(double distortion, const at::Tensor& in,
                                    Random* random) {
  const double right = static_cast<double>(WidthOf(in) - 1);
  const double bottom = static_cast<double>(HeightOf(in) - 1);
  const std::array<Point, 4> corners = {
      {{0, 0}, {right, 0}, {right, bottom}, {0, bottom}}};
  std::array<Point, 4> moved = corners;
  for (Point& corner : moved) {
    const double dx = random->Uniform(0, distortion) * right / 2;
    const double dy = random->Uniform(0, distortion) * bottom / 2;
    corner.x += corner.x > 0 ? -dx : dx;
    corner.y += corner.y > 0 ? -dy : dy;
  }
  return SolveCorners(moved, corners);
}

TorchOp RandomPerspective(Params* params) {
  const double distortion = params->Number("distortion_scale");
  const Sampler sampler(params);
  return [=](const at::Tensor& in, Random* random) {
    return sampler(
        in, PerspectiveGrid(DrawPerspective(distortion, in, random), in));
  };
}

TorchOp RandomPerspectiveBatch(Params* params) {
  const double distortion = params->Number("distortion_scale");
  const Sampler sampler(params);
  return [=](const at::Tensor& in, Random* random) {
    std::vector<double> drawn;
    for (int64_t i = 0; i < ImagesOf(in); ++i) {
      const std::vector<double> h = DrawPerspective(distortion, in, random);
      drawn.insert(drawn.end(), h.begin(), h.end());
    }
    const std::vector<at::Tensor> h = at::tensor(drawn, at::kDouble)
                                          .to(FloatsLike(in))
                                          .view({-1, 8, 1, 1})
                                          .unbind(1);
    return sampler(in, PerspectiveGrid(h, in));
  };
}

// Smoothed noise from -1 to 1 as a displacement of each pixel.
TorchOp Elastic(Params* params) {
  const double alpha = params->Number("alpha");
  const double sigma = params->Number("sigma");
  const KernelSize size = ReadKernelSize(params);
  if (!params->Boolean("separable")) params->Fail("separable", "must be True");
  const Sampler sampler(params);
  if (!(sigma > 0)) {
    params->Fail("sigma", "must be positive");
    return nullptr;
  }
  const Constant across(GaussianRow(size.width, sigma));
  const Constant down(GaussianRow(size.height, sigma).t());
  return [=](const at::Tensor& in, Random*) {
    const at::Tensor noise =
        at::rand({ImagesOf(in), 2, HeightOf(in), WidthOf(in)}, FloatsLike(in))
            .mul_(2)
            .sub_(1);
    const at::Tensor smooth = Convolve(
        Convolve(at::reflection_pad2d(noise, size.Padding()), across.For(in)),
        down.For(in));
    return sampler(in, GridOf(smooth.select(1, 0).mul(alpha).add_(Columns(in)),
                              smooth.select(1, 1).mul(alpha).add_(Rows(in))));
  };
}

}  // namespace

const TorchOpTable& TorchWarpOps() {
  static const auto* const ops = new TorchOpTable{
      {"at::affine_grid_generator+at::grid_sampler", Affine, Affine},
      {"at::grid_sampler", Perspective, Perspective},
      {"at::linalg_solve+at::grid_sampler", RandomPerspective,
       RandomPerspectiveBatch},
      {"at::conv2d+at::grid_sampler", Elastic, Elastic},
  };
  return *ops;
}

}  // namespace feedrate
