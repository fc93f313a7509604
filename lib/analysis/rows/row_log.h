// The rows that a query needs, in a compact form: 24 bytes per row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/analysis/rows/fields.h"
#include "lib/analysis/rows/filter.h"
#include "lib/analysis/rows/text_scan.h"
#include "lib/records/row.pb.h"

namespace feedrate {

// Allocates zeroed memory from the kernel, in huge pages where it has them:
// small pages cost one fault per 4 KB, which takes longer than filling them.
// Unmap returns the memory to the kernel.
void* MapZeroed(size_t bytes);
void Unmap(void* memory, size_t bytes);

// An array of `size` objects, all bits zero. Only touched pages take memory.
template <typename T>
class BigArray {
 public:
  static_assert(std::is_trivially_copyable<T>::value &&
                    std::is_trivially_destructible<T>::value,
                "zeroed bytes must be an object");

  BigArray() = default;
  explicit BigArray(size_t size)
      : data_(size == 0 ? nullptr
                        : static_cast<T*>(MapZeroed(size * sizeof(T)))),
        size_(size) {}
  BigArray(BigArray&& other) noexcept { Swap(&other); }
  BigArray& operator=(BigArray&& other) noexcept {
    Swap(&other);
    return *this;
  }
  ~BigArray() { Unmap(data_, size_ * sizeof(T)); }

  T* data() const { return data_; }
  size_t size() const { return size_; }
  T& operator[](size_t index) const { return data_[index]; }

 private:
  void Swap(BigArray* other) {
    std::swap(data_, other->data_);
    std::swap(size_, other->size_);
  }

  T* data_ = nullptr;
  size_t size_ = 0;
};

// A place in a row's JSON. Several fields may share one.
struct Slot {
  std::string key;
  std::string sub_key;
};

// What to read from each row to answer a question about groups. Rows that agree
// in all fields of a query form one raw group. The groups that the user asked
// for are unions of raw groups.
struct Query {
  // Those of --by come first, in their order.
  std::vector<Field> fields;
  size_t by_count = 0;
  // Indexes into `fields` of the fields that a group must not mix.
  std::vector<size_t> held;
  // Those that it may mix on request.
  std::vector<size_t> mixed;
  size_t status = 0;
  size_t reason = 0;
  size_t slow_threshold = 0;
  size_t unit = 0;
  size_t scenario = 0;
  size_t equivalence = 0;
  size_t library_version = 0;
  size_t library = 0;
  size_t warnings = 0;
  size_t labels = 0;
  // Indexes into `fields` of SameRunFields.
  std::vector<size_t> same_run;

  std::vector<Slot> slots;
  // For each field, the index of its slot.
  std::vector<size_t> slot_of;

  Filter filter;
  // If true, every field of the filter is in `fields`, so it matches all rows
  // of a raw group or none. If false, it must be evaluated for each row.
  bool filter_by_group = true;
  // For each field of the filter, its index in `fields`.
  std::vector<size_t> filter_fields;
  // The field whose statistics are computed.
  Field metric;
  // Whether the metric is `throughput`, which every `ok` row has, above 0.
  bool is_throughput = true;
  // If true, readers must parse whole rows: the filter is evaluated for each
  // row, or a field is not where the fast readers look.
  bool needs_messages = false;

