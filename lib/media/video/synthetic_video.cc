#include "lib/media/video/synthetic_video.h"

#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/media/parallel.h"
#include "lib/media/synthetic_random.h"

namespace feedrate {
namespace {

absl::Status Wrong(absl::string_view dataset, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      dataset, ": ", what,
      "; write for example synthetic:video,n=50,seed=1,container=mp4"));
}

// One NAME=VALUE of the form that DatasetId has checked.
absl::Status ReadParameter(absl::string_view dataset, absl::string_view text,
                           SyntheticVideoSpec* spec) {
  const std::vector<std::string> parts =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  if (parts[0] == "n") {
    if (absl::SimpleAtoi(parts[1], &spec->n) && spec->n >= 1) {
      return absl::OkStatus();
    }
    return Wrong(dataset, "n must be a whole number above 0");
  }
  if (parts[0] == "seed") {
    if (absl::SimpleAtoi(parts[1], &spec->seed)) return absl::OkStatus();
    return Wrong(dataset, "seed must be a whole number of 64 bits");
  }
  if (parts[0] == "container") {
    spec->container = parts[1];
    if (parts[1] == "avi" || parts[1] == "mp4") return absl::OkStatus();
    return Wrong(dataset, "container must be avi or mp4");
  }
  return Wrong(dataset,
               absl::StrCat("parameter \"", parts[0],
                            "\" is unknown; n, seed and container are not"));
}

uint64_t SeedOf(const SyntheticVideoSpec& spec, int64_t index) {
  SyntheticRandom seeds(spec.seed);
  return seeds.Next() ^ (static_cast<uint64_t>(index) * 0xd1342543de82ef95u);
}

}  // namespace

absl::StatusOr<SyntheticVideoSpec> ParseSyntheticVideo(
    absl::string_view dataset) {
  ASSIGN_OR_RETURN(const std::string id, DatasetId(dataset));
  const std::vector<absl::string_view> parts =
      absl::StrSplit(absl::StripPrefix(id, "synthetic:"), ',');
  if (parts[0] != "video") {
    return Wrong(dataset, absl::StrCat("there are no synthetic clips of kind ",
                                       "\"", parts[0], "\", only video"));
  }
  SyntheticVideoSpec spec;
  for (size_t i = 1; i < parts.size(); ++i) {
    RETURN_IF_ERROR(ReadParameter(dataset, parts[i], &spec));
  }
  return spec;
}

EncodeOptions SyntheticVideoOptions(const SyntheticVideoSpec& spec,
                                    int64_t index) {
  EncodeOptions options;
  options.container = spec.container;
  if (spec.container == "mp4") {
    options.codec = "libx264";
    options.key_interval = 50;
    options.b_frames = 3;
  }
  SyntheticRandom random(SeedOf(spec, index));
  options.frames = random.Between(150, 200);
  return options;
}

std::string SyntheticVideoName(const SyntheticVideoSpec& spec, int64_t index) {
  return absl::StrFormat("synthetic_%08d.%s", index, spec.container);
}

absl::Status WriteSyntheticVideos(const SyntheticVideoSpec& spec, int64_t count,
                                  const std::string& folder) {
  RETURN_IF_ERROR(MakeFolder(folder));
  std::mutex mutex;
  absl::Status first_failure;
  ParallelFor(count, 0, [&](int64_t i) {
    const std::string path = JoinPath(folder, SyntheticVideoName(spec, i));
    if (IsFile(path)) return;
    const absl::StatusOr<std::string> file =
        EncodeVideo(SyntheticVideoOptions(spec, i), SeedOf(spec, i));
    const absl::Status written =
        file.ok() ? WriteFileAtomically(path, *file) : file.status();
    const std::lock_guard<std::mutex> lock(mutex);
    first_failure.Update(written);
  });
  return first_failure;
}

}  // namespace feedrate
