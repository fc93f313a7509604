// Small files for loader tests.
#pragma once

#include <string>
#include <vector>

#include "lib/media/image.h"

namespace feedrate {

// An image with gradients and edges, different for each `number`.
Image TestImage(int height, int width, int number, int channels = 3);

// The same image as a JPEG file, and an image as a numpy array.
std::string TestJpeg(int height, int width, int number);
std::string TestNpy(const Image& image);

// Makes a new, empty folder below the test's own.
std::string NewTestFolder();
// Writes a file and returns its path.
std::string WriteTestFile(const std::string& folder, const std::string& name,
                          const std::string& content);

// A folder with `count` JPEG files of different sizes around 40 x 48, named
// 000.jpg and so on. The files numbered in `broken` are truncated.
std::string TestFolder(int count, const std::vector<int>& broken = {});

}  // namespace feedrate
