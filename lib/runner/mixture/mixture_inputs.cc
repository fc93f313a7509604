#include "lib/runner/mixture/mixture_inputs.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/hash/sha256.h"
#include "lib/loader/mixture/mixture_folder.h"
#include "lib/machine/resources.h"
#include "lib/records/records.pb.h"
#include "lib/runner/cache_folder.h"
#include "lib/runner/mixture/mixture_settings.h"
#include "lib/worker/loader_message.h"

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
  // The parameters in words may be any; the numbers say what is made.
  const std::string identity =
      absl::StrCat(spec.datasets, " ", spec.episodes, " ", spec.frames, " ",
                   spec.scale, " ", spec.shards, " ", spec.seed);
  const std::string folder = JoinPath(
      CacheFolder(),
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
    for (const std::string& path : source.shards) {
      input->paths.push_back(path);
      bytes += SizeOf(path);
    }
  }
  input->dataset.set_id(job.dataset());
  input->dataset.set_files(static_cast<int64_t>(input->paths.size()));
  input->dataset.set_bytes(bytes);
  // Rows are warm.
  RETURN_IF_ERROR(ReadPages(input->paths));
  ASSIGN_OR_RETURN(input->list, WriteMixtureSources(input->sources));
  known = std::move(input);
  return known.get();
}

}  // namespace feedrate
