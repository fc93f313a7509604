#include "lib/analysis/row_steps.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "lib/analysis/query.h"
#include "lib/analysis/row_log.h"

namespace feedrate {
namespace {

// Digits alone, few enough for an int32 and without leading zeros.
bool IsWhole(absl::string_view token) {
  return token.size() <= 9 && (token[0] != '0' || token.size() == 1) &&
         std::all_of(token.begin(), token.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

int64_t ToInt(absl::string_view token) {
  int64_t number = 0;
  for (const char c : token) number = number * 10 + (c - '0');
  return number;
}

}  // namespace

RowSteps::RowSteps(const Query& query) {
  for (const auto& [key, act] : {std::make_pair("record", Act::kRecord),
                                 {"schema", Act::kSchema},
                                 {"job_id", Act::kJobId},
                                 {"run_index", Act::kRunIndex},
                                 {"attempt", Act::kAttempt},
                                 {"throughput", Act::kThroughput},
                                 {"started_at", Act::kStartedAt},
                                 {"samples_s", Act::kSamples}}) {
    steps_[key].act = act;
  }
  for (size_t i = 0; i < query.slots.size(); ++i) {
    const Slot& slot = query.slots[i];
    const int index = static_cast<int>(i);
    Step& step = steps_[slot.key];
    if (!slot.sub_key.empty()) {
      if (step.act == Act::kSkip) {
        step.act = Act::kPart;
        step.index = static_cast<int>(parts_.size());
        parts_.emplace_back();
      }
      parts_[static_cast<size_t>(step.index)][slot.sub_key] = index;
    } else if (step.act == Act::kSkip) {
      step.act = Act::kSlot;
      step.index = index;
    } else {
      step.also_slot = index;
    }
  }
}

Step RowSteps::For(absl::string_view key) const {
  const auto found = steps_.find(key);
  return found == steps_.end() ? Step() : found->second;
}

void RowScratch::Reset() {
  tokens.assign(slots_ + 1, absl::string_view());
  hash = 0;
  ResetNumbers();
}

void RowScratch::ResetNumbers() {
  samples.clear();
  numbers = RowNumbers();
  // With the padding that tokens have.
  numbers.run_index = absl::string_view("0\0\0\0\0\0\0\0", 1);
  seen = 0;
}

bool RowScratch::TakeToken(Act act, absl::string_view token) {
  if (token.empty()) return false;
  switch (act) {
    case Act::kRecord:
      // Records of another kind are few, and the thorough reader also finds a
      // row that somebody appended to the torn line of one.
      return token == "\"row\"";
    case Act::kSchema:
      return token == "1";
    case Act::kJobId:
      numbers.job_id = token;
      return token[0] == '"';
    case Act::kStartedAt:
      numbers.started_at = token;
      return token[0] == '"';
    case Act::kRunIndex:
      numbers.run_index = token;
      return IsWhole(token);
    case Act::kAttempt:
      numbers.attempt = IsWhole(token) ? ToInt(token) : -1;
      return numbers.attempt >= 0;
    default:
      return false;
  }
}

}  // namespace feedrate
