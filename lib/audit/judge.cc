#include "lib/audit/judge.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/audit/draws.h"
#include "lib/audit/epoch_coverage.h"
#include "lib/base/text.h"
#include "lib/draw/text.h"

namespace feedrate {
namespace {

// Below this share of readable samples nothing is said.
constexpr double kEnoughReadable = 0.5;
// A mixture that keeps its weights is called wrong once in 100,000 times.
constexpr double kMostDeviations = 4.5;
// More names would hide the counts.
constexpr size_t kNamedItems = 5;
// A line with the batches of thousands of ranks would be read by nobody.
constexpr ptrdiff_t kNamedRanks = 16;

std::string Ordinal(size_t number) {
  const char* const names[] = {"no", "first", "second", "third"};
  return number < 4 ? names[number] : absl::StrCat(number, "th");
}

std::string Of(int64_t count, int64_t items) {
  return absl::StrCat(count, " of ", Counted(items, "item"));
}

const char* Were(int64_t count) { return count == 1 ? "was" : "were"; }

class Judge {
 public:
  Judge(const AuditItems& items, const TrainingRun& whole,
        const JudgeRules& rules, Audit* audit)
      : items_(items),
        all_items_(items.items() + items.validation_items()),
        held_out_(HeldOut(whole, items.items())),
        trained_items_(items.items() - static_cast<int64_t>(held_out_.size())),
        epoch_samples_(EpochSamples(whole, trained_items_)),
        rules_(rules),
        weights_(rules.weights),
        audit_(*audit) {
    if (held_out_.empty()) return;
    Note(absl::StrCat(Counted(held_out_.size(), "item"),
                      " of train/ only evaluated: a split of its own"));
  }

  // `is_killed`: the run is compared with what the whole one left out.
  void JudgeRun(const TrainingRun& run, bool is_killed) {
    const History history = HistoryOf(run, epoch_samples_);
    if (!history.has_passes && !is_killed && weights_.empty()) {
      Note(absl::StrCat(
          "its loader does not say where an epoch begins: taken to be ",
          Counted(epoch_samples_, "sample")));
    }
    if (!is_killed) JudgeWeights(history);
    for (size_t e = 0; e < history.epochs.size(); ++e) {
      JudgeCoverage(history, e, is_killed);
      if (!is_killed) JudgeRanks(history, e);
    }
    if (!is_killed && !history.has_passes) {
      std::vector<size_t> batches;
      for (const SeenRank& rank : run.lives[0].ranks) {
        batches.push_back(rank.training.size());
      }
      JudgeBatches("", batches);
    }
    JudgeOrder(history.epochs);
    JudgeRestarts(history);
    if (is_killed) JudgeEnd(history);
    if (!JudgeLabels(run) && !is_killed) {
      Note("labels were not judged: none was seen");
    }
    if (!JudgeValidation(run) && !is_killed) {
      Note("validation was not judged: no whole pass over its items was seen");
    }
    for (const std::string& fault : RepeatedDraws(run)) Fault(fault);
    if (!is_killed) {
      first_order_ = FirstOrder(history);
      usual_epochs_ = history.epochs.size();
    }
    if (is_killed && !first_order_.empty() && !history.epochs.empty() &&
        history.epochs[0].pieces.size() == 1 &&
        FirstOrder(history) != first_order_) {
      Note("two runs of the command saw the items in different orders");
    }
  }

 private:
  void Fault(const std::string& text) {
    if (!absl::c_linear_search(audit_.faults(), text)) audit_.add_faults(text);
  }
  void Note(const std::string& text) {
    if (!absl::c_linear_search(audit_.notes(), text)) audit_.add_notes(text);
  }

  static std::vector<int64_t> FirstOrder(const History& history) {
    return history.epochs.empty() ? std::vector<int64_t>()
                                  : OrderOf(history.epochs[0], 0);
  }

