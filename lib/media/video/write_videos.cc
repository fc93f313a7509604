// Writes synthetic videos into a folder, for programs that read files.
//
//   bazel run //lib/media/video:write_videos -- --folder=$PWD/videos --n=50
#include <string>

#include "absl/status/status.h"
#include "gflags/gflags.h"
#include "lib/base/tool/writer_main.h"
#include "lib/media/video/synthetic_video.h"

DEFINE_int64(n, 50, "N: number of videos");
DEFINE_uint64(seed, 1, "N: seed for the videos");
DEFINE_string(container, "avi", "NAME: avi (MPEG-4) or mp4 (H.264)");

namespace feedrate {
namespace {

WriterInfo Info() {
  WriterInfo info;
  info.name = "write_videos";
  info.what = "synthetic videos";
  info.description =
      "Writes the videos of the data set synthetic:video,n=N,seed=S to files\n"
      "named synthetic_00000000.avi and so on. Every frame contains its\n"
      "number.";
  info.example_folder = "videos";
  info.example_flags = "--n=50";
  info.flag_file = "lib/media/video/write_videos.cc";
  return info;
}

absl::Status Write(const std::string& folder) {
  SyntheticVideoSpec spec;
  spec.seed = FLAGS_seed;
  spec.container = FLAGS_container;
  if (spec.container != "avi" && spec.container != "mp4") {
    return absl::InvalidArgumentError("--container must be avi or mp4");
  }
  return WriteSyntheticVideos(spec, FLAGS_n, folder);
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::WriterMain(argc, argv, feedrate::Info(), feedrate::Write);
}
