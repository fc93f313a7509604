#include "lib/analysis/row_groups.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "lib/analysis/big_array.h"
#include "lib/analysis/last_attempts.h"
#include "lib/analysis/parallel.h"
#include "lib/analysis/query.h"
#include "lib/analysis/row_log.h"
#include "lib/analysis/value.h"
#include "lib/base/status_macros.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

constexpr uint32_t kGone = ~uint32_t{0};

// Where a raw group went, and what is left of it.
struct Target {
  // Index of the RowGroup; kGone when the filter drops it.
  uint32_t group = kGone;
  int64_t rows = 0;
  int64_t retries = 0;
};

using Logs = std::vector<std::unique_ptr<RowLog>>;

bool IsEmpty(const Value& value) {
  return value.kind == Value::Kind::kAbsent ||
         (value.kind == Value::Kind::kText && value.text.empty());
}

std::string Describe(const Query& query, const RowGroup& group) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < group.by.size(); ++i) {
    parts.push_back(
        absl::StrCat(query.fields[i].name, "=", ValueText(group.by[i])));
  }
  return parts.empty() ? "the only group" : absl::StrJoin(parts, " ");
}

class Grouper {
 public:
  Grouper(const Query& query, Logs logs, int threads)
      : query_(query),
        logs_(std::move(logs)),
        threads_(static_cast<size_t>(std::max(1, threads))) {}

  absl::StatusOr<RowGroups> Group() {
    Assign();
    CountRows();
    RETURN_IF_ERROR(Describe());
    Summarise();
    Sort();
    return std::move(result_);
  }

 private:
  // Gives each raw group its group.
  void Assign() {
    absl::flat_hash_map<std::string, uint32_t> known;
    for (const std::unique_ptr<RowLog>& log : logs_) {
      std::vector<Target>& targets = targets_.emplace_back();
      targets.resize(log->groups().size());
      for (size_t i = 0; i < targets.size(); ++i) {
        const RawGroup& raw = log->groups()[i];
        if (!raw.used) continue;
        std::string key;
        for (size_t j = 0; j < query_.by_count; ++j) {
          absl::StrAppend(&key, ValueText(raw.values[j]), "\x1F");
        }
        const auto [place, is_new] = known.emplace(
            std::move(key), static_cast<uint32_t>(result_.groups.size()));
        targets[i].group = place->second;
        if (!is_new) continue;
        RowGroup& group = result_.groups.emplace_back();
        group.by.assign(
            raw.values.begin(),
            raw.values.begin() + static_cast<ptrdiff_t>(query_.by_count));
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
        logs, threads_, [&](size_t log, LoggedRow* row, bool is_duplicate) {
          Target& target = targets_[log][row->group];
          --target.rows;
          if (target.group != kGone) {
            ++result_.used;
            ++(is_duplicate ? result_.duplicates : target.retries);
          }
          row->group = kGone;
        });
  }

  // What is not a number: statuses, held values, units.
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
    RETURN_IF_ERROR(Hold(raw, group));
    group->scenario = std::max(group->scenario, text(query_.scenario));
    if (!raw.is_ok) {
      group->ended[{text(query_.status), text(query_.reason)}] += target.rows;
      if (group->unit.empty()) group->unit = text(query_.unit);
      return absl::OkStatus();
    }
    const std::string unit = text(query_.unit);
    if (group->summary.n > 0 && group->unit != unit) {
      return Mixed("unit", group->unit, unit, *group, /*can_mix=*/false);
    }
    group->unit = unit;
    group->summary.n += target.rows;
    group->equivalence.insert(text(query_.equivalence));
    return absl::OkStatus();
  }

  // A run that failed may not have come far enough to know its library's
  // version: what is empty agrees with everything there.
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
        feedrate::Describe(query_, group), " would mix ", field, " \"", first,
        "\" and \"", second,
        "\"; tell them apart with --by, choose one with "
        "--where",
        can_mix ? absl::StrCat(", or allow it with --mix=", field) : ""));
  }

  // Sorts the numbers by group, then looks at each group.
  void Summarise() {
    AddSamples();
    // Each log has its own part of each group's numbers, so that they can be
    // sorted at the same time: for each log, where its next one goes.
    std::vector<std::vector<size_t>> places(logs_.size());
    std::vector<size_t> ends = PlacesOf(&places);
    // Pages come into use as the logs give theirs back.
    const BigArray<double> values(ends.back());
    ForEachInParallel(threads_, logs_.size(), [&](size_t log) {
      CollectValues(log, &places[log], values.data());
    });
    // A thread costs as much as a few thousand numbers.
    const size_t useful = std::min(threads_, 1 + ends.back() / 20000);
    ForEachInParallel(useful, result_.groups.size(), [&](size_t i) {
      if (result_.groups[i].summary.n == 0) return;
      result_.groups[i].summary = feedrate::Summarize(
          absl::MakeSpan(values.data() + ends[i], ends[i + 1] - ends[i]));
    });
  }

  // Fills in where each log's numbers of each group start; returns where those
  // of each group do, and the end of the last.
  std::vector<size_t> PlacesOf(std::vector<std::vector<size_t>>* places) const {
    const size_t groups = result_.groups.size();
    for (size_t log = 0; log < logs_.size(); ++log) {
      std::vector<size_t>& counts = (*places)[log];
      counts.resize(groups);
      for (size_t raw = 0; raw < targets_[log].size(); ++raw) {
        const Target& target = targets_[log][raw];
        if (target.group == kGone || !logs_[log]->groups()[raw].is_ok) continue;
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
    // The group of each raw group whose numbers count.
    std::vector<uint32_t> group_of(targets_[log].size(), kGone);
    for (size_t raw = 0; raw < group_of.size(); ++raw) {
      if (!logs_[log]->groups()[raw].is_ok) continue;
      group_of[raw] = targets_[log][raw].group;
    }
    for (RowLog::Piece& piece : logs_[log]->pieces()) {
      for (size_t i = 0; i < piece.size; ++i) {
        const LoggedRow& row = piece.rows[i];
        if (row.group == kGone || group_of[row.group] == kGone) continue;
        values[(*places)[group_of[row.group]]++] = row.throughput;
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
        // Only rows that are ok and used have their samples logged.
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
    // All rows of a group may have been attempts that a row of another group
    // replaced.
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
  // For each log, for each of its raw groups.
  std::vector<std::vector<Target>> targets_;
  RowGroups result_;
};

}  // namespace

absl::StatusOr<RowGroups> GroupRows(const Query& query, Logs logs,
                                    int threads) {
  return Grouper(query, std::move(logs), threads).Group();
}

}  // namespace feedrate
