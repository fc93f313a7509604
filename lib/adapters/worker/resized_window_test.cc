#include "lib/adapters/worker/resized_window.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/adapters/worker/random.h"

namespace feedrate {
namespace {

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
