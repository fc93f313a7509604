#include "lib/ops/cuda/kernels/blur_math.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <vector>

#include "lib/ops/cuda/kernels/host_kernels.h"
#include "lib/reference/filter.h"

namespace feedrate::fused {
namespace {

TEST(BlurMathTest, WeightsAreTheReference) {
  for (const float sigma : {0.3f, 1.0f, 2.0f, 5.0f}) {
    for (int radius = 0; radius <= kMaxBlurRadius; ++radius) {
      float weights[kMaxBlurRadius + 1];
      GaussianWeights(sigma, radius, weights);
      const int size = 2 * radius + 1;
      const Kernel kernel = GaussianKernel(size, sigma);
      for (int y = 0; y < size; ++y) {
        for (int x = 0; x < size; ++x) {
          ASSERT_NEAR(
              weights[std::abs(y - radius)] * weights[std::abs(x - radius)],
              kernel.weights[y * size + x], 1e-6);
        }
      }
    }
  }
}

TEST(BlurMathTest, RadiusIsThreeSigmaAndBounded) {
  EXPECT_EQ(RadiusOf(0.1f), 1);
  EXPECT_EQ(RadiusOf(1.0f), 3);
  EXPECT_EQ(RadiusOf(2.0f), 6);
  EXPECT_EQ(RadiusOf(9.0f), kMaxBlurRadius);
}

constexpr float kSigma = 1.4f;
// Value of table entries that no thread has written.
constexpr float kNothing = -1e6f;

HostImage SomeImage(int height, int width) {
  std::mt19937 random(height * 1000 + width);
  HostImage image(height, width);
  for (float& value : image.values) value = static_cast<float>(random() % 256);
  return image;
}

// Runs one thread after another, as blur.cu does: all horizontal work, then all
// vertical work.
template <int kRadius>
class HostBlock {
 public:
  using T = BlurTile<kRadius>;

  HostBlock(const HostImage& image, int left, int top)
      : image_(image),
        bytes_(image.values.begin(), image.values.end()),
        left_(left),
        top_(top),
        table_(T::kRows * T::kWidth, kNothing) {
    GaussianWeights(kSigma, kRadius, weights_);
  }

  void Run(HostImage* out) {
    for (int thread = 0; thread < T::kThreads; ++thread) Across(thread);
    for (int thread = 0; thread < T::kThreads; ++thread) Down(thread, out);
  }

 private:
  void Across(int thread) {
    const int group = thread % T::kGroups;
    const int at = left_ + group * T::kGroup;
    if (at >= image_.width * 3) return;
    for (int row = thread / T::kGroups; row < T::kRows; row += T::kRowStep) {
      const int y = top_ - kRadius + row;
      if (y >= image_.height + kRadius) return;
      const int inside = InsideOf(y, image_.height, Edge::kReflect);
      float span[T::kSpan];
      SpanAtEdge<kRadius>(bytes_.data() + inside * image_.width * 3, at / 3,
                          image_.width, span);
      float* const to = &table_[row * T::kWidth + group * T::kGroup];
      EXPECT_EQ(to[0], kNothing) << "written twice";
      BlurAcross<kRadius>(span, weights_, to);
    }
  }

  void Down(int thread, HostImage* out) {
    const int at = left_ + thread % T::kQuads * 4;
    const int first = thread / T::kQuads * T::kSegmentRows;
    if (at >= image_.width * 3) return;
    BlurColumn<kRadius> kept;
    for (int row = 0; row < T::kSegmentRows + 2 * kRadius; ++row) {
      kept.Put(row, &table_[(first + row) * T::kWidth + at - left_]);
      const int y = top_ + first + row - 2 * kRadius;
      if (row < 2 * kRadius) continue;
      if (y >= image_.height) return;
      float v[4];
      kept.Sum(row - 2 * kRadius, weights_, v);
      for (int k = 0; k < 4 && at + k < image_.width * 3; ++k) {
        out->values[y * image_.width * 3 + at + k] = v[k];
      }
    }
  }

  const HostImage& image_;
  const std::vector<uint8_t> bytes_;
  const int left_;
  const int top_;
  float weights_[kRadius + 1];
  std::vector<float> table_;
};

template <int kRadius>
void BlurLikeTheKernel(int height, int width) {
  using T = BlurTile<kRadius>;
  const HostImage image = SomeImage(height, width);
  HostImage out(height, width);
  for (float& value : out.values) value = kNothing;
  for (int top = 0; top < height; top += T::kHeight) {
    for (int left = 0; left < width * 3; left += T::kWidth) {
      HostBlock<kRadius>(image, left, top).Run(&out);
    }
  }
  const HostImage expected = HostBlur(image, kSigma, kRadius);
  for (size_t i = 0; i < out.values.size(); ++i) {
    ASSERT_NEAR(out.values[i], expected.values[i], 1e-3)
        << "radius " << kRadius << ", " << height << "x" << width << ", value "
        << i;
  }
}

template <int kRadius>
void BlurAllSizes() {
  // Less than a tile, a whole one, a few more pixels, unaligned ends.
  for (const int height : {7, 32, 33, 70}) {
    for (const int width : {7, 13, 64, 65, 97}) {
      BlurLikeTheKernel<kRadius>(height, width);
    }
  }
}

TEST(BlurTileTest, TilesMakeTheBlur) {
  BlurAllSizes<1>();
  BlurAllSizes<2>();
  BlurAllSizes<3>();
  BlurAllSizes<4>();
  BlurAllSizes<5>();
  BlurAllSizes<6>();
}

TEST(BlurTileTest, TheTableFitsWithoutBeingAskedFor) {
  // The limit of statically declared shared memory.
  EXPECT_LE(BlurTile<kMaxBlurRadius>::kRows * BlurTile<kMaxBlurRadius>::kWidth *
                sizeof(float),
            48u << 10);
}

}  // namespace
}  // namespace feedrate::fused
