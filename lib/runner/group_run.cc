#include "lib/runner/group_run.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "lib/base/status_macros.h"
#include "lib/machine/resources.h"
#include "lib/machine/root.h"
#include "lib/records/job_identity.h"
#include "lib/records/records.pb.h"
#include "lib/runner/fits_together.h"
#include "lib/runner/job_run.h"
#include "lib/runner/mixture/mixture_settings.h"
#include "lib/runner/run_context.h"

namespace feedrate {
namespace {

// All of a job's identity but what belongs to the library.
std::string GroupKey(const Job& job) {
  Job key = job;
  key.clear_library();
  key.clear_params_sha256();
  // Settings of mixtures differ by less than a machine's mood does from one
  // minute to the next: they take turns, too.
  if (IsMixtureJob(job)) key.clear_settings();
  return CanonicalIdentity(key);
}

// SplitMix64: a good spread from any seed, in two lines.
uint64_t NextRandom(uint64_t* state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

std::vector<int> AllPending(const std::vector<std::unique_ptr<JobRun>>& runs) {
  std::set<int> indexes;
  for (const auto& run : runs) {
    indexes.insert(run->pending().begin(), run->pending().end());
  }
  return {indexes.begin(), indexes.end()};
}

bool IsPending(const JobRun& run, int run_index) {
  return std::find(run.pending().begin(), run.pending().end(), run_index) !=
         run.pending().end();
}

absl::Status RunTogether(const std::vector<std::unique_ptr<JobRun>>& runs,
                         const GroupProgress& progress) {
  for (const std::unique_ptr<JobRun>& run : runs) {
    progress.begins(run->job());
    RETURN_IF_ERROR(run->Begin());
  }
  for (const int run_index : AllPending(runs)) {
    const uint64_t seed = runs[0]->job().seed() * 7919 + run_index;
    for (const int at : ShuffledOrder(runs.size(), seed)) {
      if (!IsPending(*runs[at], run_index)) continue;
      RETURN_IF_ERROR(runs[at]->Measure(run_index));
      // Its memory is of use to the others.
      if (runs[at]->pending().empty()) runs[at]->End();
    }
  }
  return absl::OkStatus();
}

// One after the other, each with the machine to itself.
absl::Status RunInTurns(std::vector<std::unique_ptr<JobRun>> runs,
                        const GroupProgress& progress) {
  for (std::unique_ptr<JobRun>& run : runs) {
    run->AddLabel("memory_limited");
    std::vector<std::unique_ptr<JobRun>> alone;
    alone.push_back(std::move(run));
    RETURN_IF_ERROR(RunTogether(alone, progress));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::vector<int>> GroupJobs(const std::vector<Job>& jobs) {
  std::vector<std::vector<int>> groups;
  std::map<std::string, size_t> known;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const auto [entry, is_new] =
        known.emplace(GroupKey(jobs[i]), groups.size());
    if (is_new) groups.emplace_back();
    groups[entry->second].push_back(static_cast<int>(i));
  }
  return groups;
}

std::vector<int> ShuffledOrder(int count, uint64_t seed) {
  std::vector<int> order(count);
  for (int i = 0; i < count; ++i) order[i] = i;
  uint64_t state = seed;
  for (int i = count - 1; i > 0; --i) {
    std::swap(order[i], order[NextRandom(&state) % (i + 1)]);
  }
  return order;
}

absl::Status RunGroup(const RunContext& context,
                      const std::vector<const Job*>& jobs,
                      const GroupProgress& progress) {
  std::vector<std::unique_ptr<JobRun>> runs;
  std::vector<int64_t> own_bytes;
  std::vector<int64_t> gpu_bytes;
  for (const Job* job : jobs) {
    auto run = std::make_unique<JobRun>(&context, *job);
    if (run->pending().empty()) continue;
    if (job->has_unsupported_reason()) {
      RETURN_IF_ERROR(run->Answer("unsupported", job->unsupported_reason()));
      continue;
    }
    ASSIGN_OR_RETURN(own_bytes.emplace_back(), run->OwnBytes());
    ASSIGN_OR_RETURN(gpu_bytes.emplace_back(), run->GpuBytes());
    runs.push_back(std::move(run));
  }
  const std::optional<int64_t> available = ReadAvailableMemory(Root());
  const int64_t gpu_memory = context.identity.gpu_memory_bytes;
  const bool fit =
      (!available.has_value() || FitTogether(own_bytes, *available)) &&
      (gpu_memory == 0 || FitTogether(gpu_bytes, gpu_memory));
  if (fit) {
    RETURN_IF_ERROR(RunTogether(runs, progress));
  } else {
    RETURN_IF_ERROR(RunInTurns(std::move(runs), progress));
  }
  for (const Job* job : jobs) progress.ends(*job);
  return absl::OkStatus();
}

}  // namespace feedrate
