#include "lib/runner/mixture/mixture_inputs.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/files.h"
#include "lib/base/private_folder.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/hash/sha256.h"
#include "lib/loader/mixture/mixture_folder.h"
#include "lib/machine/resources.h"

namespace feedrate {
namespace {

int64_t SizeOf(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 ? info.st_size : 0;
}

std::string WeightsText(const Job& job) {
  const auto found = job.settings().find("weights");
  return found == job.settings().end() ? "" : found->second;
}

}  // namespace

MixtureInputs::MixtureInputs(std::string dataset, std::string on_error,
                             std::function<void(int64_t, int64_t)> progress)
    : dataset_(std::move(dataset)),
      on_error_(std::move(on_error)),
      progress_(std::move(progress)) {}

absl::StatusOr<std::vector<MixtureSource>> MixtureInputs::Sources(
    const Job& job) const {
  const std::string dataset = dataset_.empty() ? job.dataset() : dataset_;
  if (!IsSyntheticEpisodes(dataset)) {
    if (dataset_.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "job ", job.job_id(), " is for the data set \"", job.dataset(),
          "\"; say where it is with --dataset=DIR"));
    }
    if (absl::StartsWith(dataset, "synthetic:")) {
      return absl::InvalidArgumentError(
          absl::StrCat(dataset,
                       ": a mixture reads episodes; write for example "
                       "synthetic:episodes,datasets=29,seed=1"));
    }
    return ReadMixtureFolder(dataset);
  }
  ASSIGN_OR_RETURN(const SyntheticEpisodesSpec spec,
                   ParseSyntheticEpisodes(dataset));
  // The spelling of the parameters does not matter; the numbers decide.
  const std::string identity =
      absl::StrCat(spec.datasets, " ", spec.episodes, " ", spec.frames, " ",
                   spec.scale, " ", spec.shards, " ", spec.seed);
  ASSIGN_OR_RETURN(const std::string cache, CacheFolder());
  const std::string folder = JoinPath(
      cache,
      absl::StrCat("synthetic/episodes-", Sha256Hex(identity).substr(0, 12)));
  if (!IsFile(JoinPath(folder, kMixtureFileName))) {
    RETURN_IF_ERROR(WriteSyntheticEpisodes(spec, folder, progress_));
  }
  return ReadMixtureFolder(folder);
}

absl::Status ApplyWeights(const std::map<std::string, double>& weights,
                          const std::string& on_error, MixtureInput* input) {
  std::vector<std::string> names;
  for (const MixtureSource& source : input->sources) {
    names.push_back(source.name);
  }
  for (const auto& [name, weight] : weights) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("weights: there is no data set \"", name, "\"",
                       DidYouMean(name, names)));
    }
    input->sources[found - names.begin()].weight = weight;
  }
  std::vector<MixtureSource> kept;
  for (MixtureSource& source : input->sources) {
    if (source.weight > 0 && std::isfinite(source.weight)) {
      kept.push_back(std::move(source));
      continue;
    }
    const std::string problem =
        absl::StrCat("weight ", source.weight, " is not possible");
    if (on_error != "skip") {
      return absl::InvalidArgumentError(
          absl::StrCat("data set \"", source.name, "\": ", problem,
                       "; use one above 0, or --on_error=skip to go without "
                       "it"));
    }
    input->left_out.push_back(source.name);
    input->left_out_reasons.push_back(problem);
  }
  input->sources = std::move(kept);
  if (!input->sources.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "weights: no data set has one above 0; nothing can be drawn");
}

