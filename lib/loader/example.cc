// Loads batches from a folder of images: crop 224, normalized, float32 NCHW.
//
//   bazel run //lib/loader:example -- FOLDER
#include <cstdio>

#include "lib/base/status_macros.h"
#include "lib/loader/loader.h"
#include "lib/loader/source/source.h"

namespace feedrate {

absl::Status PrintMeans(const char* folder) {
  ASSIGN_OR_RETURN(auto source, FolderSource(folder));
  LoaderOptions options;
  options.batch_size = 64;
  ASSIGN_OR_RETURN(auto loader, Loader::Create(std::move(source), options));
  ASSIGN_OR_RETURN(auto epoch, loader->StartEpoch(0));
  for (;;) {
    ASSIGN_OR_RETURN(const LoaderBatch* batch, epoch->Next());
    if (batch == nullptr) return absl::OkStatus();
    double sum = 0;
    const int64_t values = batch->size * batch->shape.values();
    for (int64_t i = 0; i < values; ++i) sum += batch->data[i];
    std::printf("%d samples, mean %.4f\n", batch->size, sum / values);
  }
}

}  // namespace feedrate

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  const absl::Status status = feedrate::PrintMeans(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 2;
}
