// The facts that planning rests on: support matrix, policy, transform sets.
#ifndef FEEDRATE_LIB_CATALOGUE_CATALOGUE_H_
#define FEEDRATE_LIB_CATALOGUE_CATALOGUE_H_

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/config/matrix.pb.h"
#include "lib/config/policy.pb.h"
#include "lib/config/transforms.pb.h"

namespace feedrate {

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

  const Matrix& matrix() const { return data_->matrix; }
  const Policy& policy() const { return data_->policy; }
  const std::string& configs_dir() const { return configs_dir_; }

  const Scenario* FindScenario(absl::string_view name) const;
  const Library* FindLibrary(absl::string_view name) const;
  // The combination that has `scope` among its scopes.
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

  // The candidates of `scenario`, members and others. NotFound when the
  // scenario has no transforms. REQUIRES: `scenario` is of this catalogue.
  absl::StatusOr<const TransformSet*> Transforms(
      const Scenario& scenario) const;

 private:
  using View = absl::string_view;

  // Behind a pointer, so that views into the messages survive a move.
  struct Data {
    Matrix matrix;
    Policy policy;
    absl::flat_hash_map<View, const Scenario*> scenarios;
    absl::flat_hash_map<View, const Library*> libraries;
    absl::flat_hash_map<std::tuple<View, View, View, View, View>,
                        const Combination*>
        combinations;
    // By scenario, library and transform; in the order of the matrix.
    absl::flat_hash_map<std::tuple<View, View, View>,
                        std::vector<const CellException*>>
        exceptions;
    // By scenario.
    absl::flat_hash_map<View, std::unique_ptr<TransformSet>> transforms;
  };

  Catalogue() = default;
  void BuildIndex();

  std::string configs_dir_;
  std::unique_ptr<Data> data_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_CATALOGUE_CATALOGUE_H_
