#include "lib/analysis/aggregate/row_groups.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "lib/analysis/rows/fields.h"
#include "lib/analysis/rows/row_log.h"
#include "lib/base/status_macros.h"
#include "lib/records/attempts.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

// Filter bits per row. A run sets two bits of one 64-bit word. With 16 bits per
// row, one run in 50 is a false positive.
constexpr uint64_t kBitsPerRow = 16;
// The second filter holds few runs.
constexpr uint64_t kBitsPerCandidate = 4;

// A Bloom filter for several threads. Its final content does not depend on
// their timing.
class BitFilter {
 public:
  BitFilter(uint64_t rows, uint64_t bits_per_row)
      : words_(rows * bits_per_row / 64 + 1) {}

  // True if it was set before.
  bool Set(uint64_t hash) {
    const uint64_t bits = BitsOf(hash);
    uint64_t& word = WordOf(hash);
    // Reading first is cheaper than an atomic write.
    if ((__atomic_load_n(&word, __ATOMIC_RELAXED) & bits) == bits) return true;
    return (__atomic_fetch_or(&word, bits, __ATOMIC_RELAXED) & bits) == bits;
  }
  bool Has(uint64_t hash) const {
    const uint64_t bits = BitsOf(hash);
    return (__atomic_load_n(&WordOf(hash), __ATOMIC_RELAXED) & bits) == bits;
  }
  void Prefetch(uint64_t hash) const { __builtin_prefetch(&WordOf(hash), 1); }

 private:
  // The lowest bit of a run's hash is always 1.
  static uint64_t BitsOf(uint64_t hash) {
    return uint64_t{1} << (hash >> 1 & 63) | uint64_t{1} << (hash >> 7 & 63);
  }
  uint64_t& WordOf(uint64_t hash) const {
    const auto product = static_cast<unsigned __int128>(hash) * words_.size();
    return words_[static_cast<size_t>(product >> 64)];
  }
  BigArray<uint64_t> words_;
};

struct Candidate {
  LoggedRow* row;
  size_t log;
};

struct PieceOfLog {
  RowLog::Piece* piece;
  size_t log;
};

std::vector<PieceOfLog> PiecesOf(const std::vector<RowLog*>& logs) {
  std::vector<PieceOfLog> pieces;
  for (size_t log = 0; log < logs.size(); ++log) {
    for (RowLog::Piece& piece : logs[log]->pieces()) {
      pieces.push_back({&piece, log});
    }
  }
  return pieces;
}

// The rows of runs that may have several rows.
std::vector<Candidate> Candidates(const std::vector<RowLog*>& logs,
                                  size_t threads) {
  uint64_t rows = 0;
  for (const RowLog* log : logs) rows += static_cast<uint64_t>(log->size());
  const std::vector<PieceOfLog> pieces = PiecesOf(logs);
  BitFilter seen(rows, kBitsPerRow);
  BitFilter again(rows, kBitsPerCandidate);
  std::atomic<bool> any{false};
  ForEachInParallel(threads, pieces.size(), [&](size_t i) {
    const RowLog::Piece& piece = *pieces[i].piece;
    constexpr size_t kAhead = 16;
    for (size_t j = 0; j < piece.size; ++j) {
      if (j + kAhead < piece.size) seen.Prefetch(piece.rows[j + kAhead].run);
      const uint64_t run = piece.rows[j].run;
      if (run == 0 || !seen.Set(run)) continue;
      again.Set(run);
      any.store(true, std::memory_order_relaxed);
    }
  });
  std::vector<Candidate> candidates;
  if (!any) return candidates;
  std::mutex mutex;
  ForEachInParallel(threads, pieces.size(), [&](size_t i) {
    const RowLog::Piece& piece = *pieces[i].piece;
    std::vector<Candidate> found;
    for (size_t j = 0; j < piece.size; ++j) {
      LoggedRow* const row = &piece.rows[j];
      if (row->run != 0 && again.Has(row->run)) {
        found.push_back({row, pieces[i].log});
      }
    }
    std::lock_guard<std::mutex> lock(mutex);
    candidates.insert(candidates.end(), found.begin(), found.end());
  });
  return candidates;
}

