#include "lib/model/torch/trainer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "lib/model/torch/profiler.h"

namespace feedrate {
namespace {

struct RunSetup {
  std::string model = "vit5_tiny";
  std::string optimizer = "adamw";
  double learning_rate = 3e-3;
  double clip_norm = 0;
  int64_t batch_size = 8;
  int64_t samples = 8;
  bool recompute = false;
  TrainerOptions options;
};

// A CPU with graphs: replaying calls the recorded work again.
class ReplayingDevice : public TrainDevice {
 public:
  at::Device device() const override { return at::kCPU; }
  void Synchronize() override {}
  void ResetPeaks() override {}
  MemoryPeaks Peaks() override { return {}; }
  std::unique_ptr<PhaseClock> MakeClock() override {
    return MakeWallPhaseClock();
  }
  std::unique_ptr<StepGraph> Record(
      const std::function<void(PhaseClock*)>& work) override {
    auto graph = std::make_unique<Graph>(work);
    graph->Replay();
    return graph;
  }
  void AllowTf32(bool) override {}

 private:
  class Graph : public StepGraph {
   public:
    explicit Graph(std::function<void(PhaseClock*)> work)
        : work_(std::move(work)), clock_(MakeWallPhaseClock()) {}
    void Replay() override { work_(clock_.get()); }
    StepTimes Phases() override { return clock_->Take().back(); }

   private:
    const std::function<void(PhaseClock*)> work_;
    const std::unique_ptr<PhaseClock> clock_;
  };
};

// A trainer with all its parts.
class Rig {
 public:
  explicit Rig(const RunSetup& setup)
      : device_(setup.options.graphs ? std::make_unique<ReplayingDevice>()
                                     : MakeCpuDevice()) {
    const ModelSpec& spec = *ModelNamed(setup.model);
    ModelOptions model_options;
    model_options.activation_checkpointing = setup.recompute;
    model_ = MakeModel(spec, model_options);
    OptimizerOptions optimizer_options;
    optimizer_options.name = setup.optimizer;
    optimizer_options.learning_rate = setup.learning_rate;
    optimizer_options.clip_norm = setup.clip_norm;
    optimizer_ = MakeOptimizer(model_->parameters(), optimizer_options);
    SyntheticOptions synthetic;
    synthetic.batch_size = setup.batch_size;
    synthetic.samples = setup.samples;
    batches_ = MakeSyntheticBatches(spec, synthetic);
    TrainerParts parts;
    parts.device = device_.get();
    parts.model = model_.get();
    parts.optimizer = optimizer_.get();
    parts.batches = batches_.get();
    trainer_ = std::make_unique<Trainer>(parts, setup.options);
  }

  std::vector<double> Losses(int steps) {
    for (int i = 0; i < steps; ++i) trainer_->Step();
    return trainer_->TakeLosses();
  }

  Trainer& trainer() { return *trainer_; }
  const Model& model() { return *model_; }

