// Writes synthetic robot episodes to a folder, for programs that read files.
//
//   bazel run //lib/loader/mixture:write_episodes -- --folder=$PWD/episodes
#include <string>

#include "absl/status/status.h"
#include "gflags/gflags.h"
#include "lib/base/status_macros.h"
#include "lib/base/tool/writer_main.h"
#include "lib/loader/mixture/mixture_folder.h"

DEFINE_string(
    dataset, "synthetic:episodes",
    "NAME: data set to write, such as synthetic:episodes,datasets=29,seed=1");

namespace feedrate {
namespace {

WriterInfo Info() {
  WriterInfo info;
  info.name = "write_episodes";
  info.what = "synthetic robot episodes";
  info.description =
      "Writes a folder of TFRecord shards per data set, and mixture.textproto\n"
      "with their weights. The bytes are the same on every machine.";
  info.example_folder = "episodes";
  info.flag_file = "lib/loader/mixture/write_episodes.cc";
  return info;
}

absl::Status Write(const std::string& folder) {
  ASSIGN_OR_RETURN(const SyntheticEpisodesSpec spec,
                   ParseSyntheticEpisodes(FLAGS_dataset));
  return WriteSyntheticEpisodes(spec, folder, nullptr);
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::WriterMain(argc, argv, feedrate::Info(), feedrate::Write);
}