// Calls `replaced` for each row that does not count (see ForEachReplaced in
// lib/analysis/rows/fields.h). Identifies runs by 64-bit hashes.
//
// Uses 2.5 bytes per row to find the few runs that may have several rows, and
// sorts only those. Searches with `threads` threads, but calls `replaced` from
// one. Calls `earlier` for each row that counts although it is not of the last
// attempt.
void ForEachReplacedRow(
    const std::vector<RowLog*>& logs, size_t threads,
    const std::function<void(size_t log, LoggedRow* row, bool is_duplicate)>&
        replaced,
    const std::function<void(size_t log, const LoggedRow& row, int last)>&
        earlier) {
  std::vector<Candidate> candidates = Candidates(logs, threads);
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) {
              return a.row->run < b.row->run;
            });
  std::vector<Attempt> attempts;
  for (size_t first = 0; first < candidates.size();) {
    const uint64_t run = candidates[first].row->run;
    attempts.clear();
    size_t last = first;
    for (; last < candidates.size() && candidates[last].row->run == run;
         ++last) {
      const Candidate& candidate = candidates[last];
      const RawGroup& group =
          logs[candidate.log]->groups()[candidate.row->group];
      attempts.push_back({group.rank, candidate.row->order,
                          candidate.row->value, group.version, group.content,
                          last});
    }
    if (attempts.size() > 1) {
      ForEachReplaced(
          absl::MakeSpan(attempts), [&](size_t id, bool is_duplicate) {
            replaced(candidates[id].log, candidates[id].row, is_duplicate);
          });
      const Attempt& used = attempts[0];
      int last_attempt = 0;
      for (const Attempt& attempt : attempts) {
        if (attempt.version != used.version && attempt.version != 0) continue;
        last_attempt = std::max(last_attempt, AttemptNumber(attempt.order));
      }
      if (last_attempt > AttemptNumber(used.order)) {
        earlier(candidates[used.id].log, *candidates[used.id].row,
                last_attempt);
      }
    }
    first = last;
  }
}

constexpr uint32_t kGone = ~uint32_t{0};

// The group that a raw group belongs to, and its rows that still count.
struct Target {
  // Index of the RowGroup; kGone if the filter drops it.
  uint32_t group = kGone;
  int64_t rows = 0;
  int64_t retries = 0;
};

using Logs = std::vector<std::unique_ptr<RowLog>>;

bool IsEmpty(const Value& value) {
  return value.kind == Value::Kind::kAbsent ||
         (value.kind == Value::Kind::kText && value.text.empty());
}

std::string Describe(const Query& query, const std::vector<size_t>& by,
                     const RowGroup& group) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < group.by.size(); ++i) {
    parts.push_back(
        absl::StrCat(query.fields[by[i]].name, "=", ValueText(group.by[i])));
  }
  return parts.empty() ? "the only group" : absl::StrJoin(parts, " ");
}

class Grouper {
 public:
  Grouper(const Query& query, Logs logs, int threads)
      : query_(query),
        logs_(std::move(logs)),
        threads_(static_cast<size_t>(std::max(1, threads))) {
    for (size_t i = 0; i < query.by_count; ++i) result_.by.push_back(i);
  }

  absl::StatusOr<RowGroups> Group(bool split) {
    if (split) Split();
    Assign();
    CountRows();
    RETURN_IF_ERROR(Describe());
    Summarize();
    Sort();
    return std::move(result_);
  }

 private:
  bool IsHarness(const RawGroup& raw) const {
    return raw.values[query_.library].text == "null";
  }

