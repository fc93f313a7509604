#include "lib/analysis/repeats.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/analysis/printed_value.h"
#include "lib/analysis/row_steps.h"

namespace feedrate {
namespace {

// Numbers of a row are read each time; everything else may repeat.
bool MayRepeat(Act act) {
  return act != Act::kThroughput && act != Act::kSamples &&
         act != Act::kJobId && act != Act::kStartedAt;
}

// The key of `text`, which starts with it, and where its value starts.
absl::string_view KeyIn(absl::string_view text, size_t* value) {
  const size_t end = text.find('"', 1);
  *value = end + 2;
  return text.substr(1, end - 1);
}

// Reads what Apply can do again: slots and text, no numbers.
bool TakeAgain(const Step& step, absl::string_view value, RowScratch* row) {
  if (step.act == Act::kSkip) return true;
  if (step.act == Act::kSlot) {
    return value[0] != '{' && row->Fill(step.index, value);
  }
  // Objects are read by their reader, key by key.
  if (step.act == Act::kPart) return false;
  return row->Once(step.act) && row->TakeToken(step.act, value) &&
         (step.also_slot < 0 || row->Fill(step.also_slot, value));
}

}  // namespace

void Repeats::Note(size_t place, absl::string_view text) {
  if (learnt_ == 0) {
    same_.resize(place);
    same_.emplace_back(text);
  } else if (place >= same_.size() || same_[place] != text) {
    same_.resize(std::max(same_.size(), place + 1));
    same_[place].clear();
  }
}

void Repeats::EndLine(const RowSteps& steps, size_t slots) {
  if (++learnt_ == lines_) Find(steps, slots);
}

void Repeats::Find(const RowSteps& steps, size_t slots) {
  const auto repeats = [&](size_t place) {
    if (same_[place].empty()) return false;
    size_t value;
    const Step step = steps.For(KeyIn(same_[place], &value));
    RowScratch row(slots);
    row.Reset();
    return MayRepeat(step.act) &&
           TakeAgain(step, absl::string_view(same_[place]).substr(value), &row);
  };
  starts_.assign(same_.size(), nullptr);
  for (size_t first = 0; first < same_.size(); ++first) {
    size_t last = first;
    while (last < same_.size() && repeats(last)) ++last;
    if (last == first) continue;
    starts_[first] = Make(steps, slots, first, last);
    first = last - 1;
  }
  same_.clear();
  same_.shrink_to_fit();
}

Stretch* Repeats::Make(const RowSteps& steps, size_t slots, size_t first,
                       size_t last) {
  auto stretch = std::make_unique<Stretch>();
  std::vector<size_t> ends;
  for (size_t i = first; i < last; ++i) {
    if (i > first) stretch->text += ',';
    stretch->text += same_[i];
    ends.push_back(stretch->text.size());
  }
  stretch->size = stretch->text.size();
  stretch->next_place = last;
  stretch->text.append(kPrintedPadding, '\0');
  RowScratch row(slots);
  row.Reset();
  size_t start = 0;
  for (const size_t end : ends) {
    const absl::string_view text =
        absl::string_view(stretch->text).substr(start, end - start);
    size_t value;
    const Step step = steps.For(KeyIn(text, &value));
    // The same key twice.
    if (!TakeAgain(step, text.substr(value), &row)) return nullptr;
    start = end + 1;
  }
  for (size_t slot = 0; slot < row.tokens.size(); ++slot) {
    if (row.tokens[slot].empty()) continue;
    stretch->tokens.emplace_back(slot, row.tokens[slot]);
  }
  stretch->hash = row.hash;
  stretch->seen = row.seen;
  stretch->run_index = row.numbers.run_index;
  stretch->attempt = row.numbers.attempt;
  stretches_.push_back(std::move(stretch));
  return stretches_.back().get();
}

bool Repeats::Missed(size_t place) {
  Stretch& stretch = *starts_[place];
  // Worth a look while seven of eight are right.
  if (++stretch.misses * 8 <= 64 + stretch.hits) return false;
  starts_[place] = nullptr;
  return true;
}

bool Repeats::Apply(Stretch* stretch, RowScratch* row) {
  ++stretch->hits;
  const uint32_t twice = row->seen & stretch->seen;
  row->seen |= stretch->seen;
  row->hash += stretch->hash;
  for (const auto& [slot, token] : stretch->tokens) {
    if (!row->tokens[slot].empty()) return false;
    row->tokens[slot] = token;
  }
  const uint32_t attempt = 1u << static_cast<int>(Act::kAttempt);
  const uint32_t run_index = 1u << static_cast<int>(Act::kRunIndex);
  if ((stretch->seen & attempt) != 0) row->numbers.attempt = stretch->attempt;
  if ((stretch->seen & run_index) != 0) {
    row->numbers.run_index = stretch->run_index;
  }
  return twice == 0;
}

}  // namespace feedrate
