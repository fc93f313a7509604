#include "lib/audit/history.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "lib/base/text.h"

namespace feedrate {
namespace {

constexpr int kMostRanks = 65536;
// So many of what processes say that they could not see are told, and of each
// so many bytes.
constexpr size_t kMostProblems = 20;
constexpr size_t kMostProblemBytes = 1000;

// What a process could not see, on one line.
void AddProblem(const std::string& text, std::vector<std::string>* problems) {
  if (problems->size() >= kMostProblems) return;
  std::string line = PrintableText(text.substr(0, kMostProblemBytes));
  if (!absl::c_linear_search(*problems, line)) {
    problems->push_back(std::move(line));
  }
}

bool HasProblem(const std::vector<AuditLine>& lines) {
  return absl::c_any_of(
      lines, [](const AuditLine& line) { return line.kind() == "problem"; });
}

// The module that the process trains most.
int ModelOf(const std::vector<AuditLine>& lines) {
  std::map<int, int64_t> counts;
  for (const AuditLine& line : lines) {
    if (line.kind() == "batch" && line.training()) ++counts[line.module()];
  }
  int model = -1;
  for (const auto& [module, count] : counts) {
    if (model < 0 || count > counts[model]) model = module;
  }
  return model;
}

SeenBatch BatchOf(const AuditLine& line) {
  SeenBatch batch;
  batch.pass = line.number();
  batch.weights = line.weights();
  batch.time_s = line.time_s();
  batch.wait_s = line.wait_s();
  batch.rss_bytes = line.rss_bytes();
  batch.ids.assign(line.ids().begin(), line.ids().end());
  batch.seconds.assign(line.seconds().begin(), line.seconds().end());
  batch.draws.assign(line.draws().begin(), line.draws().end());
  batch.labels.assign(line.labels().begin(), line.labels().end());
  return batch;
}

void AddPass(const AuditLine& line, SeenRank* rank) {
  SeenPass pass;
  pass.number = line.number();
  if (line.length() > 0) pass.length = line.length();
  if (line.has_drop_last()) pass.drop_last = line.drop_last();
  pass.replacement = line.replacement();
  rank->passes.push_back(pass);
}

void AddLine(const AuditLine& line, int model, SeenRank* rank) {
  std::vector<SeenBatch>& batches =
      line.training() ? rank->training : rank->evaluation;
  if (line.kind() == "pass") {
    AddPass(line, rank);
  } else if (line.kind() == "end") {
    for (SeenPass& pass : rank->passes) {
      if (pass.number != line.number()) continue;
      pass.ended = true;
      pass.empty = line.length() == 0 &&
                   absl::c_none_of(rank->training, [&](const SeenBatch& batch) {
                     return batch.pass == pass.number;
                   });
    }
  } else if (line.kind() == "end_of_process") {
    rank->end_weights = line.weights();
  } else if (line.kind() == "labels" && !batches.empty()) {
    batches.back().labels.assign(line.labels().begin(), line.labels().end());
  } else if (line.kind() == "batch") {
    if (line.training() && line.module() != model) return;
    SeenBatch batch = BatchOf(line);
    // The training counts its steps itself.
    if (line.training() && line.module() == 0 && line.weights() > 0) {
      rank->end_weights = line.weights() + 1;
    }
    // The same batch through the model again, as sharpness-aware optimizers do.
    if (!batches.empty() && batches.back().pass == batch.pass &&
        batches.back().ids == batch.ids && batch.pass > 0 &&
        batches.back().weights == batch.weights) {
      return;
    }
    batches.push_back(std::move(batch));
  }
}

// Training batches that came from no loader, although others did: what a
// program tries before it begins.
void DropTrials(SeenRank* rank) {
  const auto from_none = [](const SeenBatch& b) { return b.pass == 0; };
  if (absl::c_all_of(rank->training, from_none)) return;
  rank->training.erase(
      std::remove_if(rank->training.begin(), rank->training.end(), from_none),
      rank->training.end());
}

}  // namespace

Life LifeOf(const std::vector<std::vector<AuditLine>>& processes) {
  Life life;
  // Also counts those that got no batch, unless what they got was not seen.
  int ranks = 1;
  bool all_seen = true;
  const bool has_batches = absl::c_any_of(processes, [](const auto& lines) {
    return absl::c_any_of(
        lines, [](const AuditLine& line) { return line.kind() == "batch"; });
  });
  for (const std::vector<AuditLine>& lines : processes) {
    const int model = ModelOf(lines);
    int rank = -1;
    for (const AuditLine& line : lines) {
      if (line.kind() == "batch") {
        rank = line.rank();
        ranks = std::max(ranks, std::min(line.world_size(), kMostRanks));
      }
      if (line.kind() == "problem") AddProblem(line.text(), &life.problems);
    }
    all_seen = all_seen && (rank >= 0 || !HasProblem(lines));
    // A restart at the end of a training gets no batch, and says no rank.
    if (!has_batches && !lines.empty())
      rank = static_cast<int>(life.ranks.size());
    if (rank < 0 || rank >= kMostRanks) continue;
    if (life.ranks.size() <= static_cast<size_t>(rank)) {
      life.ranks.resize(rank + 1);
    }
    for (const AuditLine& line : lines) AddLine(line, model, &life.ranks[rank]);
    DropTrials(&life.ranks[rank]);
  }
  if (!all_seen) ranks = 1;
  life.ranks.resize(std::max(life.ranks.size(), static_cast<size_t>(ranks)));
  return life;
}

namespace {

// How many steps of each life the weights remember.
using Kept = std::vector<size_t>;

// Finds the step of an earlier life before which the weights were `weights`.
bool CutAt(const TrainingRun& run, size_t life, int64_t weights, Kept* kept) {
  if (weights == 0) return false;
  for (size_t before = 0; before < life; ++before) {
    const SeenRank& rank = run.lives[before].ranks[0];
    for (size_t step = 0; step <= (*kept)[before]; ++step) {
      const bool is_end = step == rank.training.size();
      const int64_t found =
          is_end ? rank.end_weights : rank.training[step].weights;
      if (found != weights) continue;
      (*kept)[before] = step;
      for (size_t later = before + 1; later < life; ++later) {
        (*kept)[later] = 0;
      }
      return true;
    }
  }
  return false;
}

int64_t Steps(const Kept& kept, size_t lives) {
  int64_t steps = 0;
  for (size_t life = 0; life < lives; ++life) {
    steps += static_cast<int64_t>(kept[life]);
  }
  return steps;
}

// The passes of `rank` in the order of their first batch, and the batches of
// each, of the first `steps` steps.
std::vector<std::pair<int64_t, std::vector<const SeenBatch*>>> Groups(
    const SeenRank& rank, size_t steps) {
  std::vector<std::pair<int64_t, std::vector<const SeenBatch*>>> groups;
  for (size_t i = 0; i < std::min(steps, rank.training.size()); ++i) {
    const SeenBatch& batch = rank.training[i];
    auto group = absl::c_find_if(
        groups, [&](const auto& g) { return g.first == batch.pass; });
    if (group == groups.end()) {
      group = groups.insert(groups.end(), {batch.pass, {}});
    }
    group->second.push_back(&batch);
  }
  return groups;
}

const SeenPass* FindPass(const SeenRank& rank, int64_t number) {
  for (const SeenPass& pass : rank.passes) {
    if (pass.number == number) return &pass;
  }
  return nullptr;
}

// Whether the first `count` batches of a pass are all of it.
bool IsWhole(const SeenRank& rank, int64_t number, size_t count) {
  const auto all = absl::c_count_if(
      rank.training, [&](const SeenBatch& b) { return b.pass == number; });
  if (static_cast<size_t>(all) > count) return false;
  const SeenPass* const pass = FindPass(rank, number);
  if (pass == nullptr) return false;
  return pass->ended ||
         (pass->length > 0 && count >= static_cast<size_t>(pass->length));
}

class Builder {
 public:
  explicit Builder(History* history) : history_(*history) {}

