#include "lib/analysis/known_rows.h"

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
#include "lib/analysis/printed_value.h"
#include "lib/analysis/row_steps.h"
#include "lib/analysis/words.h"

namespace feedrate {
namespace {

constexpr size_t kFirstKinds = 64;

// A value that is read in each row. Others are part of a text: they decide
// about the group, or are the same in most rows.
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

KnownRows::KnownRows(size_t max_bytes)
    : bytes_(max_bytes), texts_(1), tables_(1), kinds_(kFirstKinds) {}

const KnownRows::Text* KnownRows::NextOf(const Followers& followers,
                                         const char* at, size_t left) const {
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

bool KnownRows::Learn(absl::Span<const PrintedField> fields, uint32_t group,
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
  for (size_t i = 0; i < fields.size(); ++i) {
    absl::StrAppend(&content, i == 0 ? "{" : ",", fields[i].key);
    if (IsHole(fields[i])) {
      if (!step(content, fields[i].step.act, /*is_last=*/false)) return false;
      content.clear();
    } else {
      absl::StrAppend(&content, fields[i].value);
    }
  }
  if (!step(absl::StrCat(content, "}\n"), Act::kSkip, /*is_last=*/true)) {
    return false;
  }
  if (Find(path) == nullptr) {
    AddKind({path, group + 1, 0}, std::move(constants));
  }
  return true;
}

uint32_t KnownRows::NumberOf(const std::string& content, Act hole,
                             bool is_last) {
  // The key at the end of the text decides about the hole.
  const auto known = number_of_.find(content);
  if (known != number_of_.end()) return known->second;
  const size_t lines = (content.size() + kPrintedPadding + kLine - 1) / kLine;
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

void KnownRows::AddFollower(uint32_t before, uint32_t text) {
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

void KnownRows::Insert(uint32_t text, Followers* followers) const {
  const size_t window = std::min<size_t>(followers->window, texts_[text].size);
  // Half empty at least, so that most searches end at once.
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

void KnownRows::Rebuild(Followers* followers, size_t window,
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

void KnownRows::AddKind(Kind kind, Constants constants) {
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
