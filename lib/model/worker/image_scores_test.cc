#include "lib/model/worker/image_scores.h"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace feedrate {
namespace {

ImageScores Score(const std::vector<double>& logits, int64_t own) {
  ImageScores scores;
  AddScores(at::tensor(logits).unsqueeze(0), at::full({1}, own, at::kLong),
            &scores);
  return scores;
}

TEST(ImageScoresTest, CountsByHand) {
  ImageScores scores;
  // Ranks of the own classes: first, third, sixth.
  const at::Tensor logits = at::tensor({9., 5., 4., 3., 2., 1., 0.,  //
                                        9., 5., 4., 3., 2., 1., 0.,  //
                                        9., 5., 4., 3., 2., 1., 0.})
                                .view({3, 7});
  AddScores(logits, at::tensor({int64_t{0}, int64_t{2}, int64_t{5}}), &scores);
  EXPECT_EQ(scores.images, 3);
  EXPECT_EQ(scores.top1, 1);
  EXPECT_EQ(scores.top5, 2);
  double sum = 0;
  for (const double logit : {9., 5., 4., 3., 2., 1., 0.}) {
    sum += std::exp(logit);
  }
  EXPECT_NEAR(scores.loss_sum, 3 * std::log(sum) - (9 + 4 + 1), 1e-12);
}

TEST(ImageScoresTest, OfEqualClassesTheLowerNumberComesFirst) {
  const std::vector<double> equal(6, 1.0);
  EXPECT_EQ(Score(equal, 0).top1, 1);
  EXPECT_EQ(Score(equal, 1).top1, 0);
  EXPECT_EQ(Score(equal, 4).top5, 1);
  EXPECT_EQ(Score(equal, 5).top5, 0);
}

TEST(ImageScoresTest, WhatIsNoNumberIsNeverRight) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Score({nan, 0, 0, 0, 0, 0}, 0).top5, 0);
  EXPECT_EQ(Score({nan, 1, 0, 0, 0, 0}, 1).top1, 0);
}

}  // namespace
}  // namespace feedrate
