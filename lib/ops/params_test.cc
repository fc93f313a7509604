#include "lib/ops/params.h"

#include <algorithm>
#include <array>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Message(const Params& params) {
  return std::string(params.Finish().message());
}

TEST(ParamsTest, ReadsEveryKindOfValue) {
  Params params({"n=-0.5", "i=3", "b=True", "t=L of Lab", "q=\"a=b\"",
                 "tuple=(1, 2.5,3)", "one=(7,)", "u=U(-20,20)", "fixed=1.2",
                 "k=uniform(0,3)", "c=uniform{3,5,7}", "w=INTER_LINEAR"});
  EXPECT_EQ(params.Number("n"), -0.5);
  EXPECT_EQ(params.Integer("i"), 3);
  EXPECT_TRUE(params.Boolean("b"));
  EXPECT_EQ(params.Text("t"), "L of Lab");
  EXPECT_EQ(params.Text("q"), "a=b");
  EXPECT_TRUE(params.IsTuple("tuple"));
  EXPECT_FALSE(params.IsTuple("n"));
  EXPECT_FALSE(params.IsTuple("missing"));
  EXPECT_THAT(params.Tuple("tuple", 3), ElementsAre(1, 2.5, 3));
  EXPECT_THAT(params.Tuple("one", 1), ElementsAre(7));
  const Range drawn = params.Draw("u");
  EXPECT_EQ(drawn.low, -20);
  EXPECT_EQ(drawn.high, 20);
  EXPECT_TRUE(params.Draw("fixed").fixed());
  EXPECT_EQ(params.DrawInteger("k").high, 3);
  EXPECT_THAT(params.Choices("c"), ElementsAre(3, 5, 7));
  EXPECT_EQ(params.Word("w", {{"INTER_NEAREST", 0}, {"INTER_LINEAR", 1}}), 1);
  EXPECT_TRUE(params.Finish().ok()) << params.Finish();
}

TEST(ParamsTest, NoneIsAbsenceAndCountsAsRead) {
  Params params({"fill=None", "scale=2"});
  EXPECT_FALSE(params.Has("fill"));
  EXPECT_EQ(params.NumberOr("scale", 1), 2);
  EXPECT_EQ(params.NumberOr("rotate", 0), 0);
  EXPECT_EQ(params.DrawOr("shear", 0).high, 0);
  EXPECT_TRUE(params.Finish().ok()) << params.Finish();
}

TEST(ParamsTest, WhatNobodyReadsIsAMistake) {
  Params params({"bits=4", "p=1"});
  EXPECT_EQ(params.Integer("bits"), 4);
  EXPECT_EQ(Message(params), "parameter p=1 is not known to this operation");
}

TEST(ParamsTest, KeepsTheFirstMistakeAndGoesOn) {
  Params params({"size=(512,x)", "bits=4.5"});
  EXPECT_THAT(params.Tuple("size", 2), ElementsAre(512, 0));
  EXPECT_EQ(params.Integer("bits"), 0);
  EXPECT_EQ(Message(params), "parameter size=(512,x): \"x\" is not a number");
}

TEST(ParamsTest, NamesTheParameterAndTheRemedy) {
  const auto message = [](const char* param, auto read) {
    Params params({param});
    read(&params);
    return Message(params);
  };
  EXPECT_EQ(message("a=1", [](Params* p) { p->Number("b"); }),
            "parameter b is missing");
  EXPECT_THAT(message("a=1.5", [](Params* p) { p->Integer("a"); }),
              HasSubstr("a=1.5: must be a whole number"));
  EXPECT_THAT(message("a=1e30", [](Params* p) { p->Integer("a"); }),
              HasSubstr("whole number"));
  EXPECT_THAT(message("a=inf", [](Params* p) { p->Number("a"); }),
              HasSubstr("not a number"));
  EXPECT_THAT(message("a=U(2,1)", [](Params* p) { p->Draw("a"); }),
              HasSubstr("U(low,high)"));
  EXPECT_THAT(
      message("a=uniform(0,1.5)", [](Params* p) { p->DrawInteger("a"); }),
      HasSubstr("uniform(low,high)"));
  EXPECT_THAT(message("a=yes", [](Params* p) { p->Boolean("a"); }),
              HasSubstr("must be one of False, True"));
  EXPECT_THAT(message("a=(1,2)", [](Params* p) { p->Tuple("a", 3); }),
              HasSubstr("must have 3 numbers"));
  EXPECT_THAT(message("a=7", [](Params* p) { p->Tuple("a"); }),
              HasSubstr("round brackets"));
  EXPECT_THAT(message("nonsense", [](Params*) {}),
              HasSubstr("nonsense is not of the form NAME=VALUE"));
}

TEST(ParamsTest, ANameTwiceIsAMistake) {
  EXPECT_THAT(Message(Params({"a=1", "a=2"})), HasSubstr("given twice"));
}

