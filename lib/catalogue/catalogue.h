// The facts that planning rests on: support matrix, policy, transform sets, and
// questions about transforms and how libraries implement them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "lib/config/matrix.pb.h"
#include "lib/config/policy.pb.h"
#include "lib/config/transforms.pb.h"

namespace feedrate {

// Libraries that must have a transform to make it a member.
inline constexpr int kLibrariesOfAMember = 2;

// Sets that can be chosen from.
inline constexpr char kPaperSet[] = "paper";
inline constexpr char kTrainingSet[] = "training";

// The transforms of the set `name`, in the order of the file. Of `paper` those
// that at least two public libraries of `scenario` have and that are not left
// out on purpose; of others those that say so.
std::vector<const Transform*> SetMembers(const Scenario& scenario,
                                         const TransformSet& set,
                                         absl::string_view name = kPaperSet);

// How many of the scenario's public libraries have `transform`, whatever the
// mode.
int PublicLibraries(const Scenario& scenario, const Transform& transform);

// The implementation by `library` for `params_profile`, or nullptr. One that
// names no profile is for `paper`.
const Implementation* FindImplementation(const Transform& transform,
                                         absl::string_view library,
                                         absl::string_view params_profile);

// Whether the library has the transform in `mode`.
bool HasMode(const Implementation& implementation, absl::string_view mode);

// A parameter, NAME=VALUE, in two. REQUIRES: `parameter` has a `=`.
std::pair<absl::string_view, absl::string_view> SplitParameter(
    absl::string_view parameter);

// The value of the parameter `name`, or nullopt.
absl::optional<absl::string_view> FindParameter(
    const Implementation& implementation, absl::string_view name);

// All that decides what the library is asked to do, as text that never
// changes for the same work: the operation, the parameters in order, the wrap.
// Notes and library defaults are not part of it. Hashes of it are in job ids.
std::string CanonicalParameters(const Implementation& implementation);

// The setting of loader jobs that says what images are put into before they are
// read, and its values in the order of tables: docs/pipeline.md.
inline constexpr char kContainerSetting[] = "container";
const std::vector<std::string>& ContainerNames();
// That setting of a job or a row. Empty if it has none.
template <typename JobOrRow>
std::string ContainerOf(const JobOrRow& record) {
  const auto found = record.settings().find(kContainerSetting);
  return found == record.settings().end() ? "" : found->second;
}
// Why the loader of `library` is not run on `container`. Empty if it is.
std::string WhyNotContainer(const Library& library,
                            absl::string_view container);

// The matrix entry of all subjects: what your own code can be measured in. A
// subject itself is named MODULE:NAME, which no library is.
inline constexpr char kSubjectLibrary[] = "subject";
bool IsSubject(absl::string_view library);
// A subject of `train` that is a file of torch: NAME.pt or NAME.pt2.
bool IsTorchFile(absl::string_view library);
// The name under which the matrix has `library`.
absl::string_view MatrixName(absl::string_view library);

// Everything below configs/ that is not a run's config. Matrix and policy are
// read and checked at once, a transform set when it is first asked for, so
// that a tool pays only for the scenario it works on.
//
// Lookups are hashed, and answer nullptr for what is not there. Answers live as
// long as the catalogue and survive its being moved. Not thread-safe.
class Catalogue {
 public:
  // Reads CONFIGS_DIR/matrix.textproto and CONFIGS_DIR/policy.textproto. Errors
  // name the file and the entry.
  static absl::StatusOr<Catalogue> Load(const std::string& configs_dir);

  // The same from messages; `configs_dir` is where transform sets are read.
  static absl::StatusOr<Catalogue> FromMessages(const std::string& configs_dir,
                                                Matrix matrix, Policy policy);

  Catalogue(Catalogue&&) noexcept;
  Catalogue& operator=(Catalogue&&) noexcept;
  ~Catalogue();

  const Matrix& matrix() const;
  const Policy& policy() const;
  const std::string& configs_dir() const { return configs_dir_; }

  const Scenario* FindScenario(absl::string_view name) const;
  const Library* FindLibrary(absl::string_view name) const;
  // The combination that has `scope` among its scopes.
  // How a library gets its input in a mode. Null means uint8 HWC.
  const InputLayout* FindInputLayout(absl::string_view library,
                                     absl::string_view media,
                                     absl::string_view mode) const;

  const Combination* FindCombination(absl::string_view scenario,
                                     absl::string_view library,
                                     absl::string_view mode,
                                     absl::string_view device,
                                     absl::string_view scope) const;
  // The first exception of the matrix that fits.
  const CellException* FindException(absl::string_view scenario,
                                     absl::string_view library,
                                     absl::string_view mode,
                                     absl::string_view device,
                                     absl::string_view transform) const;
  // How `library` does `transform` for `params_profile`: its own way, else that
  // of the library whose transforms it runs. Null: not at all.
  const Implementation* ImplementationOf(
      const Transform& transform, absl::string_view library,
      absl::string_view params_profile) const;
  const ModePolicy* FindMode(absl::string_view mode,
                             absl::string_view media) const;
  const MediaPolicy* FindMedia(absl::string_view media) const;

  // The candidates of `scenario`, members and others, with what the set takes
  // from its base. NotFound when the scenario has no transforms. REQUIRES:
  // `scenario` is of this catalogue.
  absl::StatusOr<const TransformSet*> Transforms(
      const Scenario& scenario) const;

 private:
  // Behind a pointer, so that views into the messages survive a move.
  struct Data;

  Catalogue();
  void BuildIndex();
  // `users` are the scenarios whose sets build on this one, outermost first.
  absl::StatusOr<const TransformSet*> TransformsFor(
      const Scenario& scenario, std::vector<std::string> users) const;
  absl::Status TakeFromBase(const std::string& file,
                            std::vector<std::string> users,
                            TransformSet* set) const;

  std::string configs_dir_;
  std::unique_ptr<Data> data_;
};

}  // namespace feedrate