  void AddLife(size_t index, const Life& life, size_t steps) {
    const SeenRank& first = life.ranks[0];
    // Ranks may have got more batches than the first one.
    const bool is_all = life.killed_rank < 0 && steps == first.training.size();
    const size_t rank_steps =
        is_all ? std::numeric_limits<size_t>::max() : steps;
    const auto groups = Groups(first, steps);
    const auto all_groups = Groups(first, first.training.size());
    if (open_ && BeginsEmpty(first)) CloseEpoch(index, life.ranks.size());
    for (size_t g = 0; g < groups.size(); ++g) {
      if (g > 0 || !open_) history_.epochs.emplace_back();
      SeenEpoch& epoch = history_.epochs.back();
      Piece piece;
      piece.life = index;
      for (const SeenRank& rank : life.ranks) {
        piece.ranks.push_back(BatchesOf(rank, rank_steps, g, first));
      }
      epoch.pieces.push_back(std::move(piece));
      // A rank may go on to the next epoch before the first one says so.
      epoch.whole = absl::c_any_of(life.ranks, [&](const SeenRank& rank) {
        const auto own = Groups(rank, rank_steps);
        return g < own.size() &&
               IsWhole(rank, own[g].first, own[g].second.size());
      });
      if (const SeenPass* pass = FindPass(first, groups[g].first)) {
        epoch.replacement = epoch.replacement || pass->replacement;
        if (!epoch.drop_last.has_value()) epoch.drop_last = pass->drop_last;
      }
      // The training left the loader by itself if it went on with another one.
      const bool is_last = g + 1 == all_groups.size();
      const bool is_cut = g + 1 == groups.size() &&
                          groups[g].second.size() < all_groups[g].second.size();
      open_ = !epoch.whole && (is_last || is_cut);
    }
  }

