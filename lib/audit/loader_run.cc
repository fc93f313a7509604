#include "lib/audit/loader_run.h"

#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "lib/audit/history.h"
#include "lib/audit/judge.h"
#include "lib/records/audit_worker.pb.h"

namespace feedrate {
namespace {

// Adds a pass over a loader. `steps` counts the batches of the run so far, as
// weights would.
void AddPass(const BatchIds& epoch, bool ended, int64_t* steps,
             SeenRank* rank) {
  SeenPass pass;
  pass.number = static_cast<int64_t>(rank->passes.size()) + 1;
  pass.drop_last = false;
  pass.ended = ended;
  pass.empty = ended && epoch.empty();
  rank->passes.push_back(pass);
  for (const std::vector<int64_t>& ids : epoch) {
    SeenBatch batch;
    batch.pass = pass.number;
    batch.weights = ++*steps;
    batch.ids = ids;
    rank->training.push_back(std::move(batch));
  }
  rank->end_weights = *steps + 1;
}

TrainingRun RunOfEpochs(absl::Span<const BatchIds> epochs) {
  TrainingRun run;
  SeenRank& rank = run.lives.emplace_back().ranks.emplace_back();
  int64_t steps = 0;
  for (const BatchIds& epoch : epochs) AddPass(epoch, true, &steps, &rank);
  return run;
}

TrainingRun RunOfPieces(absl::Span<const BatchIds> pieces) {
  TrainingRun run;
  int64_t steps = 0;
  for (const BatchIds& piece : pieces) {
    Life& life = run.lives.emplace_back();
    const bool is_last = run.lives.size() == pieces.size();
    life.killed_rank = is_last ? -1 : 0;
    AddPass(piece, is_last, &steps, &life.ranks.emplace_back());
  }
  return run;
}

TrainingRun RunOfRanks(absl::Span<const BatchIds> ranks) {
  TrainingRun run;
  Life& life = run.lives.emplace_back();
  for (const BatchIds& rank : ranks) {
    int64_t steps = 0;
    AddPass(rank, true, &steps, &life.ranks.emplace_back());
  }
  return run;
}

AuditRanks CountsOfRanks(absl::Span<const BatchIds> ranks, int64_t items) {
  AuditRanks found;
  found.set_ranks(static_cast<int32_t>(ranks.size()));
  std::vector<int64_t> owners(items);
  for (const BatchIds& rank : ranks) {
    found.add_batches(static_cast<int64_t>(rank.size()));
    std::set<int64_t> own;
    for (const std::vector<int64_t>& batch : rank) {
      for (const int64_t id : batch) {
        if (id < 0 || id >= items) continue;
        const bool is_new = own.insert(id).second;
        owners[id] += is_new ? 1 : 0;
        found.set_duplicates(found.duplicates() + (is_new ? 0 : 1));
      }
    }
  }
  found.set_missing(absl::c_count(owners, 0));
  found.set_shared_items(
      absl::c_count_if(owners, [](int64_t count) { return count > 1; }));
  return found;
}

class LoaderJudge {
 public:
  LoaderJudge(const LoaderRun& run,
              const std::function<std::string(int64_t)>& name, Audit* audit)
      : run_(run), audit_(*audit) {
    items_.set_items(run.items);
    rules_.is_strict = true;
    rules_.name = name;
  }

  void JudgeEpochs() {
    const Audit found = Judge(RunOfEpochs(run_.epochs), nullptr, "");
    AuditCoverage& coverage = *audit_.mutable_coverage();
    coverage = found.coverage();
    coverage.set_items(run_.items);
    for (size_t e = 0; e < run_.epochs.size(); ++e) {
      if (!run_.epochs[e].empty()) continue;
      coverage.set_epochs(coverage.epochs() + 1);
      coverage.set_missing(coverage.missing() + run_.items);
      audit_.add_faults(absl::StrCat("epoch ", e + 1, ": no item came"));
    }
  }

  void JudgeResumes() {
    if (run_.pieces.empty()) return;
    const TrainingRun pieces = RunOfPieces(run_.pieces);
    const Audit found = Judge(RunOfEpochs({run_.epochs[0]}), &pieces, "");
    for (AuditResume resume : found.training().restarts()) {
      // It had no batch left.
      resume.clear_reason();
      *audit_.add_resumes() = resume;
    }
  }

  void JudgeRanks() {
    for (const std::vector<BatchIds>& ranks : run_.ranks) {
      *audit_.add_ranks() = CountsOfRanks(ranks, run_.items);
      const std::string of = absl::StrCat(ranks.size(), " ranks: ");
      for (size_t r = 0; r < ranks.size(); ++r) {
        if (ranks[r].empty()) {
          audit_.add_faults(absl::StrCat(of, "rank ", r, " got no item"));
        }
      }
      Judge(RunOfRanks(ranks), nullptr, of);
    }
  }

 private:
  // Adds the faults that are not known, with `prefix`.
  Audit Judge(const TrainingRun& whole, const TrainingRun* killed,
              const std::string& prefix) {
    Audit found;
    JudgeTraining(items_, whole, killed, rules_, &found);
    for (const std::string& fault : found.faults()) {
      if (absl::c_linear_search(audit_.faults(), fault)) continue;
      audit_.add_faults(absl::StrCat(prefix, fault));
    }
    return found;
  }

  const LoaderRun& run_;
  AuditItems items_;
  JudgeRules rules_;
  Audit& audit_;
};

}  // namespace

void JudgeLoader(const LoaderRun& run,
                 const std::function<std::string(int64_t)>& name,
                 Audit* audit) {
  LoaderJudge judge(run, name, audit);
  judge.JudgeEpochs();
  judge.JudgeRanks();
  judge.JudgeResumes();
}

}  // namespace feedrate
