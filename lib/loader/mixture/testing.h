// Small mixtures for tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/loader/mixture/mixture_loader.h"
#include "lib/loader/mixture/mixture_spec.h"

namespace feedrate {

// An episode of `height` x `width` JPEGs with all features. Frame i shows
// TestImage(height, width, number + i).
std::string TestEpisode(int frames, int number, int height = 24,
                        int width = 32);

// A data set in a new folder, with one shard per list of episodes.
MixtureSource TestDataset(const std::string& name, double weight,
                          const std::vector<std::vector<std::string>>& shards);

// Three data sets of different sizes.
std::vector<MixtureSource> TestMixture();

// Copy of a delivered batch.
struct TestBatch {
  std::vector<int64_t> datasets;
  std::string frames;
  // One line per sample, with everything that the mode fills in.
  std::string metadata;
  bool operator==(const TestBatch& other) const {
    return datasets == other.datasets && frames == other.frames &&
           metadata == other.metadata;
  }
};
struct TestRun {
  std::vector<TestBatch> batches;
  int64_t faults = 0;
  std::vector<std::string> fault_reasons;
  std::vector<std::string> left_out;
};
absl::StatusOr<TestRun> RunMixture(const std::vector<MixtureSource>& sources,
                                   const MixtureOptions& options);

// Small frames and batches, defaults otherwise.
MixtureOptions TestOptions(int64_t count);

}  // namespace feedrate