  void JudgeCoverage(const History& history, size_t e, bool is_killed) {
    const SeenEpoch& epoch = history.epochs[e];
    EpochCoverage found = CoverageOf(epoch, 0, items_.items(), all_items_);
    LeaveOut(epoch, &found);
    const std::string name = absl::StrCat("epoch ", e + 1, ": ");
    if (found.leaked > 0) {
      Fault(absl::StrCat(name, Counted(found.leaked, "sample"),
                         " of the validation set ", Were(found.leaked),
                         " trained on"));
    }
    if (!weights_.empty()) return;
    if (epoch.replacement) {
      Note("its sampler draws with replacement: repetitions are no fault");
      return;
    }
    AddCoverage(epoch, found);
    // A loader that has kept what fills no batch drops at most what ranks
    // cannot share.
    const bool drops =
        DropsRemainder(epoch, found) &&
        (!keeps_rest_ || found.lost() < static_cast<int64_t>(found.ranks));
    const bool pads = !rules_.is_strict && PadsRanks(epoch, found);
    // A resume hides nothing in what an epoch without kills leaves out, unless
    // other ranks share the rest.
    const bool as_usual =
        !is_killed || found.ranks != usual_ranks_ ||
        epoch.pieces.back().ranks.size() != usual_ranks_ ||
        (found.lost() <= usual_lost_ && found.extra <= usual_extra_);
    if (drops && as_usual) {
      Note(absl::StrCat("each epoch leaves out ",
                        Of(found.lost(), trained_items_),
                        ", which fill no batch: ",
                        epoch.drop_last.has_value()
                            ? "drop_last"
                            : "drop_last, or a loss that looks like it, "
                              "because its loader does not say drop_last"));
    }
    if (pads && as_usual) {
      Note(absl::StrCat("each epoch repeats ", Counted(found.extra, "item"),
                        " so that all ranks get as many batches"));
    }
    if (!is_killed && (drops || pads)) {
      usual_lost_ = std::max(usual_lost_, found.lost());
      usual_extra_ = std::max(usual_extra_, found.extra);
    }
    // Some trainers leave the loader after a restart, once the epoch has as
    // many steps as others.
    if (!is_killed && epoch.whole && history.has_passes) {
      usual_steps_ = StepsOf(epoch);
    }
    if (!is_killed) usual_ranks_ = found.ranks;
    if (!is_killed && epoch.whole && found.lost() == 0 && !found.equal_sizes) {
      keeps_rest_ = true;
    }
    const bool is_whole =
        epoch.whole || (epoch.pieces.size() > 1 && usual_steps_ > 0 &&
                        StepsOf(epoch) >= usual_steps_);
    // Left by the training itself, or not yet over.
    const int64_t lost = is_whole && !epoch.may_be_rest ? found.lost() : 0;
    if (!is_whole && e + 1 < history.epochs.size()) {
      Note(absl::StrCat(name, "the training left its loader after ",
                        Counted(found.samples, "sample")));
    }
    const bool is_lost = lost > 0 && !(drops && as_usual);
    const bool is_repeated = found.extra > 0 && !(pads && as_usual);
    if (!is_lost && !is_repeated) return;
    std::vector<std::string> words;
    if (is_lost) {
      words.push_back(absl::StrCat(Of(lost, trained_items_), " never seen",
                                   AfterRestart(epoch), Names(found.missing)));
    }
    if (is_repeated) {
      words.push_back(
          absl::StrCat(RepeatedWords(epoch, found), Names(found.repeated)));
    }
    Fault(absl::StrCat(name, absl::StrJoin(words, "; ")));
  }

  // Items that the training keeps for evaluation are not missing; trained on
  // after a restart, they are a leak.
  void LeaveOut(const SeenEpoch& epoch, EpochCoverage* found) const {
    const auto is_held = [this](int64_t id) { return held_out_.count(id) > 0; };
    auto& missing = found->missing;
    missing.erase(std::remove_if(missing.begin(), missing.end(), is_held),
                  missing.end());
    VisitBatches(epoch, [&](const SeenBatch& batch) {
      found->leaked += absl::c_count_if(ItemsOf(batch), is_held);
    });
  }

