#include "lib/analysis/last_attempts.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <tuple>
#include <vector>

#include "lib/analysis/row_log.h"

namespace feedrate {
namespace {

// Bits of the filters for each row: with 16, one run in 30 is looked at for
// nothing.
constexpr uint64_t kBitsPerRow = 16;

class BitFilter {
 public:
  explicit BitFilter(uint64_t rows) {
    uint64_t words = 1;
    while (words * 64 < rows * kBitsPerRow) words *= 2;
    words_.resize(words);
  }
  // True when it was set before.
  bool Set(uint64_t hash) {
    uint64_t& word = words_[WordOf(hash)];
    const uint64_t bit = uint64_t{1} << (hash >> 58);
    const bool before = (word & bit) != 0;
    word |= bit;
    return before;
  }
  bool Has(uint64_t hash) const {
    return (words_[WordOf(hash)] >> (hash >> 58) & 1) != 0;
  }

 private:
  // The lowest bit of a run's hash is always 1.
  size_t WordOf(uint64_t hash) const {
    return (hash >> 1) & (words_.size() - 1);
  }
  std::vector<uint64_t> words_;
};

struct Candidate {
  LoggedRow* row;
  size_t log;
};

template <typename Visit>
void ForEachRow(const std::vector<RowLog*>& logs, const Visit& visit) {
  for (size_t log = 0; log < logs.size(); ++log) {
    for (RowLog::Piece& piece : logs[log]->pieces()) {
      for (size_t i = 0; i < piece.size; ++i) {
        if (piece.rows[i].run != 0) visit(log, &piece.rows[i]);
      }
    }
  }
}

std::vector<Candidate> Candidates(const std::vector<RowLog*>& logs) {
  uint64_t rows = 0;
  for (const RowLog* log : logs) rows += static_cast<uint64_t>(log->size());
  BitFilter seen(rows);
  BitFilter again(rows);
  bool any = false;
  ForEachRow(logs, [&](size_t, LoggedRow* row) {
    if (seen.Set(row->run)) {
      again.Set(row->run);
      any = true;
    }
  });
  std::vector<Candidate> candidates;
  if (!any) return candidates;
  ForEachRow(logs, [&](size_t log, LoggedRow* row) {
    if (again.Has(row->run)) candidates.push_back({row, log});
  });
  return candidates;
}

}  // namespace

void ForEachSuperseded(
    const std::vector<RowLog*>& logs,
    const std::function<void(size_t log, LoggedRow* row, bool is_duplicate)>&
        superseded) {
  std::vector<Candidate> candidates = Candidates(logs);
  // The one that counts comes first in its run.
  const auto key = [](const Candidate& candidate) {
    return std::make_tuple(candidate.row->run, ~candidate.row->order,
                           candidate.row->throughput);
  };
  std::sort(
      candidates.begin(), candidates.end(),
      [&](const Candidate& a, const Candidate& b) { return key(a) < key(b); });
  for (size_t i = 1; i < candidates.size(); ++i) {
    const LoggedRow& before = *candidates[i - 1].row;
    if (before.run != candidates[i].row->run) continue;
    superseded(candidates[i].log, candidates[i].row,
               AttemptOf(before) == AttemptOf(*candidates[i].row));
  }
}

}  // namespace feedrate