  std::string KeyOf(const RawGroup& raw) const {
    std::string key = IsHarness(raw) ? "null" : "";
    for (const size_t field : result_.by) {
      AppendKey(ValueText(raw.values[field]), &key);
    }
    return key;
  }

  // Adds the fields of the work to `by` in which `ok` rows of a group differ.
  void Split() {
    std::vector<bool> differs(query_.fields.size());
    absl::flat_hash_map<std::string, const RawGroup*> first;
    for (const std::unique_ptr<RowLog>& log : logs_) {
      for (const RawGroup& raw : log->groups()) {
        if (!raw.used || !raw.is_ok || IsHarness(raw)) continue;
        const RawGroup& known = *first.emplace(KeyOf(raw), &raw).first->second;
        for (const size_t field : query_.held) {
          if (ValueText(raw.values[field]) != ValueText(known.values[field])) {
            differs[field] = true;
          }
        }
      }
    }
    for (const size_t field : query_.held) {
      if (differs[field] && IsWorkField(query_.fields[field].name)) {
        result_.by.push_back(field);
      }
    }
  }

  // Assigns each raw group to its group.
  void Assign() {
    absl::flat_hash_map<std::string, uint32_t> known;
    for (const std::unique_ptr<RowLog>& log : logs_) {
      std::vector<Target>& targets = targets_.emplace_back();
      targets.resize(log->groups().size());
      for (size_t i = 0; i < targets.size(); ++i) {
        const RawGroup& raw = log->groups()[i];
        if (!raw.used) continue;
        const auto [place, is_new] = known.emplace(
            KeyOf(raw), static_cast<uint32_t>(result_.groups.size()));
        targets[i].group = place->second;
        if (!is_new) continue;
        RowGroup& group = result_.groups.emplace_back();
        group.is_harness = IsHarness(raw);
        for (const size_t field : result_.by) {
          group.by.push_back(raw.values[field]);
        }
        group.held.resize(query_.held.size());
      }
    }
  }

  void CountRows() {
    std::vector<RowLog*> logs;
    for (size_t log = 0; log < logs_.size(); ++log) {
      logs.push_back(logs_[log].get());
      result_.rows += logs_[log]->size();
      for (size_t raw = 0; raw < targets_[log].size(); ++raw) {
        targets_[log][raw].rows = logs_[log]->rows_of(raw);
      }
    }
    ForEachReplacedRow(
        logs, threads_,
        [&](size_t log, LoggedRow* row, bool is_duplicate) {
          Target& target = targets_[log][row->group];
          --target.rows;
          if (target.group != kGone) {
            ++result_.used;
            // Each start of a program has null rows of its own.
            const bool counts =
                !is_duplicate || !result_.groups[target.group].is_harness;
            if (counts) ++(is_duplicate ? result_.duplicates : target.retries);
          }
          row->group = kGone;
        },
        [&](size_t log, const LoggedRow& row, int last) {
          const Target& target = targets_[log][row.group];
          if (target.group == kGone) return;
          ++result_.groups[target.group]
                .earlier_attempts[{AttemptNumber(row.order), last}];
        });
  }

  // Fills in everything but numbers: statuses, held values, units.
  absl::Status Describe() {
    for (size_t log = 0; log < logs_.size(); ++log) {
      for (size_t i = 0; i < targets_[log].size(); ++i) {
        const Target& target = targets_[log][i];
        if (target.group == kGone) continue;
        RowGroup& group = result_.groups[target.group];
        group.retries += target.retries;
        if (target.rows == 0) continue;
        result_.used += target.rows;
        RETURN_IF_ERROR(DescribeOne(logs_[log]->groups()[i], target, &group));
      }
    }
    return absl::OkStatus();
  }