  // " (a, b, …)".
  std::string Names(const std::vector<int64_t>& items) const {
    if (rules_.name == nullptr) return "";
    std::vector<std::string> names;
    for (const int64_t item : items) {
      if (names.size() == kNamedItems) break;
      names.push_back(rules_.name(item));
    }
    return absl::StrCat(" (", absl::StrJoin(names, ", "),
                        items.size() > names.size() ? ", …" : "", ")");
  }

  static size_t StepsOf(const SeenEpoch& epoch) {
    size_t steps = 0;
    for (const Piece& piece : epoch.pieces) steps += piece.ranks[0].size();
    return steps;
  }

  static std::string AfterRestart(const SeenEpoch& epoch) {
    const size_t life = epoch.pieces.back().life;
    return epoch.pieces.size() > 1
               ? absl::StrCat(" after the ", Ordinal(life), " restart")
               : "";
  }

  void AddCoverage(const SeenEpoch& epoch, const EpochCoverage& found) {
    AuditCoverage& coverage = *audit_.mutable_coverage();
    coverage.set_epochs(coverage.epochs() + 1);
    coverage.set_items(items_.items());
    if (epoch.whole) coverage.set_missing(coverage.missing() + found.lost());
    coverage.set_duplicates(coverage.duplicates() + found.extra);
    coverage.set_unreadable(coverage.unreadable() + found.unreadable);
    if (rules_.name == nullptr) return;
    const auto add = [this](const std::vector<int64_t>& items, auto* names) {
      for (const int64_t item : items) {
        if (names->size() < static_cast<int>(kNamedItems)) {
          *names->Add() = rules_.name(item);
        }
      }
    };
    add(found.missing, coverage.mutable_first_missing());
    add(found.repeated, coverage.mutable_first_duplicates());
  }

  void JudgeBatches(const std::string& name,
                    const std::vector<size_t>& batches) {
    if (std::set<size_t>(batches.begin(), batches.end()).size() > 1) {
      const auto end =
          batches.begin() + std::min<ptrdiff_t>(batches.size(), kNamedRanks);
      Fault(absl::StrCat(name, "the ranks got ",
                         absl::StrJoin(batches.begin(), end, ", "),
                         end == batches.end() ? "" : ", ...",
                         " batches; a step that waits for all of them hangs"));
    }
  }

  void JudgeRanks(const History& history, size_t e) {
    const std::vector<Batches>& ranks = history.epochs[e].pieces[0].ranks;
    if (ranks.size() < 2) return;
    std::vector<size_t> batches;
    for (const Batches& rank : ranks) batches.push_back(rank.size());
    // Where samples are counted instead, a batch may be of two epochs.
    if (history.has_passes) {
      JudgeBatches(absl::StrCat("epoch ", e + 1, ": "), batches);
    }
    const std::vector<int64_t> first = IdsOf(ranks[0]);
    for (size_t r = 1; r < ranks.size(); ++r) {
      if (!first.empty() && IdsOf(ranks[r]) == first) {
        Fault(absl::StrCat("epoch ", e + 1, ": rank ", r,
                           " saw the same items as rank 0, in the same order"));
      }
    }
  }

  void JudgeOrder(const std::vector<SeenEpoch>& epochs) {
    bool sorted = !epochs.empty();
    for (size_t e = 0; e < epochs.size(); ++e) {
      const std::vector<int64_t> order = OrderOf(epochs[e], 0);
      sorted = sorted && order.size() > 8 && absl::c_is_sorted(order);
      for (size_t f = 0; f < e; ++f) {
        const std::vector<int64_t> other = OrderOf(epochs[f], 0);
        const size_t common = std::min(order.size(), other.size());
        // Of two orders, so many are not equal by chance.
        if (common < 8 || epochs[e].replacement) continue;
        if (!std::equal(order.begin(), order.begin() + common, other.begin())) {
          continue;
        }
        if (absl::c_is_sorted(order)) continue;
        Fault(absl::StrCat("epoch ", e + 1, " has the order of epoch ", f + 1));
        break;
      }
    }
    if (sorted) Fault("items come in the order of the files: not shuffled");
  }