 private:
  // Whether its first epoch ended before a batch came: the restart went on
  // beyond the end of the epoch.
  static bool BeginsEmpty(const SeenRank& rank) {
    return absl::c_any_of(rank.passes, [&](const SeenPass& pass) {
      return pass.empty &&
             (rank.training.empty() || pass.number < rank.training[0].pass);
    });
  }

  void CloseEpoch(size_t life, size_t ranks) {
    SeenEpoch& epoch = history_.epochs.back();
    Piece nothing;
    nothing.life = life;
    nothing.ranks.resize(ranks);
    epoch.pieces.push_back(std::move(nothing));
    epoch.whole = true;
    open_ = false;
  }

  static std::vector<const SeenBatch*> BatchesOf(const SeenRank& rank,
                                                 size_t steps, size_t group,
                                                 const SeenRank& first) {
    const auto own = Groups(rank, steps);
    const bool has_passes =
        &rank == &first ||
        absl::c_any_of(rank.training,
                       [](const SeenBatch& b) { return b.pass > 0; });
    if (has_passes) {
      return group < own.size() ? own[group].second
                                : std::vector<const SeenBatch*>();
    }
    // Rank 0 reads for all.
    std::vector<const SeenBatch*> batches;
    const int64_t pass = Groups(first, steps)[group].first;
    for (size_t i = 0; i < std::min(steps, rank.training.size()); ++i) {
      if (i < first.training.size() && first.training[i].pass == pass) {
        batches.push_back(&rank.training[i]);
      }
    }
    return batches;
  }

  History& history_;
  bool open_ = false;
};

// The number of samples of a step over all ranks.
size_t StepSamples(const Life& life, size_t step) {
  size_t count = 0;
  for (const SeenRank& rank : life.ranks) {
    if (step < rank.training.size()) count += rank.training[step].ids.size();
  }
  return count;
}

// The samples of `batch` at `places`.
std::unique_ptr<const SeenBatch> PartOf(const SeenBatch& batch,
                                        const std::vector<size_t>& places) {
  auto part = std::make_unique<SeenBatch>(batch);
  for (const auto of : {&SeenBatch::ids, &SeenBatch::seconds, &SeenBatch::draws,
                        &SeenBatch::labels}) {
    if ((batch.*of).size() != batch.ids.size()) continue;
    (*part.*of).clear();
    for (const size_t place : places) {
      ((*part).*of).push_back((batch.*of)[place]);
    }
  }
  return part;
}

// Epochs of as many samples each, for trainings whose loaders say nothing.
class Windows {
 public:
  Windows(int64_t epoch_samples, History* history)
      : size_(static_cast<size_t>(epoch_samples)), history_(*history) {}

  void AddStep(size_t index, const Life& life, size_t step) {
    if (count_ >= size_) Begin();
    const bool fits = count_ + StepSamples(life, step) <= size_;
    std::vector<std::unique_ptr<const SeenBatch>> rest(life.ranks.size());
    for (size_t r = 0; r < life.ranks.size(); ++r) {
      if (step >= life.ranks[r].training.size()) continue;
      const SeenBatch& batch = life.ranks[r].training[step];
      if (fits) {
        Add(index, life, r, &batch);
        continue;
      }
      // In which order ranks share a step is not known, so this epoch gets what
      // it lacks.
      std::vector<size_t> own, others;
      for (size_t i = 0; i < batch.ids.size(); ++i) {
        const bool is_new =
            batch.ids[i] < 0 || seen_.insert(batch.ids[i]).second;
        const bool is_own = is_new && count_ + own.size() < size_;
        (is_own ? own : others).push_back(i);
      }
      history_.parts.push_back(PartOf(batch, own));
      if (!own.empty()) Add(index, life, r, history_.parts.back().get());
      if (!others.empty()) rest[r] = PartOf(batch, others);
    }
    if (fits) return;
    Begin();
    for (size_t r = 0; r < rest.size(); ++r) {
      if (rest[r] == nullptr) continue;
      history_.parts.push_back(std::move(rest[r]));
      Add(index, life, r, history_.parts.back().get());
    }
  }

