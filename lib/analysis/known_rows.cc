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
    : texts_(max_bytes), kinds_(kFirstKinds) {}

const KnownRows::Text* KnownRows::NextOf(const Followers& followers,
                                         const char* at, size_t left) const {
  if (followers.window > left) return nullptr;
  const uint64_t hash = HashLong(at, followers.window);
  const size_t mask = followers.table.size() - 1;
  for (size_t i = hash & mask; followers.table[i].line != 0;
       i = (i + 1) & mask) {
    const Follower& follower = followers.table[i];
    if (follower.tag != TagOf(hash)) continue;
    const Text* text = TextAt(follower.line);
    if (Fits(*text, at, left)) return text;
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
  Text* before = &start_;
  const auto step = [&](const std::string& content, Act hole, bool is_last) {
    Text* text = TextOf(content, hole, is_last);
    if (text == nullptr) return false;
    AddFollower(before, text);
    path = Path(path, *text);
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

KnownRows::Text* KnownRows::TextOf(const std::string& content, Act hole,
                                   bool is_last) {
  // The key at the end of the text decides about the hole.
  Text*& place = text_of_[content];
  if (place != nullptr) return place;
  const size_t bytes = sizeof(Text) + content.size() + kPrintedPadding;
  const size_t lines = (bytes + kLine - 1) / kLine;
  if ((lines_ + lines) * kLine > texts_.size()) {
    text_of_.erase(content);
    return nullptr;
  }
  char* const memory = texts_.data() + lines_ * kLine;
  lines_ += lines;
  Text text = {};
  text.size = static_cast<uint32_t>(content.size());
  text.id = static_cast<uint32_t>(text_of_.size());
  text.hole = hole;
  text.is_last = is_last;
  place = new (memory) Text(text);
  std::memcpy(memory + sizeof(Text), content.data(), content.size());
  return place;
}

void KnownRows::AddFollower(Text* before, const Text* text) {
  if (before->only == text) return;
  if (before->only == nullptr && before->many == nullptr) {
    before->only = text;
    return;
  }
  const auto insert = [&](Followers* followers, const Text* added) {
    const size_t window = std::min<size_t>(followers->window, added->size);
    if (window != followers->window ||
        4 * (followers->count + 1) > followers->table.size()) {
      Rebuild(followers, window, followers->count + 1);
    }
    const uint64_t hash = HashLong(added->data(), window);
    const uint32_t line = static_cast<uint32_t>(
        (reinterpret_cast<const char*>(added) - texts_.data()) / kLine);
    const size_t mask = followers->table.size() - 1;
    size_t i = hash & mask;
    for (; followers->table[i].line != 0; i = (i + 1) & mask) {
      if (followers->table[i].line == line) return;
    }
    followers->table[i] = {TagOf(hash), line};
    ++followers->count;
  };
  if (before->many == nullptr) {
    followers_.push_back(std::make_unique<Followers>());
    before->many = followers_.back().get();
    before->many->window = before->only->size;
    insert(before->many, before->only);
    before->only = nullptr;
  }
  insert(before->many, text);
}

void KnownRows::Rebuild(Followers* followers, size_t window,
                        size_t count) const {
  const std::vector<Follower> old = std::move(followers->table);
  size_t size = 8;
  while (size < 4 * count) size *= 2;
  followers->window = window;
  followers->table.assign(size, Follower());
  for (const Follower& follower : old) {
    if (follower.line == 0) continue;
    const uint64_t hash = HashLong(TextAt(follower.line)->data(), window);
    size_t i = hash & (size - 1);
    while (followers->table[i].line != 0) i = (i + 1) & (size - 1);
    followers->table[i] = {TagOf(hash), follower.line};
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