  void JudgeRestarts(const History& history) {
    bool within = false;
    for (size_t r = 0; r < history.restarts.size(); ++r) {
      const Restart& restart = history.restarts[r];
      AuditResume& resume = *audit_.mutable_training()->add_restarts();
      resume.set_reason(restart.reason);
      const std::string name = absl::StrCat("the ", Ordinal(r + 1), " restart");
      if (!restart.reason.empty()) {
        const std::string words = absl::StrCat(name, ": ", restart.reason);
        if (!restart.is_unknown) Note(words);
        if (restart.is_unknown && audit_.reason().empty()) {
          audit_.set_reason(
              absl::StrCat(words, "; what it lost or repeated is not known"));
        }
        continue;
      }
      if (restart.from_scratch) {
        Note(absl::StrCat(
            name, " began from scratch: ", Counted(restart.steps_lost, "step"),
            " of training were lost"));
      }
      for (const SeenEpoch& epoch : history.epochs) {
        FillResume(epoch, r + 1, &resume);
      }
      within = within || resume.after_batches() > 0;
    }
    if (within || history.restarts.empty()) return;
    Note("no restart went on within an epoch: use other --kills or --seed");
  }

  // Whether sources come as often as their weights say.
  void JudgeWeights(const History& history) {
    int64_t first = 0;
    for (size_t s = 0; s < weights_.size(); ++s) {
      const int64_t end = first + items_.sources(static_cast<int>(s));
      double samples = 0, own = 0, squares = 0;
      for (const SeenEpoch& epoch : history.epochs) {
        VisitBatches(epoch, [&](const SeenBatch& batch) {
          const auto size = static_cast<double>(
              absl::c_count_if(batch.ids, [](int64_t id) { return id >= 0; }));
          const auto count = static_cast<double>(absl::c_count_if(
              batch.ids, [&](int64_t id) { return id >= first && id < end; }));
          samples += size;
          own += count;
          squares += std::pow(count - weights_[s] * size, 2);
        });
      }
      first = end;
      if (samples == 0) continue;
      // Samples of a batch may be of one draw.
      const double deviation = std::sqrt(
          std::max(squares, samples * weights_[s] * (1 - weights_[s])));
      const std::string words = absl::StrCat(
          "source ", s + 1, " of the mixture has ", PercentText(own / samples),
          " of ", Counted(static_cast<int64_t>(samples), "sample"));
      if (std::abs(own - weights_[s] * samples) > kMostDeviations * deviation) {
        Fault(absl::StrCat(words, ", not ", PercentText(weights_[s])));
      } else {
        Note(absl::StrCat(words, "; its weight is ", PercentText(weights_[s])));
      }
    }
  }

  // Whether a restart made the training shorter.
  void JudgeEnd(const History& history) {
    const bool is_known = absl::c_none_of(
        history.restarts, [](const Restart& r) { return r.is_unknown; });
    if (!is_known || !history.has_passes) return;
    if (history.epochs.size() < usual_epochs_) {
      Fault(absl::StrCat("the training ended after ", history.epochs.size(),
                         " of ", Counted(usual_epochs_, "epoch"),
                         " once it was restarted"));
    }
  }

  // What the piece of life `life` repeats of the epoch before it, and what the
  // epoch lacks at its end.
  void FillResume(const SeenEpoch& epoch, size_t life, AuditResume* resume) {
    std::set<int64_t> before;
    int64_t batches = 0;
    for (size_t p = 0; p < epoch.pieces.size(); ++p) {
      const Piece& piece = epoch.pieces[p];
      std::set<int64_t> own;
      int64_t steps = 0;
      for (const Batches& rank : piece.ranks) {
        steps = std::max(steps, static_cast<int64_t>(rank.size()));
        for (const int64_t id : IdsOf(rank)) own.insert(id);
      }
      if (p > 0 && piece.life == life) {
        resume->set_repeated_items(absl::c_count_if(
            own, [&](int64_t id) { return id >= 0 && before.count(id) > 0; }));
        if (p + 1 == epoch.pieces.size() &&
            (epoch.whole || StepsOf(epoch) >= usual_steps_)) {
          resume->set_lost(
              CoverageOf(epoch, 0, items_.items(), all_items_).lost());
        }
        resume->set_after_batches(batches);
        return;
      }
      batches += steps;
      before.insert(own.begin(), own.end());
    }
  }