  void End() {
    if (count_ >= size_ && !history_.epochs.empty()) {
      history_.epochs.back().whole = true;
    }
  }

 private:
  void Begin() {
    if (!history_.epochs.empty()) history_.epochs.back().whole = true;
    history_.epochs.emplace_back();
    count_ = 0;
    seen_.clear();
  }

  void Add(size_t index, const Life& life, size_t rank,
           const SeenBatch* batch) {
    if (history_.epochs.empty()) Begin();
    std::vector<Piece>& pieces = history_.epochs.back().pieces;
    if (pieces.empty() || pieces.back().life != index) {
      pieces.emplace_back();
      pieces.back().life = index;
      pieces.back().ranks.resize(life.ranks.size());
    }
    pieces.back().ranks[rank].push_back(batch);
    count_ += batch->ids.size();
    seen_.insert(batch->ids.begin(), batch->ids.end());
  }

  const size_t size_;
  History& history_;
  size_t count_ = 0;
  std::set<int64_t> seen_;
};

}  // namespace

int64_t EpochSamples(const TrainingRun& whole, int64_t items) {
  const Life& life = whole.lives[0];
  std::set<int64_t> seen;
  for (size_t step = 0; step < life.ranks[0].training.size(); ++step) {
    const auto before = static_cast<int64_t>(seen.size());
    const auto samples = static_cast<int64_t>(StepSamples(life, step));
    for (const SeenRank& rank : life.ranks) {
      if (step >= rank.training.size()) continue;
      const SeenBatch& batch = rank.training[step];
      if (batch.pass > 0) return items;
      seen.insert(batch.ids.begin(), batch.ids.end());
    }
    const auto after = static_cast<int64_t>(seen.size());
    if (after >= items) return items;
    if (after < before + samples) {
      return before > items - samples ? before : items;
    }
  }
  return items;
}

History HistoryOf(const TrainingRun& run, int64_t epoch_samples) {
  History history;
  Kept kept;
  for (size_t l = 0; l < run.lives.size(); ++l) {
    const SeenRank& rank = run.lives[l].ranks[0];
    if (l > 0) {
      Restart restart;
      const int64_t before = Steps(kept, l);
      const int64_t weights =
          rank.training.empty() ? 0 : rank.training[0].weights;
      if (CutAt(run, l, weights, &kept)) {
        restart.steps_lost = before - Steps(kept, l);
        restart.from_scratch = Steps(kept, l) == 0;
      } else {
        restart.reason = rank.training.empty()
                             ? "it trained on nothing"
                             : "it began with the weights of no earlier step";
        restart.is_unknown = !rank.training.empty();
        // A training of its own.
        if (restart.is_unknown) std::fill(kept.begin(), kept.end(), 0);
      }
      history.restarts.push_back(restart);
    }
    kept.push_back(rank.training.size());
    history.has_passes =
        history.has_passes ||
        absl::c_any_of(rank.training, [](const auto& b) { return b.pass > 0; });
  }
  if (!history.has_passes) {
    Windows windows(epoch_samples, &history);
    for (size_t l = 0; l < run.lives.size(); ++l) {
      for (size_t step = 0; step < kept[l]; ++step) {
        windows.AddStep(l, run.lives[l], step);
      }
    }
    windows.End();
  } else {
    Builder builder(&history);
    for (size_t l = 0; l < run.lives.size(); ++l) {
      builder.AddLife(l, run.lives[l], kept[l]);
    }
  }
  for (size_t r = 0; r < history.restarts.size(); ++r) {
    if (!history.restarts[r].is_unknown) continue;
    const auto first = absl::c_find_if(history.epochs, [&](const auto& epoch) {
      return !epoch.pieces.empty() && epoch.pieces[0].life == r + 1;
    });
    if (first != history.epochs.end()) first->may_be_rest = true;
  }
  return history;
}

}  // namespace feedrate
