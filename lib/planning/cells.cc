#include "lib/planning/cells.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"
#include "lib/hash/sha256.h"

namespace feedrate {
namespace {

// Exceptions of the matrix are facts about this profile: in it an unsupported
// cell is a job even where nothing says how the library would be asked.
constexpr char kPaperProfile[] = "paper";

// Builds one table; its arguments as members, so that the steps stay short.
class Builder {
 public:
  Builder(const RunConfig& config, const Catalogue& catalogue,
          const FieldChecker& check, const std::string& device,
          const std::string& scope, const std::string& params_profile)
      : config_(config),
        catalogue_(catalogue),
        check_(check),
        device_(device),
        scope_(scope),
        params_profile_(params_profile),
        scenario_(*catalogue.FindScenario(config.selection().scenario())),
        mode_(config.selection().mode()) {}

  absl::StatusOr<CellTable> Build() {
    for (int i = 0; i < config_.selection().libraries_size(); ++i) {
      RETURN_IF_ERROR(AddLibrary(i));
    }
    if (scenario_.has_transforms()) {
      RETURN_IF_ERROR(AddTransforms());
    } else {
      for (size_t i = 0; i < table_.libraries.size(); ++i) {
        AddDecoder(static_cast<int>(i));
      }
    }
    if (table_.cells.empty()) return NothingToRun();
    return std::move(table_);
  }

 private:
  absl::Status AddLibrary(int index) {
    const std::string& name = config_.selection().libraries(index);
    const std::string path = absl::StrCat("selection.libraries[", index, "]");
    const Combination* combination = catalogue_.FindCombination(
        scenario_.name(), name, mode_, device_, scope_);
    if (combination == nullptr || combination->status() == REJECTED) {
      return check_.Error(Blamed(path), WhyNot(name, combination));
    }
    const bool on_host = combination->status() == HOST_CPU;
    LibraryPlan plan;
    plan.name = name;
    plan.device = on_host ? "cpu" : device_;
    plan.hardware_class = on_host            ? "host_cpu"
                          : device_ == "cpu" ? "cpu"
                                             : "gpu";
    plan.env_group = EnvGroup(*catalogue_.FindLibrary(name));
    plan.labels = LabelsOf(*combination);
    table_.libraries.push_back(std::move(plan));
    return absl::OkStatus();
  }

  // The flag that asked for a device, when the libraries are the file's own.
  std::string Blamed(const std::string& library_path) const {
    if (IsFlag(library_path)) return library_path;
    if (SweepsCombinations() && IsFlag("sweep")) return "sweep";
    return IsFlag("execution.device") ? "execution.device" : library_path;
  }

  bool IsFlag(const std::string& path) const {
    return absl::StartsWith(check_.places().Of(path), "--");
  }

  bool SweepsCombinations() const {
    return std::any_of(config_.sweep().begin(), config_.sweep().end(),
                       [](const SweepAxis& axis) {
                         return axis.name() == "device" ||
                                axis.name() == "scope";
                       });
  }

  std::string EnvGroup(const Library& library) const {
    if (mode_ == "decode" && library.has_decoder_env_group()) {
      return library.decoder_env_group();
    }
    return scenario_.media() == "clip" && library.has_video_env_group()
               ? library.video_env_group()
               : library.env_group();
  }

  std::vector<std::string> LabelsOf(const Combination& combination) const {
    std::set<std::string> labels(combination.labels().begin(),
                                 combination.labels().end());
    labels.insert(config_.row_labels().begin(), config_.row_labels().end());
    if (combination.status() == OPTIONAL) labels.insert("optional");
    if (combination.status() == HOST_CPU) labels.insert("host_cpu");
    return {labels.begin(), labels.end()};
  }

  // Why the matrix says no, and what it would say yes to.
  std::string WhyNot(const std::string& library,
                     const Combination* combination) const {
    std::set<std::string> possible;
    for (const Combination& other : catalogue_.matrix().combinations()) {
      if (!absl::c_linear_search(other.library(), MatrixName(library)) ||
          !absl::c_linear_search(other.scenario(), scenario_.name()) ||
          other.status() == REJECTED) {
        continue;
      }
      for (const std::string& device : other.device()) {
        for (const std::string& scope : other.scopes()) {
          possible.insert(
              absl::StrCat(other.mode(), " on ", device, " (", scope, ")"));
        }
      }
    }
    std::string text =
        absl::StrCat("\"", library, "\" has no ", scenario_.name(), " ", mode_,
                     " on ", device_, " in scope ", scope_);
    if (combination != nullptr) {
      absl::StrAppend(&text, ": ",
                      absl::StripSuffix(combination->reason(), "."));
    }
    if (possible.empty()) {
      return absl::StrCat(text, "; leave it out of this scenario");
    }
    return absl::StrCat(text, "; it has ", absl::StrJoin(possible, ", "));
  }