  // False: items have labels, and none was seen.
  bool JudgeLabels(const TrainingRun& run) {
    if (items_.classes() < 2) return true;
    std::map<int64_t, std::map<int64_t, int64_t>> seen;
    for (const Life& life : run.lives) {
      for (const SeenRank& rank : life.ranks) {
        for (const SeenBatch& batch : rank.training) {
          if (batch.labels.size() != batch.ids.size()) continue;
          if (!batch.seconds.empty()) continue;
          for (size_t i = 0; i < batch.ids.size(); ++i) {
            if (batch.ids[i] < 0) continue;
            ++seen[batch.ids[i] % items_.classes()][batch.labels[i]];
          }
        }
      }
    }
    int64_t wrong = 0, all = 0;
    for (const auto& [label, counts] : seen) {
      int64_t most = 0, sum = 0;
      for (const auto& [given, count] : counts) {
        most = std::max(most, count);
        sum += count;
      }
      wrong += sum - most;
      all += sum;
    }
    if (wrong > 0) {
      Fault(absl::StrCat(wrong, " of ", Counted(all, "sample"),
                         " have the label of another item"));
    }
    return all > 0;
  }

  // Passes of evaluation that came to an end on all ranks. False: there are
  // items for it, and no such pass.
  bool JudgeValidation(const TrainingRun& run) {
    bool is_judged = items_.validation_items() == 0;
    for (const Life& life : run.lives) {
      std::vector<SeenEpoch> epochs;
      for (size_t r = 0; r < life.ranks.size(); ++r) {
        AddEvaluations(life.ranks[r], r, life.ranks.size(), &epochs);
      }
      for (const SeenEpoch& epoch : epochs) {
        is_judged = JudgeEvaluation(epoch) || is_judged;
      }
    }
    return is_judged;
  }

  static void AddEvaluations(const SeenRank& rank, size_t r, size_t ranks,
                             std::vector<SeenEpoch>* epochs) {
    size_t number = 0;
    for (const SeenPass& pass : rank.passes) {
      Batches batches;
      for (const SeenBatch& batch : rank.evaluation) {
        if (batch.pass == pass.number) batches.push_back(&batch);
      }
      const bool is_whole =
          pass.ended || static_cast<int64_t>(batches.size()) == pass.length;
      if (batches.empty() || !is_whole) continue;
      if (number == epochs->size()) {
        epochs->emplace_back();
        epochs->back().whole = true;
        epochs->back().pieces.resize(1);
        epochs->back().pieces[0].ranks.resize(ranks);
      }
      (*epochs)[number++].pieces[0].ranks[r] = std::move(batches);
    }
  }

  bool JudgeEvaluation(const SeenEpoch& epoch) {
    const int64_t first = items_.items(), items = items_.validation_items();
    const EpochCoverage found = CoverageOf(epoch, first, items, all_items_);
    // Of other data, such as a part of the training set.
    if (found.leaked > 0) return false;
    // Each rank may evaluate all.
    bool each_all = true, is_full = true;
    for (const Batches& rank : epoch.pieces[0].ranks) {
      is_full = is_full && !rank.empty();
      SeenEpoch own;
      own.pieces.resize(1);
      own.pieces[0].ranks = {rank};
      const EpochCoverage part = CoverageOf(own, first, items, all_items_);
      each_all = each_all && part.lost() == 0 && part.extra == 0;
    }
    if (each_all) return true;
    // Another rank was killed, or only some evaluate.
    if (!is_full && found.lost() > 0) return false;
    if (found.lost() > 0) {
      Fault(
          absl::StrCat("validation: ", Of(found.lost(), items), " never seen"));
    }
    if (PadsRanks(epoch, found)) {
      Note(absl::StrCat("validation counts ", Counted(found.extra, "item"),
                        " twice, so that all ranks get as many batches"));
    } else if (found.extra > 0) {
      Fault(absl::StrCat("validation: ", Counted(found.repeated.size(), "item"),
                         " seen more than once"));
    }
    return true;
  }

