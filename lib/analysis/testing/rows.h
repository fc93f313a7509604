// Rows and batches for tests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lib/records/loader.pb.h"
#include "lib/records/row.pb.h"

namespace feedrate {

// An `ok` micro row with exact output, on machine `machine`, with version
// `1.0`.
inline Row MakeRow(const std::string& library, const std::string& transform,
                   double throughput, int run_index = 0) {
  Row row;
  row.set_job_id(library + "/" + transform);
  row.set_scenario("image-rgb");
  row.set_mode("micro");
  row.set_library(library);
  row.set_transform(transform);
  row.set_device("cpu");
  row.set_run_index(run_index);
  row.set_status("ok");
  row.set_unit("image");
  row.set_throughput(throughput);
  row.set_machine_profile("machine");
  row.set_library_version("1.0");
  row.mutable_equivalence()->set_label("exact");
  return row;
}

// Three runs of that, 0.1% apart.
inline std::vector<Row> MakeRuns(const std::string& library,
                                 const std::string& transform,
                                 double throughput) {
  std::vector<Row> rows;
  for (int i = 0; i < 3; ++i) {
    rows.push_back(
        MakeRow(library, transform, throughput * (1 + 0.001 * i), i));
  }
  return rows;
}

using Samples = std::vector<std::pair<std::string, int64_t>>;

// Batch `index` of job "j", one second after the previous one. The first entry
// of `samples` dominates.
inline Batch MakeBatch(int64_t index, const Samples& samples,
                       double wait_s = 0.1) {
  Batch batch;
  batch.set_job_id("j");
  batch.set_run_id("r");
  batch.set_batch_index(index);
  batch.set_time_s(static_cast<double>(index + 1));
  batch.set_wait_s(wait_s);
  int64_t items = 0;
  for (const auto& [name, count] : samples) {
    BatchCount* added = batch.add_counts();
    added->set_dataset(name);
    added->set_samples(count);
    items += count;
  }
  batch.set_items(items);
  if (!samples.empty()) batch.set_dominant(samples.front().first);
  return batch;
}

// The row of job "j", with the weights of its data sets.
inline Row MakeMixtureRow(
    const std::vector<std::pair<std::string, double>>& weights) {
  Row row;
  row.set_job_id("j");
  row.set_run_id("r");
  row.set_mode("mixture");
  row.set_scenario("episodes");
  row.set_library("native");
  row.set_status("ok");
  row.set_unit("sample");
  row.set_throughput(640);
  row.set_machine_profile("machine");
  (*row.mutable_settings())["mix_block_length"] = "4";
  (*row.mutable_settings())["pipeline_interleave"] = "2";
  Mixture* mixture = row.mutable_mixture();
  mixture->set_samples_per_s(640);
  mixture->set_batches_per_s(10);
  mixture->set_dominant_switch_rate(0.9);
  mixture->set_mixture_error(0.021);
  mixture->set_datasets(static_cast<int64_t>(weights.size()));
  for (const auto& [name, weight] : weights) {
    MixtureDataset* share = mixture->add_shares();
    share->set_dataset(name);
    share->set_weight_share(weight);
  }
  return row;
}

}  // namespace feedrate
