#include "lib/analysis/rows/row_templates.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/analysis/rows/row_log.h"
#include "lib/analysis/rows/text_scan.h"

namespace feedrate {
namespace {

// Whether it is all digits, few enough for an int32 and without leading zeros.
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
    TemplateStep& step = steps_[slot.key];
    if (!slot.sub_key.empty()) {
      if (step.act != Act::kPart) {
        // The whole object may be a slot, too.
        step.also_slot = step.act == Act::kSlot ? step.index : -1;
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

TemplateStep RowSteps::For(absl::string_view key) const {
  const auto found = steps_.find(key);
  return found == steps_.end() ? TemplateStep() : found->second;
}

void RowScratch::Reset() {
  tokens.assign(slots_ + 1, absl::string_view());
  hash = 0;
  ResetNumbers();
}

void RowScratch::ResetNumbers() {
  samples.clear();
  numbers = RowNumbers();
  // Has the padding that tokens need.
  numbers.run_index = absl::string_view("0\0\0\0\0\0\0\0", 1);
  seen = 0;
}

bool RowScratch::TakeToken(Act act, absl::string_view token) {
  if (token.empty()) return false;
  switch (act) {
    case Act::kRecord:
      // Other records are rare. The thorough reader also finds a row that was
      // appended to a torn line.
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

namespace {

constexpr size_t kFirstKinds = 64;

// Whether the value is read in each row. Other values are part of a text: they
// determine the group, or are the same in most rows.
bool IsHole(const PrintedField& field) {
  if (field.step.also_slot >= 0) return false;
  switch (field.step.act) {
    case Act::kJobId:
    case Act::kRunIndex:
    case Act::kStartedAt:
    case Act::kThroughput:
    case Act::kSamples:
      return true;
    case Act::kSkip:
      return field.value[0] != '"' && field.value[0] != 't' &&
             field.value[0] != 'f' && field.value[0] != 'n';
    default:
      return false;
  }
}

uint32_t TagOf(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

}  // namespace

RowTemplates::RowTemplates(size_t max_bytes)
    : bytes_(max_bytes), texts_(1), tables_(1), kinds_(kFirstKinds) {}

const RowTemplates::Text* RowTemplates::NextOf(const Followers& followers,
                                               const char* at,
                                               size_t left) const {
  if (followers.window > left) return nullptr;
  const uint64_t hash = HashLong(at, followers.window);
  const size_t mask = followers.table.size() - 1;
  for (size_t i = hash & mask; followers.table[i].text != 0;
       i = (i + 1) & mask) {
    const Follower& follower = followers.table[i];
    if (follower.tag != TagOf(hash)) continue;
    const Text& text = texts_[follower.text];
    if (Fits(text, at, left)) return &text;
  }
  return nullptr;
}

bool RowTemplates::Learn(absl::Span<const PrintedField> fields,
                         absl::string_view end, uint32_t group,
                         Constants constants) {
  for (const PrintedField& field : fields) {
    const bool is_hole = IsHole(field);
    if (field.step.act == Act::kThroughput && !is_hole) return false;
    if (!is_hole) continue;
    if (field.step.act == Act::kJobId) constants.job_id = PaddedText();
    if (field.step.act == Act::kRunIndex) constants.run_index = PaddedText();
    if (field.step.act == Act::kStartedAt) constants.started_at = PaddedText();
  }
  uint64_t path = 0;
  uint32_t before = 0;
  const auto step = [&](const std::string& content, Act hole, bool is_last) {
    const uint32_t text = NumberOf(content, hole, is_last);
    if (text == 0) return false;
    AddFollower(before, text);
    path = Path(path, texts_[text]);
    before = text;
    return true;
  };
  std::string content;
  for (const PrintedField& field : fields) {
    absl::StrAppend(&content, field.before);
    if (IsHole(field)) {
      if (!step(content, field.step.act, /*is_last=*/false)) return false;
      content.clear();
    } else {
      absl::StrAppend(&content, field.value);
    }
  }
  absl::StrAppend(&content, end);
  if (!step(content, Act::kSkip, /*is_last=*/true)) return false;
  if (Find(path) == nullptr) {
    AddKind({path, group + 1, 0}, std::move(constants));
  }
  return true;
}

uint32_t RowTemplates::NumberOf(const std::string& content, Act hole,
                                bool is_last) {
  // The key at the end of the text determines the hole.
  const auto known = number_of_.find(content);
  if (known != number_of_.end()) return known->second;
  const size_t lines = (content.size() + kScanPadding + kLine - 1) / kLine;
  if ((lines_ + lines) * kLine > bytes_.size()) return 0;
  Text text;
  text.size = static_cast<uint32_t>(content.size());
  text.line = static_cast<uint32_t>(lines_);
  text.hole = hole;
  text.is_last = is_last;
  lines_ += lines;
  std::memcpy(bytes_.data() + text.line * kLine, content.data(),
              content.size());
  const uint32_t number = static_cast<uint32_t>(texts_.size());
  texts_.push_back(text);
  number_of_.emplace(content, number);
  return number;
}

void RowTemplates::AddFollower(uint32_t before, uint32_t text) {
  Text& place = texts_[before];
  if (place.only == text) return;
  if (place.only == 0 && place.many == 0) {
    place.only = text;
    return;
  }
  if (place.many == 0) {
    place.many = static_cast<uint32_t>(tables_.size());
    Followers& followers = tables_.emplace_back();
    followers.window = texts_[place.only].size;
    Insert(place.only, &followers);
    place.only = 0;
  }
  Insert(text, &tables_[place.many]);
}

void RowTemplates::Insert(uint32_t text, Followers* followers) const {
  const size_t window = std::min<size_t>(followers->window, texts_[text].size);
  // Keeps the table at least half empty, so that most searches end at once.
  if (window != followers->window ||
      2 * (followers->count + 1) > followers->table.size()) {
    Rebuild(followers, window, followers->count + 1);
  }
  const uint64_t hash = HashLong(BytesOf(texts_[text]), window);
  const size_t mask = followers->table.size() - 1;
  size_t i = hash & mask;
  for (; followers->table[i].text != 0; i = (i + 1) & mask) {
    if (followers->table[i].text == text) return;
  }
  followers->table[i] = {TagOf(hash), text};
  ++followers->count;
}

void RowTemplates::Rebuild(Followers* followers, size_t window,
                           size_t count) const {
  const std::vector<Follower> old = std::move(followers->table);
  size_t size = 8;
  while (size < 4 * count) size *= 2;
  followers->window = window;
  followers->table.assign(size, Follower());
  for (const Follower& follower : old) {
    if (follower.text == 0) continue;
    const uint64_t hash = HashLong(BytesOf(texts_[follower.text]), window);
    size_t i = hash & (size - 1);
    while (followers->table[i].text != 0) i = (i + 1) & (size - 1);
    followers->table[i] = {TagOf(hash), follower.text};
  }
}

void RowTemplates::AddKind(Kind kind, Constants constants) {
  if (constants.attempt != 0 || !constants.job_id.empty() ||
      !constants.run_index.empty() || !constants.started_at.empty()) {
    constants_.push_back(std::make_unique<Constants>(std::move(constants)));
    kind.constants = static_cast<uint32_t>(constants_.size());
  }
  const auto insert = [&](const Kind& added) {
    size_t i = added.path & (kinds_.size() - 1);
    while (kinds_[i].group != 0) i = (i + 1) & (kinds_.size() - 1);
    kinds_[i] = added;
  };
  if (++kind_count_ * 2 > kinds_.size()) {
    std::vector<Kind> old(kinds_.size() * 4);
    old.swap(kinds_);
    for (const Kind& known : old) {
      if (known.group != 0) insert(known);
    }
  }
  insert(kind);
}

}  // namespace feedrate
