// Which keys of a row's JSON matter to a query, and what was read of them.
#ifndef FEEDRATE_LIB_ANALYSIS_ROW_STEPS_H_
#define FEEDRATE_LIB_ANALYSIS_ROW_STEPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "lib/analysis/query.h"
#include "lib/analysis/row_log.h"

namespace feedrate {

// What to do with the value of a key.
enum class Act : uint8_t {
  kSkip,
  kRecord,
  kSchema,
  kSlot,
  kJobId,
  kRunIndex,
  kAttempt,
  kThroughput,
  kStartedAt,
  kSamples,
  // An object with slots inside.
  kPart,
};

struct Step {
  Act act = Act::kSkip;
  // Of the slot, or of the part; -1: none.
  int index = -1;
  // A slot that asks for one of the numbers as well, such as --by=run_index.
  int also_slot = -1;
};

// Steps for all keys.
class RowSteps {
 public:
  // Slots inside an object, by key.
  using Part = absl::flat_hash_map<std::string, int>;

  explicit RowSteps(const Query& query);

  Step For(absl::string_view key) const;
  const Part& part(int index) const {
    return parts_[static_cast<size_t>(index)];
  }

 private:
  absl::flat_hash_map<std::string, Step> steps_;
  std::vector<Part> parts_;
};

// One row on its way from JSON into a log. Whatever is unusual makes a function
// return false, and the row is left to a more thorough reader.
class RowScratch {
 public:
  explicit RowScratch(size_t slots) : slots_(slots) {}

  void Reset();
  // All but the tokens.
  void ResetNumbers();

  // Sets a slot. False when it is set already: a key that stands twice.
  bool Fill(int slot, absl::string_view token) {
    absl::string_view& place = tokens[static_cast<size_t>(slot)];
    if (!place.empty() || token.empty()) return false;
    place = token;
    hash += RowLog::TokenHash(static_cast<size_t>(slot), token);
    return true;
  }
  // False the second time: each of the numbers may come once.
  bool Once(Act act) {
    const uint32_t bit = Bit(act);
    if ((seen & bit) != 0) return false;
    seen |= bit;
    return true;
  }
  bool Saw(Act act) const { return (seen & Bit(act)) != 0; }
  // Record, schema, job id, run index, attempt and start, which are read as
  // text. REQUIRES: the token holds no escapes.
  bool TakeToken(Act act, absl::string_view token);

  // Whether what was read is a row of a known schema.
  bool IsRow() const { return Saw(Act::kRecord) && Saw(Act::kSchema); }

  // One for each slot, and an empty one.
  std::vector<absl::string_view> tokens;
  // Sum over the tokens.
  uint64_t hash = 0;
  std::vector<double> samples;
  RowNumbers numbers;
  // Acts done, as bits.
  uint32_t seen = 0;

 private:
  static uint32_t Bit(Act act) { return 1u << static_cast<int>(act); }

  const size_t slots_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_ROW_STEPS_H_
