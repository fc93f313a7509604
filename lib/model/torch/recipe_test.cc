// How a model learns beside its optimizer: label smoothing, stochastic depth,
// averages of weights.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <vector>

#include "lib/model/torch/batches.h"
#include "lib/model/torch/model.h"
#include "lib/model/torch/trainer.h"

namespace feedrate {
namespace {

constexpr double kSmoothing = 0.1;

// Torch's own loss with smoothed labels, of numbers and of mixed classes.
TEST(LabelSmoothingTest, IsThatOfTorch) {
  TrainBatch batch;
  batch.input = at::randn({6, 3, 8, 8});
  batch.target = at::arange(6, at::kLong).remainder(4);
  const at::Tensor logits = at::randn({6, 4});
  for (const char* kind : {"", "mixup", "cutmix"}) {
    MixingOptions options;
    options.kind = kind;
    options.classes = 4;
    const at::Tensor plain = MixBatch(options, 2, batch).target;
    options.label_smoothing = kSmoothing;
    const TrainBatch smoothed = MixBatch(options, 2, batch);
    const double expected =
        at::cross_entropy_loss(logits, plain, /*weight=*/{},
                               at::Reduction::Mean, /*ignore_index=*/-100,
                               kSmoothing)
            .item<double>();
    EXPECT_NEAR(
        EagerParts().CrossEntropy(logits, smoothed.target).item<double>(),
        expected, 1e-6)
        << kind;
    EXPECT_GT(smoothed.target.min().item<float>(), 0.02);
  }
}

TEST(StochasticDepthTest, BranchesAreKeptByTheirDepth) {
  DepthOptions options;
  options.rate = 0.4;
  const int64_t samples = 20000;
  const at::Tensor kept = KeptBranches(options, 7, 5, samples);
  ASSERT_EQ(kept.sizes(), at::IntArrayRef({10, samples}));
  EXPECT_TRUE(at::equal(kept.narrow(0, 0, 2), at::ones({2, samples})));
  for (int branch = 2; branch < 10; ++branch) {
    const double keep = 1 - 0.1 * (branch / 2);
    const at::Tensor row = kept.select(0, branch);
    const at::Tensor used = row.gt(0);
    EXPECT_NEAR(used.to(at::kDouble).mean().item<double>(), keep, 0.02);
    EXPECT_NEAR(row.max().item<double>(), 1 / keep, 1e-6);
    EXPECT_NEAR(row.mean().item<double>(), 1, 0.03);
    EXPECT_FALSE(at::equal(row, kept.select(0, branch - 1)));
  }
  EXPECT_TRUE(at::equal(KeptBranches(options, 7, 5, samples), kept));
  EXPECT_FALSE(at::equal(KeptBranches(options, 8, 5, samples), kept));
  options.seed = 1;
  EXPECT_FALSE(at::equal(KeptBranches(options, 7, 5, samples), kept));
}

TEST(StochasticDepthTest, RanksTakePartsOfTheLargeBatch) {
  DepthOptions options;
  options.rate = 0.5;
  const at::Tensor all = KeptBranches(options, 3, 4, 12);
  options.world_size = 3;
  std::vector<at::Tensor> parts;
  for (options.rank = 0; options.rank < 3; ++options.rank) {
    parts.push_back(KeptBranches(options, 3, 4, 4));
  }
  EXPECT_TRUE(at::equal(at::cat(parts, 1), all));
}

TEST(StochasticDepthTest, ABranchIsLeftOutOfItsSampleAlone) {
  const ModelSpec& spec = *ModelNamed("vit5_tiny");
  ModelOptions options;
  const std::unique_ptr<Model> model = MakeModel(spec, options);
  options.activation_checkpointing = true;
  const std::unique_ptr<Model> lean = MakeModel(spec, options);
  const at::Tensor images = at::randn({3, 3, 32, 32});
  const at::Tensor kept = at::ones({2 * spec.layers, 3});
  const at::Tensor plain = model->Forward(images);
  EXPECT_TRUE(at::allclose(model->Forward(images, kept), plain));
  // Without all branches, the class token meets no patch.
  kept.narrow(1, 0, 2).zero_();
  // A copy, because the backward pass needs it as it was.
  const at::Tensor logits = model->Forward(images, kept.clone());
  EXPECT_TRUE(at::equal(logits[0], logits[1]));
  EXPECT_FALSE(at::allclose(logits[0], plain[0]));
  EXPECT_TRUE(at::allclose(logits[2], plain[2]));
  // One branch of one sample is one term of the residual stream less.
  kept.fill_(1);
  kept[2 * spec.layers - 1][1] = 0;
  const at::Tensor last = model->Forward(images, kept);
  EXPECT_TRUE(at::allclose(last[0], plain[0]));
  EXPECT_FALSE(at::allclose(last[1], plain[1]));

  logits.square().sum().backward();
  kept.fill_(1);
  kept.narrow(1, 0, 2).zero_();
  lean->Forward(images, kept).square().sum().backward();
  for (size_t i = 0; i < model->parameters().size(); ++i) {
    EXPECT_TRUE(at::allclose(model->parameters()[i].value.grad(),
                             lean->parameters()[i].value.grad(), 1e-4, 1e-6))
        << model->parameters()[i].name;
  }
}

std::vector<at::Tensor> CopyOf(const NamedTensors& weights) {
  std::vector<at::Tensor> copies;
  for (const auto& entry : weights) copies.push_back(entry.second.clone());
  return copies;
}

TEST(AverageTest, IsTheSumOfAllWeights) {
  constexpr double kDecay = 0.75;
  const ModelSpec& spec = *ModelNamed("vit5_tiny");
  const auto device = MakeCpuDevice();
  const auto model = MakeModel(spec, ModelOptions());
  const auto optimizer = MakeOptimizer(model->parameters(), {});
  SyntheticOptions synthetic;
  synthetic.batch_size = synthetic.samples = 4;
  const auto batches = MakeSyntheticBatches(spec, synthetic);
  TrainerParts parts;
  parts.device = device.get();
  parts.model = model.get();
  parts.optimizer = optimizer.get();
  parts.batches = batches.get();
  TrainerOptions options;
  options.ema_decay = kDecay;
  Trainer trainer(parts, options);
  // As torch.optim.swa_utils.get_ema_multi_avg_fn does it in each step.
  std::vector<at::Tensor> expected = CopyOf(trainer.Weights(false));
  for (int step = 0; step < 3; ++step) {
    trainer.Step();
    const NamedTensors weights = trainer.Weights(false);
    for (size_t i = 0; i < weights.size(); ++i) {
      expected[i] = expected[i].mul(kDecay).add(weights[i].second, 1 - kDecay);
    }
  }
  const std::vector<at::Tensor> weights = CopyOf(trainer.Weights(false));
  const std::vector<at::Tensor> averages = CopyOf(trainer.Weights(true));
  for (size_t i = 0; i < averages.size(); ++i) {
    EXPECT_TRUE(at::allclose(averages[i], expected[i], 1e-5, 1e-7));
  }
  // Predictions are those of the averages for as long as these are swapped in.
  const at::Tensor images = at::randn({2, 3, 32, 32});
  const at::Tensor before = trainer.Predict(images);
  trainer.SwapAverages();
  EXPECT_FALSE(at::equal(trainer.Predict(images), before));
  EXPECT_TRUE(at::equal(trainer.Weights(false)[0].second, averages[0]));
  trainer.SwapAverages();
  EXPECT_TRUE(at::equal(trainer.Predict(images), before));
  for (size_t i = 0; i < weights.size(); ++i) {
    EXPECT_TRUE(at::equal(trainer.Weights(false)[i].second, weights[i]));
    EXPECT_TRUE(at::equal(trainer.Weights(true)[i].second, averages[i]));
  }
}

}  // namespace
}  // namespace feedrate
