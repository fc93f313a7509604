#include "lib/runner/libraries.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/draw/progress.h"
#include "lib/records/records.pb.h"
#include "lib/runner/server_pool.h"

namespace feedrate {

absl::Status AddLibraries(bool skip_missing, const Warn& warn,
                          ServerPool* servers, std::vector<Job>* jobs) {
  std::set<std::string> missing;
  for (const Job& job : *jobs) {
    if (job.has_unsupported_reason() || missing.count(job.library()) > 0) {
      continue;
    }
    const absl::Status added = servers->Add(job);
    if (added.ok()) continue;
    if (!skip_missing) {
      return absl::Status(
          added.code(), absl::StrCat(added.message(),
                                     ", or leave it out with --skip_missing"));
    }
    warn(absl::StrCat("left out ", added.message()));
    missing.insert(job.library());
  }
  jobs->erase(std::remove_if(jobs->begin(), jobs->end(),
                             [&](const Job& job) {
                               return missing.count(job.library()) > 0;
                             }),
              jobs->end());
  if (!jobs->empty()) return absl::OkStatus();
  return absl::NotFoundError("no library is left to measure");
}

absl::Status WaitForLibraries(const std::vector<Job>& jobs, const Warn& warn,
                              Progress* progress, ServerPool* servers) {
  std::set<std::string> seen;
  std::vector<const Job*> firsts;
  for (const Job& job : jobs) {
    if (job.has_unsupported_reason()) continue;
    if (seen.insert(job.library()).second) firsts.push_back(&job);
  }
  for (size_t i = 0; i < firsts.size(); ++i) {
    progress->Show("libraries", i, firsts.size(), firsts[i]->library());
    const absl::Status ready = servers->Get(*firsts[i]).status();
    if (ready.code() == absl::StatusCode::kCancelled) return ready;
    if (!ready.ok()) {
      warn(absl::StrCat(firsts[i]->library(),
                        ": does not load: ", ready.message()));
    }
  }
  progress->Finish();
  return absl::OkStatus();
}

}  // namespace feedrate
