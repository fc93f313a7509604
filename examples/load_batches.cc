// Batches of the images in a folder, by a program of your own: random crops of
// 224, half of them flipped, normalized, float32 NCHW. Prints each batch's
// mean.
//
//   bazel run //examples:load_batches -- FOLDER
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "lib/loader/loader.h"

// The value, or the end of the program with what is wrong.
template <typename T>
T ValueOf(absl::StatusOr<T> result) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
  std::exit(2);
}

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  feedrate::LoaderOptions options;
  options.batch_size = 4;
  options.shuffle = true;
  options.recipe.steps = {{{{"Flip", "cv::flip", {"flip_code=1"}, ""}}, 0.5}};
  const auto loader = ValueOf(feedrate::Loader::Create(
      ValueOf(feedrate::FolderSource(argv[1])), options));
  const auto epoch = ValueOf(loader->StartEpoch(/*epoch=*/0));
  while (const feedrate::LoaderBatch* batch = ValueOf(epoch->Next())) {
    const int64_t values = batch->size * batch->shape.values();
    double sum = 0;
    for (int64_t i = 0; i < values; ++i) sum += batch->data[i];
    std::printf("%d images, mean %.3f\n", batch->size, sum / values);
  }
  return 0;
}
