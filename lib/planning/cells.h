// Which transforms of which libraries make jobs, and which do not, and why.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/places.h"
#include "lib/config/run_config.pb.h"

namespace feedrate {

// One library in one place of the matrix: what all its cells share.
struct LibraryPlan {
  std::string name;
  // Where it really runs; `cpu` for a HOST_CPU combination.
  std::string device;
  std::string hardware_class;
  std::string env_group;
  std::vector<std::string> labels;  // Sorted.
};

// A cell that makes a job.
struct Cell {
  // Index into CellTable::libraries.
  int library = 0;
  // Empty in modes without a transform.
  std::string transform;
  std::string params_sha256;
  // Present: the job is answered without running.
  absl::optional<std::string> unsupported_reason;
};

// A cell that is left out of the plan: no job is made for it.
struct ExcludedCell {
  std::string library;
  std::string transform;
  std::string reason;
};

// By transform in the config's order, then by library in the config's order:
// the libraries of one transform are measured side by side.
struct CellTable {
  std::vector<LibraryPlan> libraries;
  std::vector<Cell> cells;
  std::vector<ExcludedCell> excluded;
};

// The cells of `resolved` on `device` in `scope` with the parameters of
// `params_profile`. InvalidArgument, through `check`, when the matrix does not
// give a library the device, mode or scope.
absl::StatusOr<CellTable> BuildCells(const RunConfig& resolved,
                                     const Catalogue& catalogue,
                                     const FieldChecker& check,
                                     const std::string& device,
                                     const std::string& scope,
                                     const std::string& params_profile);

}  // namespace feedrate