  const AuditItems& items_;
  const int64_t all_items_;
  const std::set<int64_t> held_out_;
  const int64_t trained_items_;
  const int64_t epoch_samples_;
  const JudgeRules& rules_;
  const std::vector<double>& weights_;
  Audit& audit_;
  int64_t usual_lost_ = 0;
  int64_t usual_extra_ = 0;
  size_t usual_steps_ = 0;
  bool keeps_rest_ = false;
  size_t usual_ranks_ = 1;
  size_t usual_epochs_ = 0;
  std::vector<int64_t> first_order_;
};

// Samples of all runs, and rank 0's wait and memory in the first.
void FillTraining(const TrainingRun& run, bool is_first,
                  AuditTraining* training) {
  for (const Life& life : run.lives) {
    if (life.killed_rank >= 0) training->set_kills(training->kills() + 1);
    for (const SeenRank& rank : life.ranks) {
      for (const SeenBatch& batch : rank.training) {
        training->set_samples(training->samples() + batch.ids.size());
        training->set_unreadable(training->unreadable() +
                                 absl::c_count(batch.ids, -1));
        training->set_mixed(
            training->mixed() +
            absl::c_count_if(batch.seconds, [](int64_t i) { return i >= 0; }));
      }
    }
  }
  training->set_runs(training->runs() + 1);
  const std::vector<SeenBatch>& steps = run.lives[0].ranks[0].training;
  if (!is_first || steps.empty()) return;
  training->set_steps(static_cast<int64_t>(steps.size()));
  training->set_first_rss_bytes(steps.front().rss_bytes);
  training->set_last_rss_bytes(steps.back().rss_bytes);
  double wait = 0;
  for (size_t i = 1; i < steps.size(); ++i) wait += steps[i].wait_s;
  const double seconds = steps.back().time_s - steps.front().time_s;
  if (seconds > 0) training->set_wait_share(wait / seconds);
}

}  // namespace

void JudgeTraining(const AuditItems& items, const TrainingRun& whole,
                   const TrainingRun* killed, const JudgeRules& rules,
                   Audit* audit) {
  AuditTraining& training = *audit->mutable_training();
  FillTraining(whole, true, &training);
  if (killed != nullptr) FillTraining(*killed, false, &training);
  audit->set_num_items(items.items());
  for (const TrainingRun* run : {&whole, killed}) {
    if (run == nullptr) continue;
    for (const Life& life : run->lives) {
      for (const std::string& problem : life.problems) {
        if (!absl::c_linear_search(audit->notes(), problem)) {
          audit->add_notes(problem);
        }
      }
    }
  }
  const double readable =
      static_cast<double>(training.samples() - training.unreadable());
  if (!rules.is_strict &&
      (readable < kEnoughReadable * static_cast<double>(training.samples()) ||
       training.samples() == 0)) {
    audit->set_reason(
        training.samples() == 0
            ? "no batch of the training was seen; add "
              "feedrate.audit.saw(batch) to its loop"
            : absl::StrCat(training.unreadable(), " of ",
                           Counted(training.samples(), "sample"),
                           " show no item; resize to no less than a quarter of "
                           "their side, and leave out changes of hue"));
    return;
  }
  Judge judge(items, whole, rules, audit);
  judge.JudgeRun(whole, false);
  if (killed != nullptr) judge.JudgeRun(*killed, true);
  if (training.unreadable() > 0) {
    audit->add_notes(absl::StrCat(training.unreadable(), " of ",
                                  Counted(training.samples(), "sample"),
                                  " show no item for sure and are not judged"));
  }
  if (!audit->faults().empty()) {
    audit->clear_reason();
    audit->set_verdict("fail");
  } else if (audit->reason().empty()) {
    audit->set_verdict("pass");
  }
}

}  // namespace feedrate
