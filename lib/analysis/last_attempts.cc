#include "lib/analysis/last_attempts.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "absl/types/span.h"
#include "lib/analysis/big_array.h"
#include "lib/analysis/parallel.h"
#include "lib/analysis/row_log.h"
#include "lib/analysis/run_identity.h"

namespace feedrate {
namespace {

// Bits for each row. A run sets two in one word of 64; with 16, one run in 50
// is looked at for nothing.
constexpr uint64_t kBitsPerRow = 16;
// The second filter holds few.
constexpr uint64_t kBitsPerCandidate = 4;

// Several threads at once; what is set in the end does not depend on them.
class BitFilter {
 public:
  BitFilter(uint64_t rows, uint64_t bits_per_row)
      : words_(rows * bits_per_row / 64 + 1) {}

  // True when it was set before.
  bool Set(uint64_t hash) {
    const uint64_t bits = BitsOf(hash);
    uint64_t& word = WordOf(hash);
    // Most are found in vain or set alone, and to read is cheaper.
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

// Rows of runs that may have another row.
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

}  // namespace

void ForEachReplacedRow(
    const std::vector<RowLog*>& logs, size_t threads,
    const std::function<void(size_t log, LoggedRow* row, bool is_duplicate)>&
        replaced) {
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
      attempts.push_back({candidate.row->order, candidate.row->throughput,
                          group.version, group.content, last});
    }
    if (attempts.size() > 1) {
      ForEachReplaced(
          absl::MakeSpan(attempts), [&](size_t id, bool is_duplicate) {
            replaced(candidates[id].log, candidates[id].row, is_duplicate);
          });
    }
    first = last;
  }
}

}  // namespace feedrate
