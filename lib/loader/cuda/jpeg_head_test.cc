#include "lib/loader/cuda/jpeg_head.h"

#include <string>

#include "gtest/gtest.h"
#include "lib/media/synthetic.h"

namespace feedrate {
namespace {

TEST(JpegHeadTest, ReadsPhotographs) {
  const std::string file = SyntheticJpeg(1, 0);
  const auto head = ReadJpegHead(file);
  ASSERT_TRUE(head.has_value());
  const ImageInfo size = SyntheticSize(1, 0);
  EXPECT_EQ(head->height, size.height);
  EXPECT_EQ(head->width, size.width);
  EXPECT_EQ(head->components, 3);
  EXPECT_TRUE(head->baseline);
  EXPECT_TRUE(EngineDecodes(*head));
}

TEST(JpegHeadTest, EveryBeginningIsReadOrRefused) {
  const std::string file = SyntheticJpeg(1, 0);
  int refused = 0;
  for (size_t size = 0; size < 700; ++size) {
    refused += !ReadJpegHead(file.substr(0, size)).has_value();
  }
  EXPECT_GT(refused, 100);
  EXPECT_FALSE(ReadJpegHead("\x89PNG\r\n\x1a\n and more").has_value());
}

// Length, 8 bits, 16 x 32, three components with these samplings.
std::string Frame(char marker, char first, char second) {
  std::string file = "\xFF\xD8\xFF\xE0";
  file += std::string("\0\4ab", 4);
  // Fill bytes.
  file += "\xFF\xFF";
  file += "\xFF";
  file += marker;
  file += std::string("\0\x11\x08\0\x10\0\x20\3", 8);
  file += std::string({1, first, 0, 2, second, 1, 3, second, 1});
  return file;
}

TEST(JpegHeadTest, WhatEnginesDoNotDecode) {
  auto head = ReadJpegHead(Frame('\xC0', 0x22, 0x11));
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->height, 16);
  EXPECT_EQ(head->width, 32);
  EXPECT_TRUE(EngineDecodes(*head));
  head = ReadJpegHead(Frame('\xC2', 0x22, 0x11));
  ASSERT_TRUE(head.has_value());
  EXPECT_FALSE(EngineDecodes(*head)) << "progressive";
  head = ReadJpegHead(Frame('\xC0', 0x41, 0x11));
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->across, 4);
  EXPECT_FALSE(EngineDecodes(*head)) << "4:1:1";
  EXPECT_FALSE(ReadJpegHead(Frame('\xC0', 0x22, 0)).has_value());
  EXPECT_FALSE(ReadJpegHead(Frame('\xDA', 0x22, 0x11)).has_value());
}

}  // namespace
}  // namespace feedrate