  absl::Status DescribeOne(const RawGroup& raw, const Target& target,
                           RowGroup* group) {
    const auto text = [&](size_t field) { return raw.values[field].text; };
    if (!group->is_harness) RETURN_IF_ERROR(Hold(raw, group));
    group->scenario = std::max(group->scenario, text(query_.scenario));
    if (!HasNumbers(raw)) {
      group->ended[{text(query_.status),
                    raw.is_ok ? absl::StrCat("no ", query_.metric.name)
                              : text(query_.reason)}] += target.rows;
      if (text(query_.status) == "early_stopped") {
        const Value& said = raw.values[query_.slow_threshold];
        const double from_s = said.kind == Value::Kind::kNumber
                                  ? said.number
                                  : std::numeric_limits<double>::infinity();
        group->slow_from_s =
            std::min(group->slow_from_s.value_or(from_s), from_s);
      }
      if (group->unit.empty()) group->unit = text(query_.unit);
      return absl::OkStatus();
    }
    const std::string unit = text(query_.unit);
    if (group->summary.n > 0 && group->unit != unit && query_.is_throughput &&
        !group->is_harness) {
      return Mixed("unit", group->unit, unit, *group, /*can_mix=*/false);
    }
    group->unit = unit;
    group->summary.n += target.rows;
    group->equivalence.insert(text(query_.equivalence));
    for (const size_t field : query_.mixed) {
      group->pooled[query_.fields[field].name].insert(
          ValueText(raw.values[field]));
    }
    const std::vector<std::string> found =
        DisturbancesAmong(raw.values[query_.warnings].list);
    if (!found.empty()) group->disturbed += target.rows;
    for (const std::string& label : raw.values[query_.labels].list) {
      if (QualifiesSpeed(label)) group->labels.insert(label);
    }
    for (const std::string& warning : found) {
      group->disturbances[warning] += target.rows;
    }
    return absl::OkStatus();
  }

  static bool HasNumbers(const RawGroup& raw) {
    return raw.is_ok && raw.has_value;
  }

  // A failed run may have stopped before it knew its library's version, so an
  // empty value matches any.
  absl::Status Hold(const RawGroup& raw, RowGroup* group) {
    const bool was_known = group->summary.n > 0;
    for (size_t i = 0; i < query_.held.size(); ++i) {
      const Value& value = raw.values[query_.held[i]];
      Value& held = group->held[i];
      if (IsEmpty(value) && !raw.is_ok) continue;
      if (IsEmpty(held) && !was_known) {
        held = value;
        continue;
      }
      if (ValueText(held) == ValueText(value)) continue;
      return Mixed(query_.fields[query_.held[i]].name, ValueText(held),
                   ValueText(value), *group, /*can_mix=*/true);
    }
    return absl::OkStatus();
  }

  absl::Status Mixed(const std::string& field, const std::string& one,
                     const std::string& other, const RowGroup& group,
                     bool can_mix) const {
    const auto [first, second] = std::minmax(one, other);
    return absl::FailedPreconditionError(absl::StrCat(
        feedrate::Describe(query_, result_.by, group), " would mix ", field,
        " \"", first, "\" and \"", second,
        "\"; tell them apart with --by, choose one with "
        "--where",
        can_mix ? absl::StrCat(", or allow it with --mix=", field) : ""));
  }

  // Sorts the numbers by group, then summarizes each group.
  void Summarize() {
    AddSamples();
    // Each log has its own part of each group's numbers, so that all logs can
    // be sorted in parallel. `places` holds, for each log and group, where the
    // next number goes.
    std::vector<std::vector<size_t>> places(logs_.size());
    std::vector<size_t> ends = PlacesOf(&places);
    // Takes memory only as the logs free theirs.
    const BigArray<double> values(ends.back());
    ForEachInParallel(threads_, logs_.size(), [&](size_t log) {
      CollectValues(log, &places[log], values.data());
    });
    // Starting a thread takes as long as a few thousand numbers.
    const size_t useful = std::min(threads_, 1 + ends.back() / 20000);
    ForEachInParallel(useful, result_.groups.size(), [&](size_t i) {
      if (result_.groups[i].summary.n == 0) return;
      result_.groups[i].summary = feedrate::Summarize(
          absl::MakeSpan(values.data() + ends[i], ends[i + 1] - ends[i]));
    });
  }

