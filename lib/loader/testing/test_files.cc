#include "lib/loader/testing/test_files.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/media/image_file.h"

namespace feedrate {

Image TestImage(int height, int width, int number, int channels) {
  Image image(height, width, channels);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const bool inside = (x + number) % 16 < 8;
        image.row(y)[x * channels + c] = static_cast<uint8_t>(
            3 * x + 2 * y + 40 * c + 11 * number + (inside ? 60 : 0));
      }
    }
  }
  return image;
}

std::string TestJpeg(int height, int width, int number) {
  return EncodeJpeg(TestImage(height, width, number).view(), JpegOptions())
      .value();
}

std::string TestNpy(const Image& image) { return PrintNpy(image.view()); }

namespace {

// Removes the folders at exit. Bazel cleans up after tests but not after
// benchmarks, whose folders are large. Forked children do not remove them.
class OwnFolders {
 public:
  ~OwnFolders() {
    if (getpid() != owner_) return;
    std::error_code ignored;
    for (const std::string& folder : folders_) {
      std::filesystem::remove_all(folder, ignored);
    }
  }
  void Add(const std::string& folder) { folders_.push_back(folder); }

 private:
  const pid_t owner_ = getpid();
  std::vector<std::string> folders_;
};

}  // namespace

std::string NewTestFolder() {
  static OwnFolders own;
  const char* const root = getenv("TEST_TMPDIR");
  std::string folder =
      absl::StrCat(root == nullptr ? "/tmp" : root, "/loader_XXXXXX");
  folder = mkdtemp(folder.data());
  if (root == nullptr) own.Add(folder);
  return folder;
}

std::string WriteTestFile(const std::string& folder, const std::string& name,
                          const std::string& content) {
  const std::string path = absl::StrCat(folder, "/", name);
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::string TestFolder(int count, const std::vector<int>& broken) {
  const std::string folder = NewTestFolder();
  for (int i = 0; i < count; ++i) {
    std::string file = TestJpeg(40 + i % 5, 48 - i % 7, i);
    if (std::find(broken.begin(), broken.end(), i) != broken.end()) {
      file.resize(file.size() / 2);
    }
    WriteTestFile(folder, absl::StrFormat("%03d.jpg", i), file);
  }
  return folder;
}

}  // namespace feedrate
