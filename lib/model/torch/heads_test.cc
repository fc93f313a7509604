#include "lib/model/torch/heads.h"

#include <ATen/ops/addcmul.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/sin.h>
#include <gtest/gtest.h>

#include <vector>

namespace feedrate {
namespace {

constexpr int64_t kBatch = 2, kTokens = 5, kHeads = 3, kWidth = 8;

at::Tensor Leaf(at::IntArrayRef shape) {
  return at::randn(shape).set_requires_grad(true);
}

// What autograd derives from the plain operations.
at::Tensor PlainTurn(const at::Tensor& x, const at::Tensor& cos,
                     const at::Tensor& sin) {
  const std::vector<at::Tensor> halves = x.chunk(2, -1);
  return at::addcmul(x.mul(cos), at::cat({halves[1].neg(), halves[0]}, -1),
                     sin);
}

TEST(HeadsTest, TurnsAsThePlainOperationsDo) {
  at::Tensor angles = at::rand({kTokens, kWidth / 2}).mul(6);
  angles = at::cat({angles, angles}, 1);
  const at::Tensor cos = at::cos(angles);
  const at::Tensor sin = at::sin(angles);
  const at::Tensor x = Leaf({kBatch, kHeads, kTokens, kWidth});
  const at::Tensor plain = x.detach().clone().set_requires_grad(true);
  const at::Tensor expected = PlainTurn(plain, cos, sin);
  const at::Tensor turned = Turn(x, cos, sin);
  EXPECT_TRUE(at::equal(turned, expected));
  const at::Tensor gradient = at::randn(turned.sizes());
  turned.backward(gradient);
  expected.backward(gradient);
  EXPECT_TRUE(at::allclose(x.grad(), plain.grad(), 1e-5, 1e-6));
}

TEST(HeadsTest, SplitsAsThePlainOperationsDo) {
  const at::Tensor x = Leaf({kBatch, kTokens, 3 * kHeads * kWidth});
  const at::Tensor plain = x.detach().clone().set_requires_grad(true);
  const std::vector<at::Tensor> expected =
      plain.view({kBatch, kTokens, 3, kHeads, kWidth})
          .permute({2, 0, 3, 1, 4})
          .unbind(0);
  const HeadTensors heads = SplitHeads(x, kHeads);
  EXPECT_TRUE(at::equal(heads.q, expected[0]));
  EXPECT_TRUE(at::equal(heads.k, expected[1]));
  EXPECT_TRUE(at::equal(heads.v, expected[2]));
  heads.q.mul(2).add(heads.k.mul(3)).mul(heads.v).sum().backward();
  expected[0].mul(2).add(expected[1].mul(3)).mul(expected[2]).sum().backward();
  EXPECT_TRUE(at::equal(x.grad(), plain.grad()));
}

}  // namespace
}  // namespace feedrate
