#include "lib/adapters/torch/op.h"

#include <ATen/Context.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/rot90.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <string>

namespace feedrate {
namespace {

using Names = std::vector<std::string>;

at::Tensor Apply(const std::string& op, const Names& params,
                 const at::Tensor& in, const std::string& wrap = "") {
  TransformSpec spec;
  spec.native_op = op;
  spec.params = params;
  spec.wrap = wrap;
  const absl::StatusOr<TorchOp> made = MakeTorchOp(spec);
  EXPECT_TRUE(made.ok()) << made.status();
  if (!made.ok()) return in;
  Random random(3);
  at::manual_seed(3);
  const at::Tensor out = (*made)(in, &random);
  EXPECT_EQ(out.scalar_type(), at::kByte);
  EXPECT_TRUE(out.is_contiguous());
  EXPECT_NE(out.const_data_ptr(), in.const_data_ptr()) << "the input itself";
  return out;
}

// An arbitrary image.
at::Tensor Picture(int64_t channels, int64_t height, int64_t width) {
  at::manual_seed(1);
  return at::randint(0, 256, {channels, height, width}, at::kByte);
}

// The same numbers as a CHW image of one channel.
at::Tensor Grid(const std::vector<int>& values, int64_t height, int64_t width) {
  return at::tensor(values, at::kInt).to(at::kByte).view({1, height, width});
}

int64_t LargestDifference(const at::Tensor& a, const at::Tensor& b) {
  EXPECT_EQ(a.sizes(), b.sizes());
  return a.to(at::kInt).sub(b.to(at::kInt)).abs().max().item<int64_t>();
}

const Names kBilinear = {"mode=bilinear", "padding_mode=zeros",
                         "align_corners=False"};

Names With(Names first, const Names& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

TEST(TorchOpsTest, ValuesByThemselves) {
  const at::Tensor in = Grid({0, 100, 128, 255}, 2, 2);
  EXPECT_TRUE(
      Apply("at::bitwise_not", {}, in).equal(Grid({255, 155, 127, 0}, 2, 2)));
  EXPECT_TRUE(Apply("at::bitwise_and", {"mask=240"}, in)
                  .equal(Grid({0, 96, 128, 240}, 2, 2)));
  EXPECT_TRUE(Apply("at::where", {"threshold=128"}, in)
                  .equal(Grid({0, 100, 127, 0}, 2, 2)));
  EXPECT_TRUE(Apply("at::add+at::clamp", {"value=51"}, in)
                  .equal(Grid({51, 151, 179, 255}, 2, 2)));
  EXPECT_TRUE(Apply("at::mul+at::clamp", {"factor=1.2"}, in)
                  .equal(Grid({0, 120, 154, 255}, 2, 2)));
  EXPECT_TRUE(
      Apply("at::pow", {"gamma=2"}, in).equal(Grid({0, 39, 64, 255}, 2, 2)));
}

TEST(TorchOpsTest, Colors) {
  const at::Tensor in = at::tensor({10, 200, 100, 40, 250, 5}, at::kInt)
                            .to(at::kByte)
                            .view({3, 1, 2});
  const at::Tensor shifted = Apply(
      "at::add+at::clamp", {"r_shift=20", "g_shift=-30", "b_shift=40"}, in);
  EXPECT_TRUE(shifted.flatten().equal(
      at::tensor({30, 220, 70, 10, 255, 45}, at::kInt).to(at::kByte)));
  // 0.3 * 10 + 0.6 * 100 + 0.1 * 250 = 88, 0.3 * 200 + 0.6 * 40 + 0.5 = 84.5.
  const at::Tensor gray =
      Apply("at::mul+at::sum+at::expand", {"weights=(0.3,0.6,0.1)"}, in);
  EXPECT_EQ(gray.select(0, 1).flatten()[0].item<int>(), 88);
  EXPECT_TRUE(gray[0].equal(gray[2]));
  EXPECT_TRUE(Apply("at::lerp", {"factor=1"}, in).equal(in));
  EXPECT_LE(LargestDifference(Apply("at::lerp", {"factor=0"}, in),
                              Apply("at::mul+at::sum+at::expand",
                                    {"weights=(0.299,0.587,0.114)"}, in)),
            0);
}

TEST(TorchOpsTest, ChunksOfThreeChannels) {
  const at::Tensor in = Picture(9, 4, 5);
  const Names weights = {"weights=(0.3,0.6,0.1)"};
  const at::Tensor out = Apply("at::mul+at::sum+at::expand", weights, in,
                               "per 3-channel chunk, concat");
  ASSERT_EQ(out.size(0), 9);
  EXPECT_TRUE(out.slice(0, 6, 9).equal(
      Apply("at::mul+at::sum+at::expand", weights, in.slice(0, 6, 9))));
}

TEST(TorchOpsTest, Rearranges) {
  const at::Tensor in = Grid({1, 2, 3, 4, 5, 6}, 2, 3);
  EXPECT_TRUE(Apply("at::flip", {"dims=(-1)"}, in)
                  .equal(Grid({3, 2, 1, 6, 5, 4}, 2, 3)));
  EXPECT_TRUE(Apply("at::flip", {"dims=(-2)"}, in)
                  .equal(Grid({4, 5, 6, 1, 2, 3}, 2, 3)));
  EXPECT_TRUE(Apply("at::transpose+at::contiguous", {"dims=(-2,-1)"}, in)
                  .equal(Grid({1, 4, 2, 5, 3, 6}, 3, 2)));
  // Counterclockwise.
  EXPECT_TRUE(Apply("at::rot90+at::contiguous", {"k=1", "dims=(-2,-1)"}, in)
                  .equal(Grid({3, 6, 2, 5, 1, 4}, 3, 2)));
  EXPECT_TRUE(
      Apply("at::rot90+at::contiguous", {"k=0", "dims=(-2,-1)"}, in).equal(in));
  EXPECT_TRUE(Apply("at::constant_pad_nd", {"pad=(1,0,0,1)", "value=9"}, in)
                  .equal(Grid({9, 1, 2, 3, 9, 4, 5, 6, 9, 9, 9, 9}, 3, 4)));
  EXPECT_TRUE(Apply("at::index_select", {"dim=-1", "index=(2,0,1)"}, in)
                  .equal(Grid({3, 1, 2, 6, 4, 5}, 2, 3)));
}

TEST(TorchOpsTest, JigsawMovesTiles) {
  const std::string op = "at::reshape+at::permute+at::index_select";
  const at::Tensor in = Grid({1, 1, 2, 2, 1, 1, 2, 2}, 2, 4);
  EXPECT_TRUE(Apply(op, {"grid=(1,2)", "order=(1,0)"}, in)
                  .equal(Grid({2, 2, 1, 1, 2, 2, 1, 1}, 2, 4)));
  const at::Tensor even = Picture(3, 8, 12);
  const at::Tensor shuffled = Apply(op, {"grid=(4,4)"}, even);
  EXPECT_FALSE(shuffled.equal(even));
  EXPECT_TRUE(std::get<0>(shuffled.flatten().sort())
                  .equal(std::get<0>(even.flatten().sort())));
  EXPECT_EQ(Apply(op, {"grid=(4,4)"}, Picture(3, 7, 10)).sizes(),
            Picture(3, 7, 10).sizes());
}

TEST(TorchOpsTest, Crops) {
  const std::string op = "at::slice+at::constant_pad_nd";
  const at::Tensor in = Grid({1, 2, 3, 4, 5, 6, 7, 8, 9}, 3, 3);
  const Names rest = {"pad_if_needed=True", "fill=0"};
  EXPECT_TRUE(Apply(op, With({"size=(1,1)"}, rest), in).equal(Grid({5}, 1, 1)));
  EXPECT_TRUE(Apply(op, With({"size=(2,2)", "position=(1,0)"}, rest), in)
                  .equal(Grid({4, 5, 7, 8}, 2, 2)));
  EXPECT_TRUE(
      Apply(op, With({"size=(3,5)"}, rest), in)
          .equal(Grid({0, 1, 2, 3, 0, 0, 4, 5, 6, 0, 0, 7, 8, 9, 0}, 3, 5)));
  EXPECT_EQ(
      Apply(op, With({"size=(2,2)", "position=uniform"}, rest), in).size(1), 2);
}

TEST(TorchOpsTest, Resizes) {
  const at::Tensor in = at::full({3, 10, 20}, 77, at::kByte);
  const std::string op = "at::upsample_bilinear2d";
  EXPECT_TRUE(Apply(op, {"size=(5,7)", "align_corners=False"}, in)
                  .equal(at::full({3, 5, 7}, 77, at::kByte)));
  EXPECT_EQ(
      Apply(op, {"max_size=40", "side=longest", "align_corners=False"}, in)
          .sizes(),
      at::IntArrayRef({3, 20, 40}));
  EXPECT_EQ(
      Apply(op, {"max_size=40", "side=shortest", "align_corners=False"}, in)
          .sizes(),
      at::IntArrayRef({3, 40, 80}));
  const Names drawn = {"size=(6,6)", "scale=(0.08,1.0)", "ratio=(0.75,1.3)",
                       "tries=10",   "fallback=center",  "align_corners=False"};
  EXPECT_TRUE(Apply("at::slice+at::upsample_bilinear2d", drawn, in)
                  .equal(at::full({3, 6, 6}, 77, at::kByte)));
}

TEST(TorchOpsTest, WarpsThatMoveNothing) {
  const at::Tensor in = Picture(3, 24, 31);
  const std::string affine = "at::affine_grid_generator+at::grid_sampler";
  EXPECT_LE(
      LargestDifference(Apply(affine, With({"angle=0"}, kBilinear), in), in),
      0);
  EXPECT_LE(LargestDifference(
                Apply("at::grid_sampler",
                      With({"matrix=(1,0,0,0,1,0,0,0)"}, kBilinear), in),
                in),
            0);
  EXPECT_LE(
      LargestDifference(Apply("at::linalg_solve+at::grid_sampler",
                              With({"distortion_scale=0"}, kBilinear), in),
                        in),
      0);
  EXPECT_LE(
      LargestDifference(Apply("at::conv2d+at::grid_sampler",
                              With({"alpha=0", "sigma=5", "kernel_size=(9,9)",
                                    "separable=True"},
                                   kBilinear),
                              in),
                        in),
      0);
}

TEST(TorchOpsTest, WarpsThatMovePixels) {
  const std::string affine = "at::affine_grid_generator+at::grid_sampler";
  const at::Tensor square = Picture(3, 16, 16);
  // Counterclockwise, about the center.
  EXPECT_LE(
      LargestDifference(Apply(affine, With({"angle=90"}, kBilinear), square),
                        at::rot90(square, 1, {-2, -1}).contiguous()),
      1);
  const at::Tensor moved = Apply(
      affine, With({"translate_px=(3,2)", "rotate=0"}, kBilinear), square);
  EXPECT_TRUE(moved.slice(1, 2).slice(2, 3).equal(
      square.slice(1, 0, 14).slice(2, 0, 13)));
  EXPECT_EQ(moved.slice(1, 0, 2).max().item<int>(), 0);
  // Pixels above the center move to the right.
  const at::Tensor line = at::full({1, 21, 21}, 0, at::kByte);
  line.select(2, 10).fill_(200);
  const at::Tensor sheared =
      Apply(affine, With({"shear=(45,0)"}, kBilinear), line);
  EXPECT_EQ(sheared[0][5][15].item<int>(), 200);
  EXPECT_EQ(sheared[0][15][5].item<int>(), 200);
  EXPECT_EQ(sheared[0][10][10].item<int>(), 200);
}

TEST(TorchOpsTest, FiltersKeepWhatIsFlat) {
  const at::Tensor flat = at::full({9, 30, 32}, 90, at::kByte);
  EXPECT_TRUE(Apply("at::reflection_pad2d+at::avg_pool2d",
                    {"kernel_size=(5,5)", "stride=1"}, flat)
                  .equal(flat));
  EXPECT_TRUE(Apply("at::reflection_pad2d+at::conv2d",
                    {"kernel_size=(5,5)", "sigma=(2,2)", "separable=True"},
                    flat)
                  .equal(flat));
  EXPECT_TRUE(Apply("at::replication_pad2d+at::conv2d",
                    {"kernel=(0,-1,0,-1,10,-1,0,-1,0)", "scale=6"}, flat)
                  .equal(flat));
  EXPECT_TRUE(
      Apply("at::conv2d+at::lerp", {"sharpness_factor=2"}, flat).equal(flat));
  EXPECT_TRUE(Apply("at::conv2d",
                    {"kernel_size=5", "angle=U(0,360)", "direction=U(-1,1)",
                     "padding_mode=reflect"},
                    flat)
                  .equal(flat));
}

TEST(TorchOpsTest, FiltersSpreadAPoint) {
  const at::Tensor point = at::full({1, 5, 5}, 0, at::kByte);
  point[0][2][2] = 90;
  EXPECT_EQ(Apply("at::reflection_pad2d+at::avg_pool2d",
                  {"kernel_size=(3,3)", "stride=1"}, point)
                .sum()
                .item<int>(),
            90);
  const at::Tensor line = Apply(
      "at::conv2d",
      {"kernel_size=3", "angle=0", "direction=0", "padding_mode=zeros"}, point);
  EXPECT_EQ(line[0][2][1].item<int>(), 30);
  EXPECT_EQ(line[0][1][2].item<int>(), 0);
  // 90 - (90 * 5 / 13 - 90) saturates to 145; neighbors lose 90 / 13.
  const at::Tensor sharp =
      Apply("at::conv2d+at::lerp", {"sharpness_factor=2"}, point.add(50));
  EXPECT_EQ(sharp[0][2][2].item<int>(), 195);
  EXPECT_EQ(sharp[0][1][1].item<int>(), 43);
  EXPECT_EQ(sharp[0][0][0].item<int>(), 50);
}

TEST(TorchOpsTest, Tones) {
  const at::Tensor in = Grid({50, 100, 150, 100}, 2, 2);
  EXPECT_TRUE(Apply("at::amin+at::amax", {"cutoff=0"}, in)
                  .equal(Grid({0, 128, 255, 128}, 2, 2)));
  const at::Tensor flat = at::full({3, 4, 4}, 9, at::kByte);
  EXPECT_TRUE(Apply("at::amin+at::amax", {"cutoff=0"}, flat).equal(flat));
  const std::string equalize = "at::bincount+at::cumsum+at::gather";
  EXPECT_TRUE(Apply(equalize, {"by_channels=True"}, flat).equal(flat));
  // Half of the range in equal parts becomes the whole range.
  const at::Tensor ramp = at::arange(128, at::kInt)
                              .to(at::kByte)
                              .view({1, 1, 128})
                              .expand({1, 64, 128});
  const at::Tensor wide =
      Apply(equalize, {"by_channels=True"}, ramp.contiguous());
  EXPECT_EQ(wide.min().item<int>(), 0);
  EXPECT_EQ(wide.max().item<int>(), 255);
  // Below it are 64 columns of 64: (4096 + 15) / 31, with steps of 31.
  EXPECT_EQ(wide[0][0][64].item<int>(), 132);
}

TEST(TorchOpsTest, Noises) {
  const at::Tensor in = at::full({3, 64, 64}, 128, at::kByte);
  const at::Tensor noisy =
      Apply("at::randn+at::add+at::clamp", {"mean=0", "std=20"}, in);
  const at::Tensor values = noisy.to(at::kFloat);
  EXPECT_NEAR(values.mean().item<float>(), 128, 1.5);
  EXPECT_NEAR(values.std().item<float>(), 20, 1);
  const at::Tensor salted =
      Apply("at::rand+at::where", {"amount=0.5", "salt_vs_pepper=0.5"}, in);
  EXPECT_NEAR(salted.eq(255).to(at::kFloat).mean().item<float>(), 0.25, 0.03);
  EXPECT_NEAR(salted.eq(0).to(at::kFloat).mean().item<float>(), 0.25, 0.03);
  EXPECT_TRUE(salted[0].equal(salted[1]));
  const at::Tensor dropped = Apply("at::select+at::zero_", {"channels=1"}, in);
  EXPECT_EQ(dropped.eq(0).sum().item<int>(), 64 * 64);
  const at::Tensor erased =
      Apply("at::slice+at::fill_",
            {"scale=(0.2,0.2)", "ratio=(1,1)", "tries=10", "value=7"}, in);
  const at::Tensor hole =
      Apply("at::slice+at::fill_", {"rect=(1,2,3,4)", "value=7"}, in);
  EXPECT_EQ(hole.eq(7).sum().item<int>(), 3 * 3 * 4);
  EXPECT_EQ(hole[1][1][2].item<int>(), 7);
  const at::Tensor second = Apply("at::select+at::zero_", {"channel=1"}, in);
  EXPECT_EQ(second[1].max().item<int>(), 0);
  EXPECT_EQ(second[2].min().item<int>(), 128);
  EXPECT_NEAR(erased.eq(7).to(at::kFloat).mean().item<float>(), 0.2, 0.03);
}

TEST(TorchOpsTest, Lights) {
  const at::Tensor in = at::full({3, 11, 21}, 100, at::kByte);
  const at::Tensor down =
      Apply("at::mul+at::clamp", {"intensity=0.2", "angle=90", "sign=1"}, in);
  EXPECT_EQ(down[0][0][5].item<int>(), 100);
  EXPECT_EQ(down[0][10][5].item<int>(), 120);
  const at::Tensor corner =
      Apply("at::mul+at::clamp",
            {"intensity=0.2", "corner=bottom_right", "sign=-1"}, in);
  EXPECT_EQ(corner[0][10][20].item<int>(), 80);
  EXPECT_EQ(corner[0][0][0].item<int>(), 100);
  const at::Tensor bell =
      Apply("at::mul+at::clamp",
            {"intensity=0.2", "center=(0.5,0.5)", "sigma=0.1", "sign=1"}, in);
  EXPECT_NEAR(bell[0][5][10].item<int>(), 119, 1);
  EXPECT_EQ(bell[0][0][0].item<int>(), 100);
}

// An operation with its parameters. Those that use torch's generator draw
// differently for a batch, and only the shape is checked.
struct BatchCase {
  std::string op;
  Names params;
  bool equal = true;
};

std::vector<BatchCase> BatchCases() {
  return {
      {"at::bitwise_not", {}},
      {"at::bitwise_and", {"mask=240"}},
      {"at::where", {"threshold=128"}},
      {"at::pow", {"gamma=1.2"}},
      {"at::add+at::clamp", {"value=51"}},
      {"at::add+at::clamp",
       {"r_shift=U(-20,20)", "g_shift=U(-20,20)", "b_shift=U(-20,20)"}},
      {"at::mul+at::sum+at::expand", {"weights=(0.3,0.6,0.1)"}},
      {"at::lerp", {"factor=1.5"}},
      {"at::mul+at::clamp", {"factor=1.2"}},
      {"at::mul+at::clamp", {"intensity=0.2", "angle=90", "sign=1"}},
      {"at::mul+at::clamp",
       {"intensity=0.2", "corner=bottom_right", "sign=-1"}},
      {"at::mul+at::clamp",
       {"intensity=0.2", "center=(0.5,0.5)", "sigma=0.1", "sign=1"}},
      {"at::upsample_bilinear2d", {"size=(17,40)", "align_corners=False"}},
      {"at::slice+at::constant_pad_nd",
       {"size=(20,60)", "position=(2,3)", "pad_if_needed=True", "fill=0"}},
      {"at::reflection_pad2d+at::avg_pool2d",
       {"kernel_size=(5,5)", "stride=1"}},
      {"at::reflection_pad2d+at::conv2d",
       {"kernel_size=(5,5)", "sigma=(2,2)", "separable=True"}},
      {"at::replication_pad2d+at::conv2d",
       {"kernel=(0,-1,0,-1,10,-1,0,-1,0)", "scale=6"}},
      {"at::conv2d+at::lerp", {"sharpness_factor=2"}},
      {"at::conv2d",
       {"kernel_size=5", "angle=U(0,360)", "direction=U(-1,1)",
        "padding_mode=reflect"}},
      {"at::flip", {"dims=(-1)"}},
      {"at::transpose+at::contiguous", {"dims=(-2,-1)"}},
      {"at::rot90+at::contiguous", {"k=1", "dims=(-2,-1)"}},
      {"at::constant_pad_nd", {"pad=(1,0,0,1)", "value=9"}},
      {"at::reshape+at::permute+at::index_select",
       {"grid=(2,2)", "order=(3,1,0,2)"}},
      {"at::reshape+at::permute+at::index_select", {"grid=(4,4)"}, false},
      {"at::amin+at::amax", {"cutoff=0"}},
      {"at::bincount+at::cumsum+at::gather", {"by_channels=True"}},
      {"at::randn+at::add+at::clamp", {"mean=0", "std=20"}, false},
      {"at::rand+at::where",
       {"amount=U(0.4,0.6)", "salt_vs_pepper=U(0.4,0.6)"},
       false},
      {"at::select+at::zero_", {"channels=1"}},
      {"at::select+at::zero_", {"channel=2"}},
      {"at::randperm+at::index_select", {"dim=-3"}, false},
      {"at::index_select", {"dim=-3", "index=(2,0,1)"}},
      {"at::slice+at::fill_", {"rect=(1,2,3,4)", "value=7"}},
      {"at::slice+at::fill_",
       {"scale=(0.02,0.33)", "ratio=(0.3,3.3)", "tries=10", "value=0"}},
      {"at::affine_grid_generator+at::grid_sampler",
       With({"rotate=U(-30,30)", "scale=U(0.8,1.2)", "translate_px=(3,2)"},
            kBilinear)},
      {"at::grid_sampler",
       With({"matrix=(0.95,0.05,1,-0.03,0.9,2,0.0001,-0.0002)"}, kBilinear)},
      {"at::linalg_solve+at::grid_sampler",
       With({"distortion_scale=0.5"}, kBilinear)},
      {"at::conv2d+at::grid_sampler",
       With({"alpha=5", "sigma=3", "kernel_size=(9,9)", "separable=True"},
            kBilinear),
       false},
  };
}

TEST(TorchOpsTest, BatchesDoWhatImagesDo) {
  std::vector<at::Tensor> images = {Picture(3, 25, 34)};
  for (int i = 1; i < 3; ++i) images.push_back(images[0].roll(7 * i));
  // An image without contrast.
  images.push_back(at::full({3, 25, 34}, 9, at::kByte));
  const at::Tensor batch = at::stack(images);
  for (const BatchCase& c : BatchCases()) {
    SCOPED_TRACE(c.op + (c.params.empty() ? "" : " " + c.params[0]));
    TransformSpec spec;
    spec.native_op = c.op;
    spec.params = c.params;
    const absl::StatusOr<TorchOp> image = MakeTorchOp(spec);
    const TorchOp all = MakeTorchBatchOp(spec);
    ASSERT_TRUE(image.ok() && all != nullptr) << image.status();
    Random random(5);
    at::manual_seed(5);
    const at::Tensor out = all(batch, &random);
    EXPECT_EQ(out.scalar_type(), at::kByte);
    EXPECT_TRUE(out.is_contiguous());
    ASSERT_EQ(out.size(0), 4);
    random = Random(5);
    for (int i = 0; i < 4; ++i) {
      const at::Tensor expected = (*image)(images[i], &random);
      ASSERT_EQ(out[i].sizes(), expected.sizes());
      // Sums are added in another order, and may round the other way at a half.
      if (c.equal) {
        EXPECT_LE(LargestDifference(out[i], expected), 1) << i;
      }
    }
    EXPECT_FALSE(out[0].equal(out[1])) << "images that are not of one batch";
  }
}

TEST(TorchOpsTest, EachImageOfABatchDrawsForItself) {
  const at::Tensor batch = Picture(3, 16, 16).expand({6, 3, 16, 16});
  for (const BatchCase& c : BatchCases()) {
    TransformSpec spec;
    spec.native_op = c.op;
    spec.params = c.params;
    bool draws = !c.equal;
    for (const std::string& param : c.params) {
      if (param.find("=U(") != std::string::npos) draws = true;
    }
    if (!draws) continue;
    Random random(6);
    at::manual_seed(6);
    const at::Tensor out = MakeTorchBatchOp(spec)(batch, &random);
    bool differ = false;
    for (int i = 1; i < 6; ++i) differ = differ || !out[0].equal(out[i]);
    EXPECT_TRUE(differ) << c.op;
  }
}

TEST(TorchOpsTest, WhatDiffersInSizeIsNoBatch) {
  const auto batch_op = [](const std::string& op, const Names& params,
                           const std::string& wrap = "") {
    TransformSpec spec;
    spec.native_op = op;
    spec.params = params;
    spec.wrap = wrap;
    return MakeTorchBatchOp(spec);
  };
  EXPECT_EQ(
      batch_op("at::rot90+at::contiguous", {"k=uniform(0,3)", "dims=(-2,-1)"}),
      nullptr);
  EXPECT_EQ(batch_op("at::slice+at::constant_pad_nd",
                     {"size=(2,2)", "position=uniform", "pad_if_needed=True",
                      "fill=0"}),
            nullptr);
  EXPECT_EQ(batch_op("at::flip", {"dims=(2)"}), nullptr);
  EXPECT_EQ(batch_op("at::mul+at::clamp",
                     {"intensity=U(0.1,0.2)", "corner=uniform", "sign=1"}),
            nullptr);
  EXPECT_EQ(batch_op("at::bitwise_not", {}, "per 3-channel chunk, concat"),
            nullptr);
}

}  // namespace
}  // namespace feedrate
