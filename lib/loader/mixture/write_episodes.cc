// Writes synthetic robot episodes into a folder, for programs that read files.
//
//   bazel run //lib/loader/mixture:write_episodes -- --folder=$PWD/episodes
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gflags/gflags.h"
#include "lib/base/exit_code.h"
#include "lib/base/status_macros.h"
#include "lib/base/tool_info.h"
#include "lib/base/tool_main.h"
#include "lib/loader/mixture/synthetic_episodes.h"

DEFINE_string(folder, "", "FOLDER: where to write them; made if missing");
DEFINE_string(dataset, "synthetic:episodes",
              "NAME: which, such as synthetic:episodes,datasets=29,seed=1");

namespace feedrate {
namespace {

ToolInfo Info() {
  ToolInfo info;
  info.name = "write_episodes";
  info.summary = "write synthetic robot episodes into a folder";
  info.usage = "--folder=FOLDER [flags]";
  info.description =
      "Writes a folder of TFRecord shards for each data set and\n"
      "mixture.textproto with their weights: the same bytes on every machine.";
  info.examples = {"write_episodes --folder=episodes"};
  info.flag_files = {"lib/loader/mixture/write_episodes.cc"};
  return info;
}

absl::StatusOr<ExitCode> RunFromFlags(const std::vector<std::string>&) {
  if (FLAGS_folder.empty()) {
    return absl::InvalidArgumentError("--folder is missing");
  }
  ASSIGN_OR_RETURN(const SyntheticEpisodesSpec spec,
                   ParseSyntheticEpisodes(FLAGS_dataset));
  RETURN_IF_ERROR(WriteSyntheticEpisodes(spec, FLAGS_folder, nullptr));
  return ExitCode::kDone;
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::ToolMain(argc, argv, feedrate::Info(),
                            feedrate::RunFromFlags);
}
