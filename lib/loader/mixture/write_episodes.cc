// Writes synthetic robot episodes to a folder, for programs that read files.
//
//   bazel run //lib/loader/mixture:write_episodes -- --folder=$PWD/episodes
#include <string>

#include "absl/status/status.h"
#include "gflags/gflags.h"
#include "lib/base/status_macros.h"
#include "lib/base/writer_main.h"
#include "lib/loader/mixture/mixture_folder.h"

DEFINE_string(dataset, "synthetic:episodes",
              "NAME: which, such as synthetic:episodes,datasets=29,seed=1");

namespace feedrate {
namespace {

WriterInfo Info() {
  WriterInfo info;
  info.name = "write_episodes";
  info.what = "synthetic robot episodes";
  info.description =
      "Writes a folder of TFRecord shards for each data set and\n"
      "mixture.textproto with their weights: the same bytes on every machine.";
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
