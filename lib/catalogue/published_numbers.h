// Throughput that the public benchmark has published.
#pragma once

#include <memory>
#include <string>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace feedrate {

// One published cell.
struct PublishedNumber {
  // Median over runs; for an early-stopped cell what the preflight saw.
  double items_per_s = 0;
  // The cell ended after its preflight.
  bool early_stopped = false;
};

// CONFIGS_DIR/published/throughput.csv, by cell. Copies nothing but the file:
// keys point into the text. Survives being moved.
class PublishedNumbers {
 public:
  static absl::StatusOr<PublishedNumbers> Load(const std::string& configs_dir);
  // The same from `text`; `file` is only for errors, which name the line.
  static absl::StatusOr<PublishedNumbers> Parse(std::string text,
                                                const std::string& file);

  // The number of a cell of any scope, or nullptr. Where two machines measured
  // it, that of the first row.
  const PublishedNumber* Find(absl::string_view scenario,
                              absl::string_view mode, absl::string_view device,
                              absl::string_view transform,
                              absl::string_view library) const;
  absl::optional<double> ItemsPerSecond(absl::string_view scenario,
                                        absl::string_view mode,
                                        absl::string_view device,
                                        absl::string_view transform,
                                        absl::string_view library) const;

  // Cells that have a number.
  int size() const { return static_cast<int>(cells_.size()); }

 private:
  using View = absl::string_view;

  std::unique_ptr<const std::string> text_;
  absl::flat_hash_map<std::tuple<View, View, View, View, View>, PublishedNumber>
      cells_;
};

}  // namespace feedrate
