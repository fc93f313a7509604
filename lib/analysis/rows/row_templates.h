// Which keys of a row's JSON a query needs, and what rows have in common, so
// that readers can skip the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/analysis/rows/row_log.h"
#include "lib/analysis/rows/text_scan.h"

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

// How to handle one key.
struct TemplateStep {
  Act act = Act::kSkip;
  // Index of the slot or part; -1 if neither.
  int index = -1;
  // The slot of a number that is also a field of the query, such as
  // --by=run_index; -1 if none.
  int also_slot = -1;
};

// The steps of all keys.
class RowSteps {
 public:
  // Slots inside an object, by key.
  using Part = absl::flat_hash_map<std::string, int>;

  explicit RowSteps(const Query& query);

  TemplateStep For(absl::string_view key) const;
  const Part& part(int index) const {
    return parts_[static_cast<size_t>(index)];
  }

 private:
  absl::flat_hash_map<std::string, TemplateStep> steps_;
  std::vector<Part> parts_;
};

// One row on its way from JSON into a log. Functions return false for anything
// unusual; the row is then left to a more thorough reader.
class RowScratch {
 public:
  explicit RowScratch(size_t slots) : slots_(slots) {}

  void Reset();
  // Resets everything but the tokens.
  void ResetNumbers();

  // Sets a slot. False if it is already set: the key is there twice.
  bool Fill(int slot, absl::string_view token) {
    absl::string_view& place = tokens[static_cast<size_t>(slot)];
    if (!place.empty() || token.empty()) return false;
    place = token;
    hash += RowLog::TokenHash(static_cast<size_t>(slot), token);
    return true;
  }
  // False the second time: each number may appear only once.
  bool Once(Act act) {
    const uint32_t bit = Bit(act);
    if ((seen & bit) != 0) return false;
    seen |= bit;
    return true;
  }
  bool Saw(Act act) const { return (seen & Bit(act)) != 0; }
  // Takes a value that is read as text: record, schema, job id, run index,
  // attempt or start time. REQUIRES: the token holds no escapes.
  bool TakeToken(Act act, absl::string_view token);

  // Whether it is a row of a known schema.
  bool IsRow() const { return Saw(Act::kRecord) && Saw(Act::kSchema); }

  // One per slot, and one more that is empty.
  std::vector<absl::string_view> tokens;
  // Sum of the tokens' hashes.
  uint64_t hash = 0;
  std::vector<double> samples;
  RowNumbers numbers;
  // Bit set of the acts done.
  uint32_t seen = 0;

 private:
  static uint32_t Bit(Act act) { return 1u << static_cast<int>(act); }

  const size_t slots_;
};

// A value of a row, exactly as printed.
struct PrintedField {
  // Everything between the value before and this one: a brace or comma, the
  // key, its colon, spaces.
  absl::string_view before;
  absl::string_view value;
  TemplateStep step;
};

// A copy of a text with readable bytes after it.
class PaddedText {
 public:
  PaddedText() = default;
  explicit PaddedText(absl::string_view text)
      : bytes_(absl::StrCat(text, std::string(kScanPadding, '\0'))),
        size_(text.size()) {}
  bool empty() const { return size_ == 0; }
  absl::string_view view() const {
    return absl::string_view(bytes_).substr(0, size_);
  }

 private:
  std::string bytes_;
  size_t size_ = 0;
};

// Templates of rows: texts with holes between them. A hole is a value that
// differs from row to row: job, run, throughput, raw timings, and every number
// or object that the query does not need. The text between two holes (library,
// transform, machine) is one of few. To find which text follows, hashes as many
// bytes as the shortest candidate has, then compares the whole text.
//
//   {"record":"row","job_id":[hole],"library":"kornia","run_index":[hole]…}
//
// Data read for each row is kept close together, so that it stays in a core's
// own cache. That is what makes this fast.
class RowTemplates {
 public:
  // The text from just after a value to just after the colon of the next hole's
  // key, or to the newline. Its bytes are stored elsewhere, since only the
  // comparison needs them.
  struct Text {
    uint32_t size = 0;
    // Offset of its bytes, in units of kLine.
    uint32_t line = 0;
    // The texts that may follow it: the index of the only one, or of a table of
    // several. 0 if none.
    uint32_t only = 0;
    uint32_t many = 0;
    // What to do with the value after it.
    Act hole = Act::kSkip;
    bool is_last = false;
  };
  // Values that are part of the texts. Empty if in a hole, or missing.
  struct Constants {
    int64_t attempt = 0;
    // As JSON.
    PaddedText job_id;
    PaddedText run_index;
    PaddedText started_at;
  };
  // The rows that consist of the same texts.
  struct Kind {
    uint64_t path = 0;
    // Group index + 1; 0 marks an empty table entry.
    uint32_t group = 0;
    // Index of the constants + 1; 0 if there are none.
    uint32_t constants = 0;
  };

