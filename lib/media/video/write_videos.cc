// Writes synthetic videos into a folder, for programs that read files.
//
//   bazel run //lib/media/video:write_videos -- --folder=$PWD/videos --n=50
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gflags/gflags.h"
#include "lib/base/exit_code.h"
#include "lib/base/status_macros.h"
#include "lib/base/tool_info.h"
#include "lib/base/tool_main.h"
#include "lib/media/video/synthetic_video.h"

DEFINE_string(folder, "", "FOLDER: where to write them; made if missing");
DEFINE_int64(n, 50, "N: how many");
DEFINE_uint64(seed, 1, "N: other seeds, other videos");
DEFINE_string(container, "avi", "NAME: avi (MPEG-4) or mp4 (H.264)");

namespace feedrate {
namespace {

ToolInfo Info() {
  ToolInfo info;
  info.name = "write_videos";
  info.summary = "write synthetic videos into a folder";
  info.usage = "--folder=FOLDER [flags]";
  info.description =
      "Writes files named synthetic_00000000.avi and so on: those of the data\n"
      "set synthetic:video,n=N,seed=S. Every frame carries its number.";
  info.examples = {"write_videos --folder=videos --n=50"};
  info.flag_files = {"lib/media/video/write_videos.cc"};
  return info;
}

absl::StatusOr<ExitCode> RunFromFlags(const std::vector<std::string>&) {
  if (FLAGS_folder.empty()) {
    return absl::InvalidArgumentError("--folder is missing");
  }
  SyntheticVideoSpec spec;
  spec.seed = FLAGS_seed;
  spec.container = FLAGS_container;
  if (spec.container != "avi" && spec.container != "mp4") {
    return absl::InvalidArgumentError("--container must be avi or mp4");
  }
  RETURN_IF_ERROR(WriteSyntheticVideos(spec, FLAGS_n, FLAGS_folder));
  return ExitCode::kDone;
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::ToolMain(argc, argv, feedrate::Info(),
                            feedrate::RunFromFlags);
}
