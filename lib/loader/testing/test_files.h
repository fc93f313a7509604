// Small files for tests of the loader.
#ifndef FEEDRATE_LIB_LOADER_TESTING_TEST_FILES_H_
#define FEEDRATE_LIB_LOADER_TESTING_TEST_FILES_H_

#include <string>
#include <vector>

#include "lib/media/image.h"

namespace feedrate {

// An image with slopes and edges, another for each `number`.
Image TestImage(int height, int width, int number, int channels = 3);

// The same as a JPEG file, and as an array of numpy.
std::string TestJpeg(int height, int width, int number);
std::string TestNpy(const Image& image);

// A folder below the test's own, empty and new.
std::string NewTestFolder();
// Writes a file; its path.
std::string WriteTestFile(const std::string& folder, const std::string& name,
                          const std::string& content);

// A folder with `count` JPEG files of different sizes around 40 x 48, named
// 000.jpg and so on. Those in `broken` are cut off in the middle.
std::string TestFolder(int count, const std::vector<int>& broken = {});

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_TESTING_TEST_FILES_H_
