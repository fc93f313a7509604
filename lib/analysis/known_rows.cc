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

}  // namespace

KnownRows::KnownRows() : start_(std::make_unique<Text>()) {}

const KnownRows::Text* KnownRows::Next(const Text& before, const char* at,
                                       const char* end) const {
  const size_t left = static_cast<size_t>(end - at);
  const auto fits = [&](const Text& text) {
    const size_t size = text.content.size();
    return size + (text.is_last ? 0u : 1u) <= left &&
           std::memcmp(at, text.content.data(), size) == 0;
  };
  const Followers& followers = before.followers;
  if (followers.only != nullptr) {
    return fits(*followers.only) ? followers.only : nullptr;
  }
  if (followers.count == 0 || followers.window > left) return nullptr;
  const uint64_t hash = HashLong(at, followers.window);
  const size_t mask = followers.table.size() - 1;
  for (size_t i = hash & mask; followers.table[i].text != nullptr;
       i = (i + 1) & mask) {
    const Follower& follower = followers.table[i];
    if (follower.hash == hash && fits(*follower.text)) return follower.text;
  }
  return nullptr;
}

const KnownRows::Kind* KnownRows::Find(uint64_t path) const {
  const auto found = kinds_.find(path);
  return found == kinds_.end() ? nullptr : found->second.get();
}

bool KnownRows::Learn(absl::Span<const PrintedField> fields, const Kind& kind) {
  auto known = std::make_unique<Kind>(kind);
  for (const PrintedField& field : fields) {
    const bool is_hole = IsHole(field);
    if (field.step.act == Act::kThroughput && !is_hole) return false;
    if (!is_hole) continue;
    if (field.step.act == Act::kJobId) known->job_id = PaddedText();
    if (field.step.act == Act::kRunIndex) known->run_index = PaddedText();
    if (field.step.act == Act::kStartedAt) known->started_at = PaddedText();
  }
  uint64_t path = 0;
  Text* before = start_.get();
  const auto step = [&](const std::string& content, const Step& hole,
                        bool is_last) {
    Text* text = TextOf(content, hole, is_last);
    AddFollower(&before->followers, text);
    path = Path(path, *text);
    before = text;
  };
  std::string content;
  for (size_t i = 0; i < fields.size(); ++i) {
    absl::StrAppend(&content, i == 0 ? "{" : ",", fields[i].key);
    if (IsHole(fields[i])) {
      step(content, fields[i].step, /*is_last=*/false);
      content.clear();
    } else {
      absl::StrAppend(&content, fields[i].value);
    }
  }
  step(absl::StrCat(content, "}\n"), Step(), /*is_last=*/true);
  if (kinds_.emplace(path, std::move(known)).second) bytes_ += sizeof(Kind);
  return true;
}

KnownRows::Text* KnownRows::TextOf(const std::string& content, const Step& hole,
                                   bool is_last) {
  // The key at the end of the text decides about the hole.
  std::unique_ptr<Text>& place = texts_[content];
  if (place == nullptr) {
    place = std::make_unique<Text>();
    place->content = PaddedText(content);
    place->id = static_cast<uint32_t>(texts_.size());
    place->is_last = is_last;
    place->hole = hole;
    bytes_ += sizeof(Text) + 2 * content.size() + kPrintedPadding;
  }
  return place.get();
}

void KnownRows::AddFollower(Followers* followers, const Text* text) {
  if (followers->count == 0) {
    followers->count = 1;
    followers->only = text;
    return;
  }
  if (followers->only == text) return;
  const size_t window =
      std::min(followers->only != nullptr ? followers->only->content.size()
                                          : followers->window,
               text->content.size());
  if (followers->only != nullptr) {
    followers->table.push_back({0, followers->only});
    followers->only = nullptr;
  }
  if (window != followers->window ||
      2 * (followers->count + 1) > followers->table.size()) {
    Rebuild(followers, window, followers->count + 1);
  }
  const uint64_t hash = HashLong(text->content.data(), window);
  const size_t mask = followers->table.size() - 1;
  size_t i = hash & mask;
  for (; followers->table[i].text != nullptr; i = (i + 1) & mask) {
    if (followers->table[i].text == text) return;
  }
  followers->table[i] = {hash, text};
  ++followers->count;
}

void KnownRows::Rebuild(Followers* followers, size_t window, size_t count) {
  const std::vector<Follower> old = std::move(followers->table);
  size_t size = 4;
  while (size < 4 * count) size *= 2;
  followers->window = window;
  followers->table.assign(size, Follower());
  for (const Follower& follower : old) {
    if (follower.text == nullptr) continue;
    const uint64_t hash = HashLong(follower.text->content.data(), window);
    size_t i = hash & (size - 1);
    while (followers->table[i].text != nullptr) i = (i + 1) & (size - 1);
    followers->table[i] = {hash, follower.text};
  }
  bytes_ += (size - std::min(size, old.size())) * sizeof(Follower);
}

}  // namespace feedrate
