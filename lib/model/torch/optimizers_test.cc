#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "lib/model/torch/trainer.h"

namespace feedrate {
namespace {

// One value of 1 with a gradient of 0.5.
std::vector<Parameter> OneParameter(bool decays) {
  Parameter parameter;
  parameter.name = "x";
  parameter.value = at::full({1}, 1.0, at::kFloat).set_requires_grad(true);
  parameter.value.mutable_grad() = at::full({1}, 0.5, at::kFloat);
  parameter.decays = decays;
  return {parameter};
}

double Value(const std::vector<Parameter>& parameters) {
  return parameters[0].value.item<float>();
}

OptimizerOptions Options(const std::string& name) {
  OptimizerOptions options;
  options.name = name;
  options.learning_rate = 0.1;
  options.weight_decay = 0.2;
  return options;
}

TEST(OptimizerTest, FirstStepOfAdamWIsTheRateInTheGradientsDirection) {
  const std::vector<Parameter> x = OneParameter(false);
  MakeOptimizer(x, Options("adamw"))->Step();
  EXPECT_NEAR(Value(x), 1 - 0.1, 1e-6);
}

TEST(OptimizerTest, AdamWDecaysApart) {
  const std::vector<Parameter> x = OneParameter(true);
  MakeOptimizer(x, Options("adamw"))->Step();
  EXPECT_NEAR(Value(x), 1 * (1 - 0.1 * 0.2) - 0.1, 1e-6);
}

TEST(OptimizerTest, AdamWOverTenStepsByHand) {
  const std::vector<Parameter> x = OneParameter(false);
  const auto optimizer = MakeOptimizer(x, Options("adamw"));
  double value = 1, m = 0, v = 0;
  for (int t = 1; t <= 10; ++t) {
    x[0].value.mutable_grad().fill_(0.1 * t);
    optimizer->Step();
    const double g = 0.1 * t;
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    const double m_hat = m / (1 - std::pow(0.9, t));
    const double v_hat = v / (1 - std::pow(0.999, t));
    value -= 0.1 * m_hat / (std::sqrt(v_hat) + 1e-8);
  }
  EXPECT_NEAR(Value(x), value, 1e-5);
}

// Direction m / sqrt(v), scaled to the norm of the value.
TEST(OptimizerTest, LambStepsByTheLengthOfTheValue) {
  const std::vector<Parameter> x = OneParameter(false);
  MakeOptimizer(x, Options("lamb"))->Step();
  EXPECT_NEAR(Value(x), 1 - 0.1 * 1, 1e-5);
}

TEST(OptimizerTest, LambMovesWhatIsZero) {
  const std::vector<Parameter> x = OneParameter(false);
  {
    at::AutoGradMode no_grad(false);
    x[0].value.fill_(0);
  }
  MakeOptimizer(x, Options("lamb"))->Step();
  // Ratio 1; the direction is 0.1 g / sqrt(0.001 g²).
  EXPECT_NEAR(Value(x), -0.1 * 0.1 / std::sqrt(0.001), 1e-4);
}

TEST(OptimizerTest, StateIsItsOwn) {
  const std::vector<Parameter> x = OneParameter(false);
  const auto optimizer = MakeOptimizer(x, Options("adamw"));
  optimizer->Step();
  bool found = false;
  for (const auto& entry : optimizer->State()) {
    if (entry.first != "steps.x") continue;
    found = true;
    EXPECT_EQ(entry.second.item<float>(), 1);
  }
  EXPECT_TRUE(found);
}

TEST(OptimizerTest, NormIsOverAllAndZeroingStaysInPlace) {
  std::vector<Parameter> two = OneParameter(false);
  two.push_back(OneParameter(true)[0]);
  two[0].value.mutable_grad().fill_(3);
  two[1].value.mutable_grad().fill_(4);
  EXPECT_NEAR(GradientNorm(two).item<float>(), 5, 1e-6);
  const void* place = two[0].value.grad().const_data_ptr();
  ZeroGradients(two);
  EXPECT_EQ(GradientNorm(two).item<float>(), 0);
  EXPECT_EQ(two[0].value.grad().const_data_ptr(), place);
}

// As torch.nn.utils.clip_grad_norm_: min(1, clip / (norm + 1e-6)).
TEST(OptimizerTest, ClippingScalesAllGradientsAlike) {
  const auto clipped = [](double clip_norm) {
    std::vector<Parameter> two = OneParameter(false);
    two.push_back(OneParameter(true)[0]);
    two[0].value.mutable_grad().fill_(3);
    two[1].value.mutable_grad().fill_(4);
    OptimizerOptions options = Options("adamw");
    options.clip_norm = clip_norm;
    MakeOptimizer(two, options)->Clip(GradientNorm(two));
    return std::make_pair(two[0].value.grad().item<float>(),
                          two[1].value.grad().item<float>());
  };
  const double factor = 2 / (5 + 1e-6);
  EXPECT_NEAR(clipped(2).first, 3 * factor, 1e-6);
  EXPECT_NEAR(clipped(2).second, 4 * factor, 1e-6);
  EXPECT_EQ(clipped(6), std::make_pair(3.0f, 4.0f));
  EXPECT_EQ(clipped(0), std::make_pair(3.0f, 4.0f));
}

TEST(OptimizerTest, UnknownName) {
  EXPECT_THROW(MakeOptimizer(OneParameter(false), Options("sgd")), c10::Error);
}

}  // namespace
}  // namespace feedrate