  // Whether the filter matches. REQUIRES: filter_by_group, and one value per
  // entry of `fields`.
  bool Uses(absl::Span<const Value> values) const;
};

// The fields that a group must not mix. See docs/aggregate.md.
const std::vector<std::string>& HeldFields();
// Those of them that say what was done, not where, with what version or on what
// data.
bool IsWorkField(absl::string_view name);

// InvalidArgument, naming the flag, if a field does not exist, or if `metric`
// is not a number.
absl::StatusOr<Query> MakeQuery(const std::vector<std::string>& by,
                                const std::string& where,
                                const std::vector<std::string>& mix,
                                const std::string& metric = "throughput");

// What statistics need of a row.
struct LoggedRow {
  // Hash of RunIdentity: equal for attempts at one run. 0 means the row names
  // no job, so its other attempts are unknown.
  uint64_t run;
  // The metric's value.
  double value;
  // Index of its RawGroup.
  uint32_t group;
  // See AttemptOrder.
  uint32_t order;
};

// The values of a row that are not part of its group.
struct RowNumbers {
  // As they are in the row's JSON. With or without quotes, but always the same.
  absl::string_view job_id;
  absl::string_view run_index;
  absl::string_view started_at;
  int64_t attempt = 0;
  // The metric's value.
  double value = 0;
  absl::Span<const double> samples_s;
};

// Rows that agree in every field of the query.
struct RawGroup {
  // One per field of the query.
  std::vector<Value> values;
  // Whether the rows are `ok`, and have a value of the metric.
  bool is_ok = false;
  bool has_value = true;
  // Whether the filter matches.
  bool used = true;
  // See AttemptRank in lib/records/attempts.h.
  int rank = 0;
  // Hash of the values that distinguish runs of one job.
  uint64_t same_run = 0;
  // See VersionHash.
  uint64_t version = 0;
  // Hash of all values.
  uint64_t content = 0;
};

// Raw timings of one row.
struct LoggedSamples {
  // Index of the row in its log.
  int64_t row = 0;
  // Where they are in the log's samples.
  size_t start = 0;
  size_t size = 0;
};

// The rows read by one thread. Not thread-safe.
class RowLog {
 public:
  // Bytes that must be readable after each token.
  static constexpr size_t kTokenPadding = kWord;
  // Rows that fill one huge page.
  static constexpr size_t kPieceRows = (2 << 20) / sizeof(LoggedRow);
  struct Piece {
    BigArray<LoggedRow> rows;
    size_t size = 0;
  };

  // `query` must outlive the log.
  explicit RowLog(const Query* query);

  // Adds a row. `tokens` holds the JSON at each slot (empty if the key is
  // missing), and one more empty token. kTokenPadding bytes after each token
  // must be readable. `hash` is the sum of TokenHash over the tokens that are
  // not empty. Stores the row's raw group in `group` unless that is null.
  // InvalidArgument, and nothing is added, if a token is of the wrong type.
  absl::Status Add(absl::Span<const absl::string_view> tokens, uint64_t hash,
                   const RowNumbers& numbers, uint32_t* group = nullptr);
  // Adds a row to a raw group that Add returned.
  absl::Status AddTo(uint32_t group, const RowNumbers& numbers);
  // Hash of the token of slot `index`. Hashes are added up, so that tokens that
  // do not change need not be hashed again.
  static uint64_t TokenHash(size_t index, absl::string_view token) {
    return HashBytes(token.data(), token.size(), (index + 1) * kOdd1);
  }
  // Adds a parsed row. Applies the filter if it is evaluated for each row.
  absl::Status Add(const Row& row);

  std::vector<RawGroup>& groups() { return groups_; }
  std::vector<Piece>& pieces() { return pieces_; }
  int64_t size() const { return size_; }
  // Number of rows of a raw group.
  int64_t rows_of(size_t group) const { return heads_[group].rows; }
  // The `ok` rows with raw timings, in the order of rows. A timing takes 8
  // bytes here, which is less than in the file.
  const std::vector<LoggedSamples>& sampled_rows() const {
    return sampled_rows_;
  }
  absl::Span<const double> samples(const LoggedSamples& logged) const {
    return absl::MakeConstSpan(samples_).subspan(logged.start, logged.size);
  }

 private:
  // What is read for every row, close together in memory.
  struct Head {
    uint64_t same_run = 0;
    int64_t rows = 0;
    bool is_ok = false;
    bool used = true;
  };
  struct Place {
    uint64_t hash = 0;
    // Group index + 1; 0 if empty.
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
  // Concatenated JSON of the slots of all groups, and where each token ends.
  std::string tokens_;
  std::vector<size_t> ends_;
  // Hash table with open addressing.
  std::vector<Place> table_;
  std::vector<Piece> pieces_;
  int64_t size_ = 0;
  std::vector<LoggedSamples> sampled_rows_;
  std::vector<double> samples_;
  // Concatenated tokens for Add(Row), kept to save allocations.
  std::string scratch_;
  // Where the slots are in a row.
  std::vector<Field> places_;
};

}  // namespace feedrate
