#include "lib/loader/resized_crop.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "lib/media/jpeg_region_options.h"

namespace feedrate {
namespace {

TEST(ResizedCropTest, ReadsWhatEntriesSay) {
  const auto crop = ResizedCropOf(
      {"size=(224,224)", "scale=(0.25,0.5)", "ratio=(0.5,2)", "p=1"});
  ASSERT_TRUE(crop.has_value());
  EXPECT_EQ(crop->least_area, 0.25);
  EXPECT_EQ(crop->most_area, 0.5);
  EXPECT_EQ(crop->least_ratio, 0.5);
  EXPECT_EQ(crop->most_ratio, 2);
  EXPECT_EQ(ResizedCropOf({"scale=(0.08,1.0)"})->most_ratio, 4.0 / 3);
  const auto dali =
      ResizedCropOf({"random_area=(0.25,0.5)", "random_aspect_ratio=(0.5,2)"});
  ASSERT_TRUE(dali.has_value());
  EXPECT_EQ(dali->least_area, 0.25);
  EXPECT_EQ(dali->most_ratio, 2);
  for (const std::vector<std::string>& params :
       {std::vector<std::string>{},
        {"size=(224,224)"},
        {"scale=0.5"},
        {"scale=(1.0,0.08)"},
        {"scale=(a,b)"},
        {"scale=(0,1)"},
        {"scale=(0.1,1)", "ratio=wide"}}) {
    EXPECT_FALSE(ResizedCropOf(params).has_value());
  }
}

TEST(ResizedCropTest, WindowsAreInsideAndOfTheWantedArea) {
  const ResizedCrop crop = {0.1, 0.3, 0.75, 4.0 / 3};
  std::mt19937_64 random(1);
  double areas = 0;
  for (int i = 0; i < 1000; ++i) {
    const JpegRegion region = DrawResizedCrop(crop, 300, 400, &random);
    EXPECT_GE(region.x, 0);
    EXPECT_GE(region.y, 0);
    EXPECT_LE(region.x + region.width, 400);
    EXPECT_LE(region.y + region.height, 300);
    const double area = region.width * region.height / (300.0 * 400);
    EXPECT_GT(area, 0.095);
    EXPECT_LT(area, 0.305);
    areas += area;
  }
  EXPECT_NEAR(areas / 1000, 0.2, 0.01);
}

TEST(ResizedCropTest, WhatDoesNotFitIsTheCentre) {
  std::mt19937_64 random(1);
  JpegRegion region = DrawResizedCrop({1, 1, 1, 1}, 30, 40, &random);
  EXPECT_EQ(region.x, 5);
  EXPECT_EQ(region.y, 0);
  EXPECT_EQ(region.width, 30);
  EXPECT_EQ(region.height, 30);
  region = DrawResizedCrop({1, 1, 1, 1}, 40, 30, &random);
  EXPECT_EQ(region.y, 5);
  EXPECT_EQ(region.width, 30);
  EXPECT_EQ(region.height, 30);
}

}  // namespace
}  // namespace feedrate