  // Fills in where each log's numbers of each group start. Returns where each
  // group starts, and the end of the last.
  std::vector<size_t> PlacesOf(std::vector<std::vector<size_t>>* places) const {
    const size_t groups = result_.groups.size();
    for (size_t log = 0; log < logs_.size(); ++log) {
      std::vector<size_t>& counts = (*places)[log];
      counts.resize(groups);
      for (size_t raw = 0; raw < targets_[log].size(); ++raw) {
        const Target& target = targets_[log][raw];
        if (target.group == kGone || !HasNumbers(logs_[log]->groups()[raw])) {
          continue;
        }
        counts[target.group] += static_cast<size_t>(target.rows);
      }
    }
    std::vector<size_t> starts(groups + 1);
    size_t next = 0;
    for (size_t group = 0; group < groups; ++group) {
      starts[group] = next;
      for (std::vector<size_t>& counts : *places) {
        const size_t count = counts[group];
        counts[group] = next;
        next += count;
      }
    }
    starts[groups] = next;
    return starts;
  }

  void CollectValues(size_t log, std::vector<size_t>* places, double* values) {
    // The group of each raw group, or kGone if its numbers do not count.
    std::vector<uint32_t> group_of(targets_[log].size(), kGone);
    for (size_t raw = 0; raw < group_of.size(); ++raw) {
      if (!HasNumbers(logs_[log]->groups()[raw])) continue;
      group_of[raw] = targets_[log][raw].group;
    }
    for (RowLog::Piece& piece : logs_[log]->pieces()) {
      for (size_t i = 0; i < piece.size; ++i) {
        const LoggedRow& row = piece.rows[i];
        if (row.group == kGone || group_of[row.group] == kGone) continue;
        values[(*places)[group_of[row.group]]++] = row.value;
      }
      piece.rows = BigArray<LoggedRow>();
    }
  }

  void AddSamples() {
    for (size_t log = 0; log < logs_.size(); ++log) {
      for (const LoggedSamples& logged : logs_[log]->sampled_rows()) {
        const size_t number = static_cast<size_t>(logged.row);
        const RowLog::Piece& piece =
            logs_[log]->pieces()[number / RowLog::kPieceRows];
        const uint32_t raw = piece.rows[number % RowLog::kPieceRows].group;
        // Only `ok` rows that match the filter have samples in the log.
        if (raw == kGone) continue;
        RowGroup& group = result_.groups[targets_[log][raw].group];
        ++group.rows_with_samples;
        for (const double sample : logs_[log]->samples(logged)) {
          group.samples.Add(sample);
        }
      }
    }
  }

  void Sort() {
    std::vector<RowGroup>& groups = result_.groups;
    // All rows of a group may have been replaced by attempts in another group.
    groups.erase(std::remove_if(groups.begin(), groups.end(),
                                [](const RowGroup& group) {
                                  return group.summary.n == 0 &&
                                         group.ended.empty();
                                }),
                 groups.end());
    std::sort(
        groups.begin(), groups.end(), [](const RowGroup& a, const RowGroup& b) {
          return std::lexicographical_compare(
              a.by.begin(), a.by.end(), b.by.begin(), b.by.end(), ValueLess);
        });
  }

  const Query& query_;
  Logs logs_;
  const size_t threads_;
  // Indexed by log, then by raw group.
  std::vector<std::vector<Target>> targets_;
  RowGroups result_;
};

}  // namespace

absl::StatusOr<RowGroups> GroupRows(const Query& query, Logs logs, int threads,
                                    bool split) {
  return Grouper(query, std::move(logs), threads).Group(split);
}

}  // namespace feedrate
