#include "lib/stats/change_points.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "lib/stats/slow_split.h"
#include "simdjson.h"

namespace feedrate {
namespace {

std::vector<double> Noise(int n, double sd, int seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, sd);
  std::vector<double> values;
  for (int i = 0; i < n; ++i) values.push_back(normal(random));
  return values;
}

void Add(double shift, size_t from, size_t to, std::vector<double>* values) {
  for (size_t i = from; i < to; ++i) (*values)[i] += shift;
}

TEST(ChangePointsTest, FindsAStepWhereItIs) {
  std::vector<double> values = Noise(60, 0.005, 1);
  Add(std::log(1.05), 25, 60, &values);
  const std::vector<Step> steps = FindSteps(values);
  ASSERT_EQ(steps.size(), 1);
  EXPECT_EQ(steps[0].index, 25);
  EXPECT_EQ(steps[0].before, 24);
  EXPECT_NEAR(steps[0].shift, std::log(1.05), 0.005);
  EXPECT_LT(steps[0].p_value, 1e-6);
  EXPECT_EQ(steps[0].gone_at, 0);
}

TEST(ChangePointsTest, SaysWhenItWentAway) {
  std::vector<double> values = Noise(80, 0.005, 2);
  Add(std::log(1.08), 30, 45, &values);
  const std::vector<Step> steps = FindSteps(values);
  ASSERT_EQ(steps.size(), 2);
  EXPECT_EQ(steps[0].index, 30);
  EXPECT_EQ(steps[0].gone_at, 45);
  EXPECT_LT(steps[1].shift, 0);
  EXPECT_EQ(steps[1].gone_at, 0);
}

TEST(ChangePointsTest, PassesOverSpikesAndTooShortHistories) {
  for (int seed = 0; seed < 100; ++seed) {
    std::vector<double> values = Noise(50, 0.01, seed);
    values[10] += 0.5;
    values[11 + seed % 20] -= 0.4;
    values[49] += 0.5;
    EXPECT_TRUE(FindSteps(values).empty()) << seed;
  }
  EXPECT_TRUE(FindSteps({}).empty());
  EXPECT_TRUE(FindSteps({1}).empty());
  EXPECT_TRUE(FindSteps({0, 0, 0, 1, 1}).empty());
}

TEST(ChangePointsTest, ExactStepsWithoutAnyNoise) {
  std::vector<double> values(20, 0.0);
  Add(0.05, 10, 20, &values);
  const std::vector<Step> steps = FindSteps(values);
  ASSERT_EQ(steps.size(), 1);
  EXPECT_EQ(steps[0].index, 10);
  EXPECT_TRUE(FindSteps(std::vector<double>(20, 1.5)).empty());
  // Means of these are exact, so that the variance is 0.
  for (double& value : values) value = value > 0 ? 0.5 : 0;
  ASSERT_EQ(FindSteps(values).size(), 1);
  EXPECT_EQ(FindSteps(values)[0].p_value, 0);
}

TEST(ChangePointsTest, IgnoresWhatIsNotOfInterest) {
  std::vector<double> values = Noise(100, 0.001, 3);
  Add(0.01, 50, 100, &values);
  EXPECT_TRUE(FindSteps(values).empty());
  ChangePointOptions options;
  options.min_shift = 0.005;
  EXPECT_EQ(FindSteps(values, options).size(), 1);
}

// Two outliers at an end once pulled the step to themselves, where it was
// dropped.
TEST(ChangePointsTest, OutliersAtAnEndEraseNothing) {
  for (int seed = 0; seed < 50; ++seed) {
    for (const int outliers : {1, 2}) {
      for (const double far : {std::log(16), -std::log(16)}) {
        for (const bool at_end : {true, false}) {
          const int n = 120 + outliers;
          std::vector<double> values = Noise(n, 0.01, seed);
          const int step = at_end ? 60 : 60 + outliers;
          Add(std::log(1.6), step, n, &values);
          const int from = at_end ? n - outliers : 0;
          Add(far, from, from + outliers, &values);
          const std::vector<Step> steps = FindSteps(values);
          ASSERT_EQ(steps.size(), 1) << seed << " " << outliers << " " << far;
          EXPECT_EQ(steps[0].index, step);
          EXPECT_NEAR(std::expm1(steps[0].shift), 0.6, 0.01);
          EXPECT_EQ(steps[0].gone_at, 0);
        }
      }
    }
  }
}

// Every other commit of a stretch is far off, around a lasting step.
TEST(ChangePointsTest, ABurstOfOutliersHidesNoStep) {
  for (int seed = 0; seed < 50; ++seed) {
    std::vector<double> values = Noise(120, 0.01, seed);
    Add(std::log(1.21), 60, 120, &values);
    const int from = 30 + seed;
    for (int i = from; i < from + 12; i += 2) values[i] += 2;
    const std::vector<Step> steps = FindSteps(values);
    ASSERT_EQ(steps.size(), 1) << seed;
    EXPECT_NEAR(static_cast<double>(steps[0].index), 60, 1) << seed;
    EXPECT_NEAR(std::expm1(steps[0].shift), 0.21, 0.01);
  }
}

// A long burst ends at a higher level than before it: the burst went away, and
// the rest is there to stay.
TEST(ChangePointsTest, WhatABurstLeavesBehindIsAStep) {
  for (int seed = 0; seed < 50; ++seed) {
    std::vector<double> values = Noise(110, 0.01, seed);
    Add(std::log(5), 50, 60, &values);
    Add(std::log(1.21), 60, 110, &values);
    const std::vector<Step> steps = FindSteps(values);
    ASSERT_EQ(steps.size(), 3) << seed;
    EXPECT_EQ(steps[0].index, 50);
    EXPECT_EQ(steps[0].gone_at, 60);
    EXPECT_LT(steps[1].shift, 0);
    EXPECT_EQ(steps[2].index, 60);
    EXPECT_EQ(steps[2].before, 49);
    EXPECT_NEAR(std::expm1(steps[2].shift), 0.21, 0.01);
    EXPECT_EQ(steps[2].gone_at, 0);
    // And it may go away, too.
    Add(-std::log(1.21), 90, 110, &values);
    const std::vector<Step> later = FindSteps(values);
    ASSERT_EQ(later.size(), 4) << seed;
    EXPECT_EQ(later[2].gone_at, 90);
  }
}

// Machines with two speeds: each commit draws one, or stays for some commits.
TEST(ChangePointsTest, TwoLevelsOfNoiseAreNoSteps) {
  for (const double change : {0.5, 0.3, 0.1}) {
    int found = 0;
    for (int seed = 0; seed < 100; ++seed) {
      std::vector<double> values = Noise(150, 0.005, seed);
      std::mt19937 random(seed);
      bool is_high = false;
      for (double& value : values) {
        if (random() % 1000 < change * 1000) is_high = !is_high;
        value += is_high ? 0.15 : 0;
      }
      found += !FindSteps(values).empty();
    }
    EXPECT_LE(found, change < 0.2 ? 25 : 10) << change;
  }
}

// A lasting step behind such noise is found.
TEST(ChangePointsTest, AStepAfterFlipsIsFound) {
  for (int seed = 0; seed < 20; ++seed) {
    std::vector<double> values = Noise(140, 0.005, seed);
    for (int i = 40; i < 80; i += 8) Add(0.15, i, i + 4, &values);
    Add(0.15, 80, 140, &values);
    const std::vector<Step> steps = FindSteps(values);
    ASSERT_EQ(steps.size(), 1) << seed;
    EXPECT_EQ(steps[0].gone_at, 0);
    EXPECT_GT(steps[0].shift, 0.05);
  }
}

// A change that comes back after it was reverted is not noise.
TEST(ChangePointsTest, ARevertAndAReturnAreSteps) {
  std::vector<double> values = Noise(120, 0.01, 5);
  Add(0.2, 40, 60, &values);
  Add(0.2, 80, 120, &values);
  const std::vector<Step> steps = FindSteps(values);
  ASSERT_EQ(steps.size(), 3);
  EXPECT_EQ(steps[2].index, 80);
  EXPECT_EQ(steps[2].gone_at, 0);
}

// Places and percentages of changes.
using Changes = std::vector<std::pair<double, double>>;

Changes ChangesOf(simdjson::dom::array json) {
  Changes changes;
  for (const simdjson::dom::element change : json) {
    changes.emplace_back(change.at(0).get_double().value(),
                         change.at(1).get_double().value());
  }
  return changes;
}

// Number of `found` that no step explains.
int CountWrong(const Changes& found, Changes steps) {
  int wrong = 0;
  for (const auto& [place, percent] : found) {
    const auto near = std::find_if(steps.begin(), steps.end(),
                                   [p = place, q = percent](const auto& step) {
                                     return std::abs(step.first - p) <= 2 &&
                                            std::abs(step.second - q) <= 3;
                                   });
    if (near == steps.end()) {
      ++wrong;
    } else {
      steps.erase(near);
    }
  }
  return wrong;
}

// Every step is found, and no series gets more false reports than from Apache
// Otava.
TEST(ChangePointsTest, IsNeverWorseThanOtava) {
  simdjson::dom::parser parser;
  simdjson::dom::document_stream lines;
  ASSERT_EQ(parser.load_many("testdata/history/series.jsonl").get(lines),
            simdjson::SUCCESS);
  int series = 0;
  for (const simdjson::dom::element line : lines) {
    const std::string name(line["name"].get_string().value());
    std::vector<double> values;
    for (const simdjson::dom::element v : line["values"].get_array()) {
      values.push_back(v.get_double().value());
    }
    const Changes steps = ChangesOf(line["steps"].get_array());
    const Changes otava = ChangesOf(line["otava"].get_array());
    Changes ours;
    for (const Step& step : FindSteps(values)) {
      if (step.before + 1 < step.index) continue;
      ours.emplace_back(step.index, 100 * std::expm1(step.shift));
    }
    EXPECT_EQ(CountWrong(steps, ours), 0) << name << ": a step is missing";
    if (name.compare(0, 5, "drift") == 0) {
      EXPECT_LE(ours.size(), otava.size() + 1) << name;
    } else {
      EXPECT_LE(CountWrong(ours, steps), CountWrong(otava, steps)) << name;
    }
    ++series;
  }
  EXPECT_EQ(series, 48);
}

TEST(SplitByLevelTest, IsAsCheapAsTheSlowSearch) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (int repeat = 0; repeat < 3000; ++repeat) {
    LevelCost cost;
    cost.noise = 0.5 + random() % 3;
    cost.max_distance = 1 + random() % 5;
    cost.step = random() % 12;
    cost.min_length = 1 + random() % 4;
    std::vector<double> values;
    const size_t n = random() % 25;
    double level = 0;
    for (size_t i = 0; i < n; ++i) {
      if (random() % 6 == 0) level += 4 * normal(random);
      const bool is_far = random() % 8 == 0;
      values.push_back(level + (is_far ? 20 : 1) * normal(random));
    }
    const std::vector<size_t> places = SplitByLevel(values, cost);
    const double slow = SlowSplitCost(values, cost);
    EXPECT_NEAR(SplitCost(values, places, cost), slow, 1e-9 * (1 + slow))
        << repeat;
  }
}

TEST(SplitByLevelTest, LongHistoriesAreQuick) {
  std::vector<double> values = Noise(20000, 0.01, 9);
  Add(0.1, 7000, 20000, &values);
  const std::vector<Step> steps = FindSteps(values);
  ASSERT_EQ(steps.size(), 1);
  EXPECT_EQ(steps[0].index, 7000);
}

}  // namespace
}  // namespace feedrate