  absl::Status AddTransforms() {
    ASSIGN_OR_RETURN(const TransformSet* set, catalogue_.Transforms(scenario_));
    absl::flat_hash_map<absl::string_view, const Transform*> by_name;
    for (const Transform& transform : set->transforms()) {
      by_name[transform.name()] = &transform;
    }
    for (const std::string& name : config_.selection().transforms()) {
      const auto transform = by_name.find(name);
      for (size_t i = 0; i < table_.libraries.size(); ++i) {
        const LibraryPlan& plan = table_.libraries[i];
        if (IsSubject(plan.name)) {
          AddSubject(name, static_cast<int>(i));
        } else if (transform != by_name.end()) {
          AddCell(*transform->second, static_cast<int>(i));
        } else {
          Exclude(name, plan, "only a subject has it");
        }
      }
    }
    return absl::OkStatus();
  }

  void AddSubject(const std::string& transform, int library) {
    const LibraryPlan& plan = table_.libraries[library];
    for (const PythonSubject& subject : config_.selection().subjects()) {
      if (subject.name() != plan.name) continue;
      if (!absl::c_linear_search(subject.transforms(), transform)) {
        return Exclude(transform, plan,
                       mode_ == "micro"
                           ? "the subject does not have it"
                           : "the subject takes no argument `transform`");
      }
      Cell cell;
      cell.library = library;
      cell.transform = transform;
      table_.cells.push_back(std::move(cell));
    }
  }

  // Without transforms a library is one cell.
  void AddDecoder(int library) {
    const LibraryPlan& plan = table_.libraries[library];
    const CellException* exception = catalogue_.FindException(
        scenario_.name(), plan.name, mode_, plan.device, "");
    Cell cell;
    cell.library = library;
    if (exception != nullptr) cell.unsupported_reason = exception->reason();
    table_.cells.push_back(std::move(cell));
  }

  void AddCell(const Transform& transform, int library) {
    const LibraryPlan& plan = table_.libraries[library];
    const CellException* exception = catalogue_.FindException(
        scenario_.name(), plan.name, mode_, plan.device, transform.name());
    if (exception != nullptr && exception->status() == EXCLUDED) {
      return Exclude(transform.name(), plan, exception->reason());
    }
    const Implementation* implementation =
        catalogue_.ImplementationOf(transform, plan.name, params_profile_);
    Cell cell;
    cell.library = library;
    cell.transform = transform.name();
    if (implementation == nullptr && params_profile_ != kPaperProfile) {
      return Exclude(transform.name(), plan, WhyAbsent(transform, plan.name));
    }
    if (exception != nullptr) {
      cell.unsupported_reason = exception->reason();
    } else if (implementation == nullptr) {
      return Exclude(transform.name(), plan, WhyAbsent(transform, plan.name));
    } else if (!HasMode(*implementation, mode_)) {
      return Exclude(
          transform.name(), plan,
          absl::StrCat("only in mode ",
                       absl::StrJoin(implementation->modes(), ", ")));
    }
    if (implementation != nullptr) {
      cell.params_sha256 = Sha256Hex(CanonicalParameters(*implementation));
    }
    table_.cells.push_back(std::move(cell));
  }

  std::string WhyAbsent(const Transform& transform,
                        const std::string& library) const {
    const std::string& lender =
        catalogue_.FindLibrary(library)->transforms_of();
    for (const Implementation& other : transform.implementations()) {
      if (other.library() != library && other.library() != lender) continue;
      return NoProfile();
    }
    return "no direct equivalent";
  }

  std::string NoProfile() const {
    return absl::StrCat("no parameters for profile ", params_profile_);
  }

  void Exclude(const std::string& transform, const LibraryPlan& plan,
               std::string reason) {
    table_.excluded.push_back({plan.name, transform, std::move(reason)});
  }

  absl::Status NothingToRun() const {
    std::set<std::string> reasons;
    for (const ExcludedCell& cell : table_.excluded) {
      reasons.insert(cell.reason);
    }
    if (reasons.size() == 1 && *reasons.begin() == NoProfile()) {
      return check_.Error(
          "selection.params_profile",
          absl::StrCat("nothing to run: ", NoProfile(), "; use paper"));
    }
    return check_.Error(
        "selection.libraries",
        absl::StrCat("nothing to run: ", absl::StrJoin(reasons, "; ")));
  }

  const RunConfig& config_;
  const Catalogue& catalogue_;
  const FieldChecker& check_;
  const std::string& device_;
  const std::string& scope_;
  const std::string& params_profile_;
  const Scenario& scenario_;
  const std::string& mode_;
  CellTable table_;
};

}  // namespace

absl::StatusOr<CellTable> BuildCells(const RunConfig& resolved,
                                     const Catalogue& catalogue,
                                     const FieldChecker& check,
                                     const std::string& device,
                                     const std::string& scope,
                                     const std::string& params_profile) {
  return Builder(resolved, catalogue, check, device, scope, params_profile)
      .Build();
}

}  // namespace feedrate
