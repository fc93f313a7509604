#include "lib/model/torch/model.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/sin.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <fstream>

#include "lib/model/torch/profiler.h"
#include "lib/model/torch/script_model.h"

namespace feedrate {
namespace {

std::unique_ptr<Model> Make(const std::string& name, bool recompute = false) {
  ModelOptions options;
  options.seed = 7;
  options.activation_checkpointing = recompute;
  return MakeModel(*ModelNamed(name), options);
}

at::Tensor InputFor(const ModelSpec& spec, int64_t batch) {
  if (spec.kind == ModelKind::kByteLm) {
    return at::randint(0, 256, {batch, spec.context}, at::kLong);
  }
  return at::randn({batch, spec.channels, spec.image_size, spec.image_size});
}

class EveryModelTest : public testing::TestWithParam<const char*> {};

TEST_P(EveryModelTest, HasTheParametersThatAreCounted) {
  const std::unique_ptr<Model> model = Make(GetParam());
  int64_t values = 0;
  for (const Parameter& parameter : model->parameters()) {
    values += parameter.value.numel();
  }
  EXPECT_EQ(values, CountParameters(model->spec()));
}

// The counting hook sees every product that ATen makes; the count of `flops`
// comes from shapes. They agree exactly, for forward and training.
TEST_P(EveryModelTest, MakesTheProductsThatAreCounted) {
  const std::unique_ptr<Model> model = Make(GetParam());
  const FlopsPart total = TotalOf(CountModel(model->spec()));
  const int64_t batch = 2;
  at::Tensor loss;
  {
    const OpCounter counter;
    loss = model->Forward(InputFor(model->spec(), batch)).sum();
    EXPECT_EQ(counter.Count().flops, batch * total.forward_flops);
  }
  const OpCounter counter;
  loss.backward();
  EXPECT_EQ(counter.Count().flops,
            batch * (total.multiplied_flops - total.forward_flops));
  EXPECT_EQ(counter.Count().products_by_type.count("fp32"), 1);
  EXPECT_EQ(counter.Count().products_by_type.size(), 1);
}

TEST_P(EveryModelTest, GivesEveryParameterAGradient) {
  const std::unique_ptr<Model> model = Make(GetParam());
  model->Forward(InputFor(model->spec(), 1)).square().sum().backward();
  for (const Parameter& parameter : model->parameters()) {
    EXPECT_TRUE(parameter.value.grad().defined()) << parameter.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, EveryModelTest,
                         testing::Values("vit5_tiny", "byte_lm_tiny",
                                         "vit5_small"));

TEST(ModelTest, OutputShapes) {
  const std::unique_ptr<Model> vit = Make("vit5_tiny");
  EXPECT_EQ(vit->Forward(InputFor(vit->spec(), 3)).sizes(),
            (at::IntArrayRef{3, 10}));
  const std::unique_ptr<Model> lm = Make("byte_lm_tiny");
  EXPECT_EQ(lm->Forward(at::randint(0, 256, {2, 5}, at::kLong)).sizes(),
            (at::IntArrayRef{2, 5, 256}));
}

TEST(ModelTest, SeedsDecideTheWeights) {
  const std::unique_ptr<Model> a = Make("vit5_tiny");
  const std::unique_ptr<Model> b = Make("vit5_tiny");
  EXPECT_TRUE(at::equal(a->parameters()[0].value, b->parameters()[0].value));
  ModelOptions other;
  other.seed = 8;
  const std::unique_ptr<Model> c = MakeModel(a->spec(), other);
  EXPECT_FALSE(at::equal(a->parameters()[0].value, c->parameters()[0].value));
}

TEST(ModelTest, TextLooksBackOnly) {
  at::AutoGradMode no_grad(false);
  const std::unique_ptr<Model> model = Make("byte_lm_tiny");
  at::Tensor text = at::randint(0, 256, {1, 16}, at::kLong);
  const at::Tensor before = model->Forward(text).narrow(1, 0, 9);
  text.select(1, 9).fill_(text.select(1, 9).item<int64_t>() ^ 1);
  const at::Tensor after = model->Forward(text);
  EXPECT_TRUE(at::allclose(before, after.narrow(1, 0, 9)));
  EXPECT_FALSE(at::allclose(model->Forward(text).narrow(1, 9, 1),
                            before.narrow(1, 8, 1)));
}

TEST(ModelTest, PlacesOfPatchesMatter) {
  at::AutoGradMode no_grad(false);
  const std::unique_ptr<Model> model = Make("vit5_tiny");
  const at::Tensor image = InputFor(model->spec(), 1);
  EXPECT_FALSE(at::allclose(model->Forward(image),
                            model->Forward(image.flip({3})), 1e-3, 1e-4));
}

TEST(ModelTest, RecomputingGivesTheSameGradients) {
  const std::unique_ptr<Model> plain = Make("vit5_tiny");
  const std::unique_ptr<Model> lean = Make("vit5_tiny", /*recompute=*/true);
  const at::Tensor image = InputFor(plain->spec(), 2);
  const at::Tensor a = plain->Forward(image).square().sum();
  const at::Tensor b = lean->Forward(image).square().sum();
  EXPECT_TRUE(at::equal(a, b));
  a.backward();
  b.backward();
  for (size_t i = 0; i < plain->parameters().size(); ++i) {
    EXPECT_TRUE(at::allclose(plain->parameters()[i].value.grad(),
                             lean->parameters()[i].value.grad(), 1e-4, 1e-6))
        << plain->parameters()[i].name;
  }
}

TEST(RotationTest, ClassAndRegistersStandStill) {
  const ModelSpec& spec = *ModelNamed("vit5_small");
  const Rotation rotation = MakeRotation(spec);
  EXPECT_EQ(rotation.cos.sizes(), (at::IntArrayRef{201, 64}));
  EXPECT_EQ(rotation.sin.narrow(0, 0, 5).abs().max().item<float>(), 0);
  // The first patch is at row 0, column 0; the others rotate.
  EXPECT_EQ(rotation.sin.select(0, 5).abs().max().item<float>(), 0);
  EXPECT_GT(rotation.sin.select(0, 6).abs().max().item<float>(), 0.1);
}

TEST(RotationTest, KeepsLengths) {
  const Rotation rotation = MakeRotation(*ModelNamed("byte_lm_tiny"));
  const at::Tensor ones = rotation.cos.square().add(rotation.sin.square());
  EXPECT_TRUE(at::allclose(ones, at::ones_like(ones)));
}

constexpr int64_t kBatch = 2, kTokens = 5, kHeads = 3, kWidth = 8;

at::Tensor Leaf(at::IntArrayRef shape) {
  return at::randn(shape).set_requires_grad(true);
}

// Plain operations, whose gradient autograd derives.
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

// Writes a convolution of 4 channels and a linear layer of 5 classes.
std::string WriteScript(const std::string& name, const std::string& shape) {
  torch::jit::Module module("Small");
  module.register_parameter("filter", at::randn({4, 3, 3, 3}), false);
  module.register_parameter("head", at::randn({5, 4}), false);
  for (const at::Tensor& value : module.parameters()) {
    value.set_requires_grad(true);
  }
  module.define(R"(
    def forward(self, x):
        y = torch.conv2d(x, self.filter, None, [2, 2], [1, 1])
        return torch.matmul(y.mean([2, 3]), self.head.t())
  )");
  const std::string file = testing::TempDir() + name;
  module.save(file, {{"input_shape", shape}});
  return file;
}

TEST(ScriptModelTest, TrainsAndItsOperationsAreCounted) {
  const std::string file = WriteScript("small.pt", "3,10,10");
  const std::unique_ptr<Model> model = LoadScriptModel(file, at::kCPU);
  EXPECT_EQ(model->spec().image_size, 10);
  EXPECT_EQ(model->spec().classes, 5);
  ASSERT_EQ(model->parameters().size(), 2u);
  EXPECT_EQ(model->parameters()[0].value.numel(), 108);
  const OpCounter counter;
  // Twice, because the interpreter looks at the first run only.
  for (int run = 1; run <= 2; ++run) {
    model->Forward(at::randn({2, 3, 10, 10})).sum().backward();
    // 25 places use 108 weights: forward and for their gradient, not for that
    // of the images; the head uses 20, forward and for both gradients.
    EXPECT_EQ(counter.Count().flops, run * 2 * (2 * 2 * 25 * 108 + 3 * 2 * 20));
  }
  EXPECT_TRUE(model->parameters()[0].value.grad().defined());
}

TEST(ScriptModelTest, SaysWhatIsWrongWithAFile) {
  const auto message = [](const std::string& file) -> std::string {
    try {
      LoadScriptModel(file, at::kCPU);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  const std::string text = testing::TempDir() + "text.pt";
  std::ofstream(text) << "no script";
  EXPECT_NE(message(text).find("is no TorchScript file"), std::string::npos);
  EXPECT_NE(message(WriteScript("shape.pt", "3,9,10")).find("equal sides"),
            std::string::npos);
  EXPECT_NE(message(WriteScript("one.pt", "1,9,9")).find("_extra_files"),
            std::string::npos);
}

}  // namespace
}  // namespace feedrate