  // Remembers at most `max_bytes` of text.
  explicit RowTemplates(size_t max_bytes);

  // The start of every line, to pass to Next.
  const Text& start() const { return texts_[0]; }
  // The text at `at`, which follows `before` and its value; null if unknown. At
  // least one byte before `end` follows it unless it is the last. Valid until
  // the next call of Learn.
  const Text* Next(const Text& before, const char* at, const char* end) const {
    const size_t left = static_cast<size_t>(end - at);
    if (before.only != 0) {
      const Text& only = texts_[before.only];
      return Fits(only, at, left) ? &only : nullptr;
    }
    return before.many == 0 ? nullptr : NextOf(tables_[before.many], at, left);
  }

  // Extends the hash of a sequence of texts by one text. Two sequences collide
  // with probability 2^-64, as do all hashes here.
  static uint64_t Path(uint64_t path, const Text& text) {
    return MixWord(path ^ text.line, kOdd1);
  }
  // The rows that consist of the texts of `path`; null if there are none.
  const Kind* Find(uint64_t path) const {
    for (size_t i = path & (kinds_.size() - 1); kinds_[i].group != 0;
         i = (i + 1) & (kinds_.size() - 1)) {
      if (kinds_[i].path == path) return &kinds_[i];
    }
    return nullptr;
  }
  const Constants& constants(const Kind& kind) const {
    return *constants_[kind.constants - 1];
  }

  // Remembers a row of `group` (an index from 0). `end` is what follows its
  // last value, newline included. `constants` are its values, in holes or not.
  // False, and nothing is remembered, if there is no room, or if the group
  // depends on the throughput: then no two rows are alike.
  bool Learn(absl::Span<const PrintedField> fields, absl::string_view end,
             uint32_t group, Constants constants);

 private:
  // Texts are aligned to this.
  static constexpr size_t kLine = 64;
  struct Follower {
    // Some bits of the hash, and the index of the text. 0 if empty.
    uint32_t tag;
    uint32_t text;
  };
  // The texts that may follow one text.
  struct Followers {
    // Length of the shortest text: how many bytes are hashed.
    size_t window = 0;
    size_t count = 0;
    // Hash table with open addressing.
    std::vector<Follower> table;
  };

  const char* BytesOf(const Text& text) const {
    return bytes_.data() + text.line * kLine;
  }
  bool Fits(const Text& text, const char* at, size_t left) const {
    return text.size + (text.is_last ? 0u : 1u) <= left &&
           SameLong(at, BytesOf(text), text.size);
  }
  const Text* NextOf(const Followers& followers, const char* at,
                     size_t left) const;
  uint32_t NumberOf(const std::string& content, Act hole, bool is_last);
  void AddFollower(uint32_t before, uint32_t text);
  void Insert(uint32_t text, Followers* followers) const;
  void Rebuild(Followers* followers, size_t window, size_t count) const;
  void AddKind(Kind kind, Constants constants);

  // Untouched pages take no memory.
  BigArray<char> bytes_;
  // The first line is unused.
  size_t lines_ = 1;
  // The first entry is start().
  std::vector<Text> texts_;
  absl::flat_hash_map<std::string, uint32_t> number_of_;
  // The first entry is unused.
  std::vector<Followers> tables_;
  // Hash table with open addressing.
  std::vector<Kind> kinds_;
  size_t kind_count_ = 0;
  std::vector<std::unique_ptr<Constants>> constants_;
};

}  // namespace feedrate
