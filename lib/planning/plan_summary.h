// A plan in figures: what `plan --emit=table` shows.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/config/run_config.pb.h"
#include "lib/planning/cells.h"
#include "lib/planning/needs.h"
#include "lib/records/job.pb.h"

namespace feedrate {

// Adds up jobs without keeping them.
class PlanSummary {
 public:
  // `config_path` is for the title.
  PlanSummary(std::string config_path, const RunConfig& resolved);

  void AddJob(const Job& job);
  void AddExcluded(const ExcludedCell& cell);
  void AddDone(const Job& job);
  // What one of the jobs needs of its machine.
  void AddNeeds(const Needs& needs) { Include(needs, &needs_); }

  // Title, jobs and time for each library, what they need, expected files, and
  // every cell that is left out or unsupported, with the reason.
  std::string ToText() const;

 private:
  struct LibraryTotals {
    int64_t jobs = 0;
    int64_t runs = 0;
    int64_t unsupported = 0;
    double cost_s = 0;
    std::set<std::string> devices;
    std::set<std::string> labels;
  };
  // A reason, and the cells it holds for, in the order they came.
  struct Reasons {
    std::vector<std::string> order;
    std::map<std::string, std::vector<std::string>> cells;
    void Add(const std::string& reason, const std::string& cell);
    std::string ToText() const;
  };

  std::string Title() const;
  std::string LibraryTable() const;
  std::string BasisText() const;

  std::string config_path_;
  const RunConfig& config_;
  std::vector<std::string> library_order_;
  std::map<std::string, LibraryTotals> libraries_;
  std::vector<std::string> file_order_;
  std::map<std::string, int64_t> files_;
  Reasons excluded_;
  Reasons unsupported_;
  // Jobs by what their estimates rest on.
  std::map<std::string, int64_t> bases_;
  int64_t done_ = 0;
  // What all jobs need together. Has no `cpus_basis` before the first one.
  Needs needs_;
};

// `1:02:03`, `2:03` or `14 s`: short, and sortable by eye.
std::string DurationText(double seconds);

}  // namespace feedrate
