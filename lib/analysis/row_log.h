// Rows boiled down to what statistics need: 24 bytes each.
#ifndef FEEDRATE_LIB_ANALYSIS_ROW_LOG_H_
#define FEEDRATE_LIB_ANALYSIS_ROW_LOG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/analysis/big_array.h"
#include "lib/analysis/query.h"
#include "lib/analysis/value.h"
#include "lib/analysis/words.h"
#include "lib/records/records.pb.h"

namespace feedrate {

struct LoggedRow {
  // Hash of RunIdentity: equal for attempts at one run. 0: the row names no
  // job, so nothing is known of other attempts.
  uint64_t run;
  double throughput;
  // Index of its RawGroup.
  uint32_t group;
  // As AttemptOrder says.
  uint32_t order;
};

// What a row holds besides its group.
struct RowNumbers {
  // As text in the row; quotes do not matter, but must not vary.
  absl::string_view job_id;
  absl::string_view run_index;
  absl::string_view started_at;
  int64_t attempt = 0;
  double throughput = 0;
  absl::Span<const double> samples_s;
};

// Rows that agree in every field of the query.
struct RawGroup {
  // One for each field of the query.
  std::vector<Value> values;
  bool is_ok = false;
  // What the filter says.
  bool used = true;
  // Hash of the values that tell runs of one job apart.
  uint64_t same_run = 0;
  // As VersionHash says.
  uint64_t version = 0;
  // Hash of all values.
  uint64_t content = 0;
};

// Raw timings of one row.
struct LoggedSamples {
  // Number of the row in its log, from 0.
  int64_t row = 0;
  // Its part of RowLog::samples().
  size_t start = 0;
  size_t size = 0;
};

// The rows that one thread read. Not thread-safe.
class RowLog {
 public:
  // Bytes that must be readable behind each token.
  static constexpr size_t kTokenPadding = kWord;
  // A huge page full.
  static constexpr size_t kPieceRows = (2 << 20) / sizeof(LoggedRow);
  struct Piece {
    BigArray<LoggedRow> rows;
    size_t size = 0;
  };

  // `query` outlives the log.
  explicit RowLog(const Query* query);

  // Adds a row whose JSON at each slot is `tokens` (empty: not there), and one
  // empty token behind them. Each has kTokenPadding readable bytes behind it.
  // `hash` is the sum of TokenHash of those that are not empty.
  // InvalidArgument when one is of the wrong type; then nothing is added.
  absl::Status Add(absl::Span<const absl::string_view> tokens, uint64_t hash,
                   const RowNumbers& numbers, uint32_t* group = nullptr);
  // The same for a group that Add told.
  absl::Status AddTo(uint32_t group, const RowNumbers& numbers);
  // Of the token at place `index`. A sum of them, so that parts that do not
  // change need not be hashed again.
  static uint64_t TokenHash(size_t index, absl::string_view token) {
    return HashBytes(token.data(), token.size(), (index + 1) * kOdd1);
  }
  // The same from a message. Asks the filter, when it is one for each row.
  absl::Status Add(const Row& row);

  std::vector<RawGroup>& groups() { return groups_; }
  std::vector<Piece>& pieces() { return pieces_; }
  int64_t size() const { return size_; }
  // Rows of a raw group.
  int64_t rows_of(size_t group) const { return heads_[group].rows; }
  // Of `ok` rows that have any, in the order of rows. 8 bytes a timing, which
  // takes more in the file.
  const std::vector<LoggedSamples>& sampled_rows() const {
    return sampled_rows_;
  }
  absl::Span<const double> samples(const LoggedSamples& logged) const {
    return absl::MakeConstSpan(samples_).subspan(logged.start, logged.size);
  }

 private:
  // What is looked at for every row, close together in memory.
  struct Head {
    uint64_t same_run = 0;
    int64_t rows = 0;
    bool is_ok = false;
    bool used = true;
  };
  struct Place {
    uint64_t hash = 0;
    // group + 1; 0: empty.
    uint32_t group = 0;
  };

  absl::StatusOr<uint32_t> GroupOf(absl::Span<const absl::string_view> tokens,
                                   uint64_t hash);
  bool HasTokens(uint32_t group,
                 absl::Span<const absl::string_view> tokens) const;
  absl::StatusOr<uint32_t> NewGroup(absl::Span<const absl::string_view> tokens);
  void Log(const RowNumbers& numbers, uint32_t group);
  void GrowTable();

  const Query* const query_;
  std::vector<RawGroup> groups_;
  std::vector<Head> heads_;
  // JSON of the slots of all groups, one after the other, and where each ends.
  std::string tokens_;
  std::vector<size_t> ends_;
  // Open addressing.
  std::vector<Place> table_;
  std::vector<Piece> pieces_;
  int64_t size_ = 0;
  std::vector<LoggedSamples> sampled_rows_;
  std::vector<double> samples_;
  // For Add(Row): tokens one after the other, kept to save allocations.
  std::string scratch_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_ROW_LOG_H_
