#include "lib/analysis/slow_marker.h"

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/load.h"

namespace feedrate {

std::string SlowMarkers::For(const std::string& scenario,
                             const std::string& unit) {
  if (!tried_) {
    tried_ = true;
    const absl::StatusOr<std::string> folder =
        FindConfigsFolder(configs_folder_, "");
    if (folder.ok()) {
      absl::StatusOr<Catalogue> loaded = Catalogue::Load(*folder);
      if (loaded.ok()) catalogue_.emplace(*std::move(loaded));
    }
  }
  if (!catalogue_.has_value()) return "slow";
  const Scenario* found = catalogue_->FindScenario(scenario);
  const MediaPolicy* media =
      catalogue_->FindMedia(found == nullptr ? unit : found->media());
  return media == nullptr ? "slow" : media->slow_marker();
}

}  // namespace feedrate
