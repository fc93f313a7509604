// The libtorch that third_party/torch found compiles, links, starts and adds.

// Per-operator headers: ATen/ATen.h would take twice as long to compile.
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/matmul.h>
#include <gtest/gtest.h>

namespace {

TEST(TorchSmokeTest, MultipliesMatrices) {
  const at::Tensor a = at::arange(6, at::kFloat).view({2, 3});
  const at::Tensor product = at::matmul(a, a.t());
  EXPECT_EQ(product[0][0].item<float>(), 5);
  EXPECT_EQ(product[1][1].item<float>(), 50);
}

}  // namespace
