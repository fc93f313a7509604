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
  const char* data() const { return bytes_.data(); }
  size_t size() const { return size_; }
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
class KnownRows {
 public:
  // What all rows have in common that consist of the same texts.
  struct Kind {
    uint32_t group = 0;
    int64_t attempt = 0;
    // JSON of the values that stand in a text. Empty: in a hole, or nowhere.
    PaddedText job_id;
    PaddedText run_index;
    PaddedText started_at;
  };
  struct Text;
  struct Follower {
    uint64_t hash = 0;
    const Text* text = nullptr;
  };
  // The texts that were seen behind one.
  struct Followers {
    // No text is shorter.
    size_t window = 0;
    size_t count = 0;
    const Text* only = nullptr;
    // Open addressing; empty while there is only one.
    std::vector<Follower> table;
  };
  struct Text {
    // From behind a value to behind the colon of the next hole's key, or to
    // the newline.
    PaddedText content;
    uint32_t id = 0;
    bool is_last = false;
    Step hole;
    Followers followers;
  };

  KnownRows();

  // Behind which all lines start.
  const Text& start() const { return *start_; }
  // The text at `at`, behind `before` and its value; null when none is known.
  // At least one byte before `end` follows it unless it is the last.
  const Text* Next(const Text& before, const char* at, const char* end) const;

  // Identifies a sequence of texts: fold their ids into it, one by one. An
  // accident of one in 2^64 apart, as everywhere here.
  static uint64_t Path(uint64_t path, const Text& text) {
    return MixWord(path ^ text.id, kOdd1);
  }
  // The rows that consist of the texts of `path`; null when there are none.
  const Kind* Find(uint64_t path) const;

  // Remembers a row. False, and nothing is remembered, when its throughput
  // decides about its group: then no two rows are alike.
  bool Learn(absl::Span<const PrintedField> fields, const Kind& kind);

  // Bytes in use, about.
  size_t bytes() const { return bytes_; }

 private:
  Text* TextOf(const std::string& content, const Step& hole, bool is_last);
  void AddFollower(Followers* followers, const Text* text);
  void Rebuild(Followers* followers, size_t window, size_t count);

  // By content and kind of hole.
  absl::flat_hash_map<std::string, std::unique_ptr<Text>> texts_;
  std::unique_ptr<Text> start_;
  absl::flat_hash_map<uint64_t, std::unique_ptr<Kind>> kinds_;
  size_t bytes_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_KNOWN_ROWS_H_
