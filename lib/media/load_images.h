// A data set of images, decoded once into shared memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/media/corpus.h"

namespace feedrate {

struct LoadRequest {
  // A folder, or `synthetic:KIND,n=N,seed=S` (see synthetic.h).
  std::string dataset;
  // Number of images to load: the first ones by sorted path that can be
  // decoded. 0 loads all.
  int64_t num_items = 0;
  // Extensions of files to consider, such as {".jpg", ".jpeg"}. Empty means
  // every file.
  std::vector<std::string> extensions;
  // 0 uses as many as there are usable processors.
  int threads = 0;
  // Called from time to time while images are decoded, by one thread at a time.
  // May be null.
  std::function<void(int64_t done, int64_t total)> progress;
  // Memory limit. 0 uses what the machine has available.
  int64_t memory_bytes = 0;
};

// A file that was tried and is not among the images.
struct SkippedFile {
  std::string name;  // Relative to the folder.
  std::string reason;
};

struct LoadedImages {
  // uint8, HWC, 3 channels, in the order of names.
  Corpus corpus;
  // Short name of the data set (see lib/base/text.h).
  std::string id;
  // Number and total size of the encoded files that are in the corpus.
  int64_t files = 0;
  int64_t bytes = 0;
  // Digest of the name, size and content of each of these files.
  std::string sha256;
  std::vector<SkippedFile> skipped;
};

// Loads images in parallel, each decoded straight into its place. Files that
// cannot be decoded are skipped until there are `num_items`. Where the data set
// has fewer, all of them are loaded and corpus.size() is smaller.
//
// NotFound: no such folder, or no image in it. ResourceExhausted: they do not
// fit into memory; the message names the largest num_items that does.
absl::StatusOr<LoadedImages> LoadImages(const LoadRequest& request);

}  // namespace feedrate