 private:
  std::unique_ptr<TrainDevice> device_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<BatchSource> batches_;
  std::unique_ptr<Trainer> trainer_;
};

// Everything that draws at random, or has a state of its own.
void AddRecipe(TrainerOptions* options) {
  options->mixing = {"both", 10, 3, 0.1};
  options->depth.rate = 0.3;
  options->ema_decay = 0.9;
}

class OverfitTest : public testing::TestWithParam<const char*> {};

TEST_P(OverfitTest, ATinySetOfImagesIsLearned) {
  RunSetup setup;
  setup.optimizer = GetParam();
  if (setup.optimizer == "lamb") setup.learning_rate = 0.02;
  const std::vector<double> losses = Rig(setup).Losses(60);
  EXPECT_NEAR(losses.front(), std::log(10), 0.7);
  EXPECT_LT(losses.back(), 0.1);
}

INSTANTIATE_TEST_SUITE_P(Optimizers, OverfitTest,
                         testing::Values("adamw", "lamb"));

TEST(TrainerTest, ATinyTextIsLearned) {
  RunSetup setup;
  setup.model = "byte_lm_tiny";
  setup.batch_size = setup.samples = 2;
  const std::vector<double> losses = Rig(setup).Losses(40);
  EXPECT_NEAR(losses.front(), std::log(256), 0.5);
  EXPECT_LT(losses.back(), 0.5 * losses.front());
}

TEST(TrainerTest, AccumulatedBatchesAreOneLargeBatch) {
  RunSetup large;
  large.batch_size = large.samples = 16;
  RunSetup parts = large;
  parts.batch_size = 4;
  parts.options.accumulation = 4;
  Rig a(large);
  Rig b(parts);
  const std::vector<double> expected = a.Losses(3);
  const std::vector<double> losses = b.Losses(3);
  for (size_t i = 0; i < losses.size(); ++i) {
    EXPECT_NEAR(losses[i], expected[i], 2e-3 * expected[i]) << i;
  }
}

// Warming up has no effect, inputs change from step to step, and a graph
// contains all batches of a step.
TEST(TrainerTest, GraphsLearnWhatEagerStepsDo) {
  for (const int accumulation : {1, 3}) {
    RunSetup eager;
    eager.samples = 24;
    eager.batch_size = 4;
    eager.options.accumulation = accumulation;
    AddRecipe(&eager.options);
    RunSetup graphs = eager;
    graphs.options.graphs = true;
    EXPECT_EQ(Rig(graphs).Losses(4), Rig(eager).Losses(4)) << accumulation;
  }
}

TEST(TrainerTest, AGraphKnowsThePhasesOfItsReplays) {
  RunSetup setup;
  Rig eager(setup);
  eager.Losses(1);
  EXPECT_EQ(eager.trainer().GraphPhases().step_s, 0);
  setup.options.graphs = true;
  Rig graphs(setup);
  graphs.Losses(1);
  const StepTimes phases = graphs.trainer().GraphPhases();
  double sum = 0;
  for (const Phase phase : {kForward, kLoss, kBackward, kOptimizer, kOther}) {
    EXPECT_GT(phases.phase_s[phase], 0) << PhaseName(phase);
    sum += phases.phase_s[phase];
  }
  EXPECT_NEAR(sum, phases.step_s, 1e-3 * phases.step_s);
  EXPECT_EQ(phases.phase_s[kUnattributed], 0);
}

TEST(TrainerTest, Bf16RunsItsProductsInBf16) {
  RunSetup setup;
  setup.options.precision = "bf16";
  Rig rig(setup);
  const OpCounter counter;
  const double loss = rig.Losses(1)[0];
  EXPECT_EQ(counter.Count().products_by_type.count("fp32"), 0);
  EXPECT_GT(counter.Count().products_by_type.at("bf16"), 50);
  EXPECT_NEAR(loss, Rig(RunSetup()).Losses(1)[0], 0.05);
}

RunSetup Fp16() {
  RunSetup setup;
  setup.options.precision = "fp16";
  setup.options.loss_scale = 1024;
  setup.options.growth_interval = 2;
  return setup;
}

TEST(TrainerTest, Fp16RunsItsProductsInFp16AndTheScaleGrows) {
  Rig rig(Fp16());
  const OpCounter counter;
  const std::vector<double> losses = rig.Losses(3);
  EXPECT_EQ(counter.Count().products_by_type.count("fp32"), 0);
  EXPECT_GT(counter.Count().products_by_type.at("fp16"), 50);
  const std::vector<double> plain = Rig(RunSetup()).Losses(3);
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(losses[i], plain[i], 0.02) << i;
  EXPECT_EQ(rig.trainer().loss_scale(), 2048);
  EXPECT_EQ(rig.trainer().TakeSkippedSteps(), 0);
}

// A gradient that is not finite changes nothing but the scale.
TEST(TrainerTest, AStepThatOverflowsIsSkipped) {
  for (const bool graphs : {false, true}) {
    RunSetup setup = Fp16();
    setup.options.graphs = graphs;
    setup.options.loss_scale = 1e38;
    Rig rig(setup);
    const Checkpoint before = rig.trainer().Save();
    rig.Losses(2);
    EXPECT_EQ(rig.trainer().TakeSkippedSteps(), 2);
    EXPECT_EQ(rig.trainer().TakeSkippedSteps(), 0);
    EXPECT_FLOAT_EQ(rig.trainer().loss_scale(), 1e38 / 4);
    const Checkpoint after = rig.trainer().Save();
    for (size_t i = 0; i < before.tensors.size(); ++i) {
      const auto& [name, value] = after.tensors[i];
      if (name == "loss_scale.scale") continue;
      EXPECT_TRUE(at::equal(value, before.tensors[i].second)) << name;
    }
  }
}

TEST(TrainerTest, LambDoesNotSkip) {
  RunSetup setup = Fp16();
  setup.optimizer = "lamb";
  EXPECT_THROW(Rig{setup}, c10::Error);
}

// Adam's first moments are then a tenth of the gradients.
TEST(TrainerTest, ClippedGradientsHaveTheNorm) {
  for (const char* precision : {"fp32", "fp16"}) {
    RunSetup setup = Fp16();
    setup.options.precision = precision;
    setup.clip_norm = 0.25;
    Rig rig(setup);
    rig.Losses(1);
    EXPECT_GT(rig.trainer().TakeGradientNorms()[0], 1);
    double squares = 0;
    for (const auto& [name, value] : rig.trainer().Save().tensors) {
      if (name.rfind("optimizer.first.", 0) != 0) continue;
      squares += value.square().sum().item<double>();
    }
    EXPECT_NEAR(10 * std::sqrt(squares), 0.25, 1e-4) << precision;
  }
}

TEST(TrainerTest, PredictionsHaveNoGradient) {
  Rig rig{RunSetup()};
  const at::Tensor images = at::zeros({2, 3, 32, 32});
  const at::Tensor logits = rig.trainer().Predict(images);
  EXPECT_FALSE(logits.requires_grad());
  EXPECT_TRUE(at::equal(logits, rig.model().Forward(images)));
}

TEST(TrainerTest, PartsAddUpToTheStep) {
  RunSetup setup;
  setup.options.mixing.kind = "both";
  setup.options.mixing.classes = 10;
  Rig rig(setup);
  rig.Losses(6);
  const std::vector<StepTimes> times = rig.trainer().TakeTimes();
  ASSERT_EQ(times.size(), 6);
  double steps = 0;
  double parts = 0;
  for (const StepTimes& time : times) {
    steps += time.step_s;
    for (const double part : time.phase_s) parts += part;
    EXPECT_GT(time.phase_s[kForward], 0);
    EXPECT_GT(time.phase_s[kBackward], 0);
    EXPECT_GT(time.phase_s[kMixing], 0);
    EXPECT_GT(time.phase_s[kOptimizer], 0);
  }
  EXPECT_NEAR(parts / steps, 1, 0.02);
}

TEST(TrainerTest, TheOptimizerCanStandOutside) {
  RunSetup setup;
  setup.options.optimizer_in_step = false;
  Rig rig(setup);
  const std::vector<double> losses = rig.Losses(20);
  EXPECT_LT(losses.back(), losses.front());
  EXPECT_EQ(rig.trainer().TakeTimes()[0].phase_s[kOptimizer], 0);
}

TEST(TrainerTest, RecomputingChangesNoLoss) {
  RunSetup lean;
  lean.recompute = true;
  Rig a{RunSetup()};
  Rig b(lean);
  const std::vector<double> expected = a.Losses(3);
  const std::vector<double> losses = b.Losses(3);
  for (size_t i = 0; i < losses.size(); ++i) {
    EXPECT_NEAR(losses[i], expected[i], 1e-3) << i;
  }
}

// Six steps at once, or three, a checkpoint, new objects and three more:
// identical results.
TEST(TrainerTest, ResumesToTheBit) {
  for (const char* name : {"adamw", "lamb", "fp16"}) {
    RunSetup setup = Fp16();
    if (name != setup.options.precision) {
      setup.options.precision = "fp32";
      setup.optimizer = name;
    }
    setup.samples = 24;
    AddRecipe(&setup.options);
    Rig through(setup);
    const std::vector<double> expected = through.Losses(4);
    const std::string path = testing::TempDir() + "/resume.ckpt";
    {
      Rig first(setup);
      first.Losses(2);
      SaveCheckpoint(path, first.trainer().Save());
    }
    Rig second(setup);
    second.trainer().Restore(LoadCheckpoint(path));
    EXPECT_EQ(second.trainer().step(), 2);
    const std::vector<double> losses = second.Losses(2);
    EXPECT_EQ(losses,
              std::vector<double>(expected.begin() + 2, expected.end()));
    for (const bool averaged : {false, true}) {
      const NamedTensors of_one = through.trainer().Weights(averaged);
      const NamedTensors of_two = second.trainer().Weights(averaged);
      for (size_t i = 0; i < of_one.size(); ++i) {
        EXPECT_TRUE(at::equal(of_one[i].second, of_two[i].second));
      }
    }
  }
}

TEST(TrainerTest, AnotherModelsCheckpointIsRefused) {
  RunSetup text;
  text.model = "byte_lm_tiny";
  Rig a(text);
  Rig b{RunSetup()};
  EXPECT_THROW(b.trainer().Restore(a.trainer().Save()), std::runtime_error);
}

TEST(TrainerTest, AStepThatIsNoneIsRefused) {
  Rig rig{RunSetup()};
  Checkpoint checkpoint = rig.trainer().Save();
  for (const char* step : {"", "x", "12x", "-1", " 1", "1e3",
                           "9007199254740993", "9223372036854775808"}) {
    checkpoint.meta["step"] = step;
    EXPECT_THROW(rig.trainer().Restore(checkpoint), std::runtime_error) << step;
    EXPECT_EQ(rig.trainer().step(), 0);
  }
}

TEST(MixingTest, MixesImagesAndClassesAlike) {
  TrainBatch batch;
  batch.input = at::zeros({2, 3, 8, 8});
  batch.input.select(0, 1).fill_(1);
  batch.target = at::arange(2, at::kLong);
  for (const char* kind : {"mixup", "cutmix"}) {
    MixingOptions options;
    options.kind = kind;
    options.classes = 4;
    const TrainBatch mixed = MixBatch(options, 3, batch);
    // The share of the other image shows in its mean and in its probability.
    const float share = mixed.input.select(0, 0).mean().item<float>();
    EXPECT_NEAR(mixed.target[0][1].item<float>(), share, 1e-5) << kind;
    EXPECT_NEAR(mixed.target.sum().item<float>(), 2, 1e-5);
    EXPECT_TRUE(at::equal(MixBatch(options, 3, batch).input, mixed.input));
  }
}

TEST(BatchesTest, RanksTakePartsOfTheLargeBatch) {
  const ModelSpec& spec = *ModelNamed("vit5_tiny");
  SyntheticOptions options;
  options.batch_size = 4;
  options.samples = 12;
  const auto whole = MakeSyntheticBatches(spec, options);
  options.batch_size = 2;
  options.world_size = 2;
  options.rank = 1;
  const auto part = MakeSyntheticBatches(spec, options);
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(
        at::equal(whole->Get(i).input.narrow(0, 2, 2), part->Get(i).input));
  }
}

}  // namespace
}  // namespace feedrate
