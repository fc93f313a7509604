// Rows of duels for tests.
#pragma once

#include <cmath>
#include <string>

#include "lib/base/xoshiro.h"
#include "lib/gate/paired_rows.h"
#include "lib/records/row.pb.h"

namespace feedrate {

// An `ok` row of one side of a pair, with a time of `seconds`.
inline Row PairRow(const std::string& job, int index, const std::string& side,
                   double seconds, int stage = 0) {
  Row row;
  row.set_job_id(job);
  row.set_mode("micro");
  row.set_library("lib");
  row.set_transform(job);
  row.set_device("cpu");
  row.set_status("ok");
  row.set_machine_profile("m");
  row.add_samples_s(seconds);
  row.mutable_pair()->set_index(index);
  row.mutable_pair()->set_side(side);
  row.mutable_pair()->set_position(side == "b" ? 1 : 0);
  row.mutable_pair()->set_stage(stage);
  return row;
}

// Adds `pairs` pairs of a job whose B takes exp(`shift`) times as long, with
// noise of standard deviation `noise`. Stages start at 0, 10 and 20.
inline void AddPairs(const std::string& job, int pairs, double shift,
                     double noise, uint64_t seed, PairedRows* rows) {
  Xoshiro256 random(seed);
  for (int i = 0; i < pairs; ++i) {
    const int stage = i < 10 ? 0 : i < 20 ? 1 : 2;
    rows->Add(PairRow(job, i, "a", std::exp(noise * random.Normal()), stage));
    rows->Add(
        PairRow(job, i, "b", std::exp(shift + noise * random.Normal()), stage));
  }
}

}  // namespace feedrate
