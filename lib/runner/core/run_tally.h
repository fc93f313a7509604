// What a run tells people at its end: how many rows, what disturbed them, and a
// table of the jobs.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/records/row.pb.h"

namespace feedrate {

// Counts the rows of a run. Of several attempts at a run, the last counts. Rows
// of the library `null` count only as rows.
class RunTally {
 public:
  void Add(const Row& row);

  // Whether rows failed, crashed, hung or ran out of memory, and no other job
  // was measured.
  bool AllFailed() const;

  // `; the first failure: opencv Blur: failed: out of memory`. Empty if none.
  std::string FirstFailure() const;

  // `25 rows (24 ok, 1 failed)`.
  std::string Counts() const;
  // `; 12 runs noisy, contended or throttled (load in 11, steal in 1) after
  // waiting 3.0 s for a quiet machine; 2 runs measured again; medians of 2 jobs
  // not within 5%`. The last part needs `stable_within` above 0.
  std::string Noise(double waited_s, double stable_within) const;
  // What a look at the machine found before a run. Returns a line for people
  // once, at the 15th look that found other work (1.5 s); else nothing.
  std::string Busy(const std::vector<std::string>& causes);
  // Whether a run is noisy, contended or throttled.
  bool HasDisturbedRuns() const;
  // A line per job in the order of their first rows: what it is, its median
  // throughput with the 95% interval, whether its output is right, and what
  // disturbed or ended it. Leaves out what all jobs share. Empty without jobs.
  std::string Table() const;

  const std::map<std::string, int64_t>& by_status() const { return by_status_; }

 private:
  // The attempt at a run that counts.
  struct Run {
    int rank = 0;
    std::string status;
    std::string reason;
    double throughput = 0;
    std::vector<std::string> causes;
  };
  struct JobOfRows {
    // What a table may show: name and value.
    std::vector<std::pair<std::string, std::string>> fields;
    std::string unit;
    // Whether its output is that of the reference. Empty if not compared.
    std::string output;
    // Labels that say under which condition the speed holds.
    std::set<std::string> labels;
    std::map<int32_t, Run> runs;
  };

  static std::vector<double> Throughputs(const JobOfRows& job);
  static std::string Remark(const JobOfRows& job);
  // The names of fields that not all jobs share, in the order of the fields.
  std::vector<std::string> Columns() const;

  std::map<std::string, int64_t> by_status_;
  std::vector<JobOfRows> jobs_;
  // Attempts that another one replaced, or did not.
  int64_t repeated_ = 0;
  int busy_looks_ = 0;
  // Index in jobs_ by job id.
  std::map<std::string, size_t> known_;
};

}  // namespace feedrate
