// What rows share, so that only what differs need be read.
#ifndef FEEDRATE_LIB_ANALYSIS_KNOWN_ROWS_H_
#define FEEDRATE_LIB_ANALYSIS_KNOWN_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/analysis/big_array.h"
#include "lib/analysis/printed_value.h"
#include "lib/analysis/row_steps.h"
#include "lib/analysis/words.h"

namespace feedrate {

// A key of a row with its value, as they stand there.
struct PrintedField {
  // With quotes and colon.
  absl::string_view key;
  absl::string_view value;
  Step step;
};

// A copy of a text with readable bytes behind it.
class PaddedText {
 public:
  PaddedText() = default;
  explicit PaddedText(absl::string_view text)
      : bytes_(absl::StrCat(text, std::string(kPrintedPadding, '\0'))),
        size_(text.size()) {}
  bool empty() const { return size_ == 0; }
  absl::string_view view() const {
    return absl::string_view(bytes_).substr(0, size_);
  }

 private:
  std::string bytes_;
  size_t size_ = 0;
};

// Rows as texts with holes between them. A hole is a value that each row has
// its own of: job, run, throughput, raw timings, and every number or object
// that the query does not need. What stands between two holes (library,
// transform, machine) is one of few texts; which one follows is found by a hash
// of as many bytes as all that may follow have, and then compared.
//
//   {"record":"row","job_id":[hole],"library":"kornia","run_index":[hole]…}
//
// Everything that is looked at for each row lies close together: that it stays
// in a core's own cache is what makes this fast.
class KnownRows {
 public:
  // From behind a value to behind the colon of the next hole's key, or to the
  // newline. Its bytes lie elsewhere: nothing but the comparison waits for
  // them.
  struct Text {
    uint32_t size = 0;
    // Where its bytes lie, in lines.
    uint32_t line = 0;
    // The texts that were seen behind it: the number of the only one, or of
    // the table of them. 0: none.
    uint32_t only = 0;
    uint32_t many = 0;
    // What to do with the value behind it.
    Act hole = Act::kSkip;
    bool is_last = false;
  };
  // Values that stand in the texts. Empty: in a hole, or nowhere.
  struct Constants {
    int64_t attempt = 0;
    // As JSON.
    PaddedText job_id;
    PaddedText run_index;
    PaddedText started_at;
  };
  // All rows that consist of the same texts.
  struct Kind {
    uint64_t path = 0;
    // Number of the group, from 1; 0: no kind.
    uint32_t group = 0;
    // Number of the constants, from 1; 0: there are none.
    uint32_t constants = 0;
  };

  // Remembers `max_bytes` of text.
  explicit KnownRows(size_t max_bytes);

  // Behind which all lines start.
  const Text& start() const { return texts_[0]; }
  // The text at `at`, behind `before` and its value; null when none is known.
  // At least one byte before `end` follows it unless it is the last. Valid
  // until something is learnt.
  const Text* Next(const Text& before, const char* at, const char* end) const {
    const size_t left = static_cast<size_t>(end - at);
    if (before.only != 0) {
      const Text& only = texts_[before.only];
      return Fits(only, at, left) ? &only : nullptr;
    }
    return before.many == 0 ? nullptr : NextOf(tables_[before.many], at, left);
  }

  // Identifies a sequence of texts: fold them into it, one by one. An accident
  // of one in 2^64 apart, as everywhere here.
  static uint64_t Path(uint64_t path, const Text& text) {
    return MixWord(path ^ text.line, kOdd1);
  }
  // The rows that consist of the texts of `path`; null when there are none.
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

  // Remembers a row of `group`, counted from 0. `constants` are its values,
  // whether they stand in holes or not. False, and nothing is remembered, when
  // there is no room, or when the throughput decides about the group: then no
  // two rows are alike.
  bool Learn(absl::Span<const PrintedField> fields, uint32_t group,
             Constants constants);

 private:
  // Bytes of texts lie at multiples of this.
  static constexpr size_t kLine = 64;
  struct Follower {
    // Some of the hash's bits, and the number of the text. 0: empty.
    uint32_t tag;
    uint32_t text;
  };
  // Texts that may follow one.
  struct Followers {
    // No text is shorter.
    size_t window = 0;
    size_t count = 0;
    // Open addressing.
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

  // Grows as it is used: pages that are not touched take no memory.
  BigArray<char> bytes_;
  // The first line is no text's.
  size_t lines_ = 1;
  // The first one stands before each row, and is no text.
  std::vector<Text> texts_;
  absl::flat_hash_map<std::string, uint32_t> number_of_;
  // The first one is not used.
  std::vector<Followers> tables_;
  // Open addressing.
  std::vector<Kind> kinds_;
  size_t kind_count_ = 0;
  std::vector<std::unique_ptr<Constants>> constants_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_KNOWN_ROWS_H_
