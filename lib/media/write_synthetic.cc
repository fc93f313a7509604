// Writes synthetic photographs into a folder, for programs that read files.
//
//   bazel run //lib/media:write_synthetic -- --folder=$PWD/images --n=2000
#include <cstdint>
#include <iostream>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "gflags/gflags.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/tool/writer_main.h"
#include "lib/media/parallel.h"
#include "lib/media/synthetic.h"

DEFINE_int64(n, 100, "N: number of images");
DEFINE_uint64(seed, 1, "N: seed for the images");
DEFINE_int32(threads, 0,
             "N: number of threads; 0 means one per usable processor");

namespace feedrate {
namespace {

WriterInfo Info() {
  WriterInfo info;
  info.name = "write_synthetic";
  info.what = "synthetic photographs";
  info.description =
      "Writes the images of the data set synthetic:rgb,n=N,seed=S to JPEG\n"
      "files named synthetic_00000000.jpg and so on. The bytes are the same\n"
      "on every machine.";
  info.example_folder = "images";
  info.example_flags = "--n=2000";
  info.flag_file = "lib/media/write_synthetic.cc";
  return info;
}

absl::Status Write(const std::string& folder) {
  RETURN_IF_ERROR(MakeFolder(folder));
  std::mutex mutex;
  absl::Status first_failure;
  int64_t bytes = 0;
  ParallelFor(FLAGS_n, FLAGS_threads, [&](int64_t i) {
    const std::string jpeg = SyntheticJpeg(FLAGS_seed, i);
    const absl::Status written =
        WriteFileAtomically(JoinPath(folder, SyntheticName(i)), jpeg);
    const std::lock_guard<std::mutex> lock(mutex);
    first_failure.Update(written);
    bytes += static_cast<int64_t>(jpeg.size());
  });
  RETURN_IF_ERROR(first_failure);
  std::cerr << "write_synthetic: " << FLAGS_n << " files, " << bytes
            << " bytes in " << folder << "\n";
  return absl::OkStatus();
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::WriterMain(argc, argv, feedrate::Info(), feedrate::Write);
}