absl::StatusOr<const MixtureInput*> MixtureInputs::Get(const Job& job) {
  std::unique_ptr<MixtureInput>& known =
      known_[absl::StrCat(job.dataset(), "\n", WeightsText(job))];
  if (known != nullptr) return known.get();
  auto input = std::make_unique<MixtureInput>();
  ASSIGN_OR_RETURN(const MixtureSettingsOfJob settings,
                   ParseMixtureSettings(job));
  ASSIGN_OR_RETURN(input->sources, Sources(job));
  RETURN_IF_ERROR(ApplyWeights(settings.weights, on_error_, input.get()));
  int64_t bytes = 0;
  for (const MixtureSource& source : input->sources) {
    ASSIGN_OR_RETURN(const std::vector<std::string> files,
                     MixtureFiles(source));
    for (const std::string& path : files) {
      input->paths.push_back(path);
      bytes += SizeOf(path);
    }
  }
  input->dataset.set_id(job.dataset());
  input->dataset.set_files(static_cast<int64_t>(input->paths.size()));
  input->dataset.set_bytes(bytes);
  // Reads the files into the page cache.
  RETURN_IF_ERROR(ReadPages(input->paths));
  ASSIGN_OR_RETURN(input->list, WriteMixtureSources(input->sources));
  known = std::move(input);
  return known.get();
}

namespace {

absl::Status Wrong(const Job& job, absl::string_view name,
                   absl::string_view text, absl::string_view wanted) {
  return absl::InvalidArgumentError(
      absl::StrCat("job ", job.job_id(), ": setting ", name, ": \"", text,
                   "\" is not possible; use ", wanted));
}

absl::Status ReadNumber(const Job& job, absl::string_view name, int64_t least,
                        int64_t* value) {
  const auto found = job.settings().find(std::string(name));
  if (found == job.settings().end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("job ", job.job_id(), ": setting ", name,
                     " is missing; plan it again"));
  }
  if (absl::SimpleAtoi(found->second, value) && *value >= least &&
      *value <= std::numeric_limits<int32_t>::max()) {
    return absl::OkStatus();
  }
  return Wrong(job, name, found->second,
               absl::StrCat("a whole number from ", least, " on"));
}

absl::Status ReadWeights(const Job& job, std::map<std::string, double>* out) {
  const auto found = job.settings().find("weights");
  if (found == job.settings().end()) return absl::OkStatus();
  for (const absl::string_view entry : absl::StrSplit(found->second, ',')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(entry, absl::MaxSplits('=', 1));
    double weight = 0;
    if (parts.first.empty() || !absl::SimpleAtod(parts.second, &weight)) {
      return Wrong(job, "weights", entry, "NAME=WEIGHT,NAME=WEIGHT");
    }
    (*out)[std::string(parts.first)] = weight;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MixtureSettingsOfJob> ParseMixtureSettings(const Job& job) {
  MixtureSettingsOfJob settings;
  MixtureSpec& spec = settings.spec;
  spec.batch_size = job.batch_size();
  int64_t number = 0;
  for (const MixtureNumber& named : MixtureNumbers()) {
    // Jobs name it only where it is not 1.
    if (named.field == &MixtureSpec::action_chunk &&
        job.settings().count(named.name) == 0) {
      continue;
    }
    RETURN_IF_ERROR(ReadNumber(job, named.name, 0, &number));
    spec.*named.field = static_cast<int>(number);
  }
  RETURN_IF_ERROR(ReadNumber(job, "frame_size", 0, &number));
  spec.frame_height = spec.frame_width = static_cast<int>(number);
  RETURN_IF_ERROR(ReadNumber(job, "steps", 1, &settings.steps));
  RETURN_IF_ERROR(ReadNumber(job, "warmup", 0, &settings.warmup));
  const auto metadata = job.settings().find("metadata");
  if (metadata != job.settings().end()) spec.metadata = metadata->second;
  RETURN_IF_ERROR(ReadWeights(job, &settings.weights));
  const absl::Status checked = CheckMixtureSpec(spec);
  if (checked.ok()) return settings;
  // Jobs have one size for both dimensions.
  return absl::InvalidArgumentError(
      absl::StrCat("job ", job.job_id(), ": ",
                   absl::StrReplaceAll(checked.message(),
                                       {{"frame_height", "frame_size"}})));
}

}  // namespace feedrate