TEST(RandomTest, TheSeedDecides) {
  Random a(7), b(7), c(8);
  const uint64_t first = a.Next();
  EXPECT_EQ(first, b.Next());
  EXPECT_NE(first, c.Next());
  EXPECT_NE(first, a.Next());
}

TEST(RandomTest, StaysInItsRangeAndFillsIt) {
  Random random(5);
  double low = 10, high = -10, sum = 0;
  for (int i = 0; i < 100000; ++i) {
    const double value = random.Uniform({-2, 3});
    low = std::min(low, value);
    high = std::max(high, value);
    sum += value;
  }
  EXPECT_GE(low, -2);
  EXPECT_LT(high, 3);
  EXPECT_LT(low, -1.99);
  EXPECT_GT(high, 2.99);
  EXPECT_NEAR(sum / 100000, 0.5, 0.05);
}

TEST(RandomTest, WholeNumbersAreEachAsLikely) {
  Random random(2);
  std::array<int, 4> counts = {};
  for (int i = 0; i < 40000; ++i) ++counts[random.Integer({0, 3})];
  for (int count : counts) EXPECT_NEAR(count, 10000, 400);
}

TEST(RandomTest, NormalDrawsHaveTheirMoments) {
  Random random(3);
  double sum = 0, squares = 0;
  for (int i = 0; i < 100000; ++i) {
    const double value = random.Normal();
    ASSERT_TRUE(std::isfinite(value));
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / 100000, 0, 0.02);
  EXPECT_NEAR(squares / 100000, 1, 0.02);
}

TEST(RandomTest, ShufflesWithoutLoss) {
  Random random(4);
  std::vector<int> values = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  random.Shuffle(&values);
  EXPECT_FALSE(std::is_sorted(values.begin(), values.end()));
  EXPECT_THAT(values,
              ::testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
}

TEST(ResizedWindowTest, ReadsWhatEntriesSay) {
  const auto shape = WindowShapeOf(
      {"size=(224,224)", "scale=(0.25,0.5)", "ratio=(0.5,2)", "p=1"});
  ASSERT_TRUE(shape.has_value());
  EXPECT_EQ(shape->area.low, 0.25);
  EXPECT_EQ(shape->area.high, 0.5);
  EXPECT_EQ(shape->ratio.low, 0.5);
  EXPECT_EQ(shape->ratio.high, 2);
  EXPECT_EQ(WindowShapeOf({"scale=(0.08,1.0)"})->ratio.high, 4.0 / 3);
  const auto dali =
      WindowShapeOf({"random_area=(0.25,0.5)", "random_aspect_ratio=(0.5,2)"});
  ASSERT_TRUE(dali.has_value());
  EXPECT_EQ(dali->area.low, 0.25);
  EXPECT_EQ(dali->ratio.high, 2);
  for (const std::vector<std::string>& params :
       {std::vector<std::string>{},
        {"size=(224,224)"},
        {"scale=0.5"},
        {"scale=(1.0,0.08)"},
        {"scale=(a,b)"},
        {"scale=(0,1)"},
        {"scale=(0.1,1)", "ratio=wide"}}) {
    EXPECT_FALSE(WindowShapeOf(params).has_value());
  }
}

TEST(ResizedWindowTest, IsInsideAndOfTheWantedArea) {
  const WindowShape shape = {{0.1, 0.3}, {0.75, 4.0 / 3}, 10};
  Random random(1);
  double areas = 0;
  for (int i = 0; i < 1000; ++i) {
    const DrawnWindow window = DrawResizedWindow(shape, 300, 400, &random);
    EXPECT_GE(window.x, 0);
    EXPECT_GE(window.y, 0);
    EXPECT_LE(window.x + window.width, 400);
    EXPECT_LE(window.y + window.height, 300);
    const double area = window.width * window.height / (300.0 * 400);
    EXPECT_GT(area, 0.095);
    EXPECT_LT(area, 0.305);
    areas += area;
  }
  EXPECT_NEAR(areas / 1000, 0.2, 0.01);
}

TEST(ResizedWindowTest, WhatDoesNotFitIsTheMiddle) {
  const WindowShape square = {{1, 1}, {1, 1}, 10};
  Random random(1);
  DrawnWindow window = DrawResizedWindow(square, 30, 40, &random);
  EXPECT_EQ(window.x, 5);
  EXPECT_EQ(window.y, 0);
  EXPECT_EQ(window.width, 30);
  EXPECT_EQ(window.height, 30);
  window = DrawResizedWindow(square, 40, 30, &random);
  EXPECT_EQ(window.y, 5);
  EXPECT_EQ(window.width, 30);
  EXPECT_EQ(window.height, 30);
}

}  // namespace
}  // namespace feedrate
