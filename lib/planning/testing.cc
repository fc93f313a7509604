#include "lib/planning/testing.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/catalogue/published_numbers.h"
#include "lib/config/text_proto.h"
#include "lib/planning/resolve.h"

namespace feedrate {
namespace {

constexpr char kConfigs[] = "configs";

const PublishedNumbers& CheckedInNumbers() {
  static const auto& numbers =
      *new absl::StatusOr<PublishedNumbers>(PublishedNumbers::Load(kConfigs));
  CHECK(numbers.ok()) << numbers.status();
  return *numbers;
}

}  // namespace

const Catalogue& CheckedInCatalogue() {
  static const auto& catalogue =
      *new absl::StatusOr<Catalogue>(Catalogue::Load(kConfigs));
  CHECK(catalogue.ok()) << catalogue.status();
  return *catalogue;
}

const CostModel& CheckedInCost() {
  static const auto& cost =
      *new CostModel(CheckedInCatalogue().policy(), CheckedInNumbers());
  return cost;
}

std::vector<std::string> CheckedInConfigs() {
  std::vector<std::string> paths;
  const auto files = ListFiles(kConfigs, ".textproto", /*recursive=*/true);
  CHECK(files.ok()) << files.status();
  for (const std::string& file : *files) {
    // Only a run's config selects something.
    const absl::StatusOr<std::string> text = ReadFile(file);
    CHECK(text.ok()) << text.status();
    if (absl::StrContains(*text, "\nselection {")) paths.push_back(file);
  }
  return paths;
}

std::string PaperConfig(const std::string& name) {
  return absl::StrCat(kConfigs, "/paper/", name, ".textproto");
}

LoadedConfig LoadText(const std::string& text) {
  LoadedConfig loaded;
  loaded.path = "f";
  loaded.places = Places("f");
  const absl::Status status =
      ParseTextProto(text, "f", &loaded.config, &loaded.places);
  EXPECT_TRUE(status.ok()) << status;
  return loaded;
}

absl::StatusOr<RunConfig> ResolveText(const std::string& text) {
  return Resolve(LoadText(text), CheckedInCatalogue());
}

int Planned::Count(const std::string& library) const {
  return static_cast<int>(
      std::count_if(jobs.begin(), jobs.end(),
                    [&](const Job& job) { return job.library() == library; }));
}

const Job* Planned::Find(const std::string& library,
                         const std::string& transform) const {
  for (const Job& job : jobs) {
    if (job.library() == library && job.transform() == transform) return &job;
  }
  return nullptr;
}

bool Planned::IsExcluded(const std::string& library,
                         const std::string& transform) const {
  return std::any_of(
      excluded.begin(), excluded.end(), [&](const ExcludedCell& cell) {
        return cell.library == library && cell.transform == transform;
      });
}

Planned PlanLoaded(const LoadedConfig& loaded, const ExistingRuns* existing) {
  Planned planned;
  absl::StatusOr<RunConfig> config = Resolve(loaded, CheckedInCatalogue());
  planned.status = config.status();
  if (!config.ok()) return planned;
  planned.config = *std::move(config);
  PlanOutput output;
  output.job = [&](const Job& job) {
    planned.jobs.push_back(job);
    return absl::OkStatus();
  };
  output.excluded = [&](const ExcludedCell& cell) {
    planned.excluded.push_back(cell);
  };
  output.done = [&](const Job& job) { planned.done.push_back(job); };
  planned.status = ForEachJob({planned.config, loaded.places,
                               CheckedInCatalogue(), CheckedInCost(), existing},
                              output);
  return planned;
}

Planned PlanText(const std::string& text, const ExistingRuns* existing) {
  return PlanLoaded(LoadText(text), existing);
}

Planned PlanFile(const std::string& path, const Overrides& overrides) {
  const absl::StatusOr<LoadedConfig> loaded = LoadConfig(path, overrides);
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  return loaded.ok() ? PlanLoaded(*loaded) : Planned();
}

}  // namespace feedrate
