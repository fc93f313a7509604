#include "lib/analysis/printed_row_reader.h"

#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/analysis/known_rows.h"
#include "lib/analysis/printed_value.h"
#include "lib/analysis/row_log.h"
#include "lib/analysis/row_steps.h"
#include "lib/analysis/words.h"

namespace feedrate {
namespace {

// What is remembered of rows: more would not stay in a cache.
constexpr size_t kMaxKnownBytes = 16 << 20;
// To learn a row costs as much as to read three. So many are learnt before any
// has come back; then one for each that did.
constexpr int64_t kLearntAtFirst = 2000;
// By then it shows whether rows are alike.
constexpr int64_t kTrial = 1 << 14;

// Shortest forms of doubles have 24 characters at most.
constexpr size_t kLongestNumber = 32;
static_assert(kLongestNumber <= kPrintedPadding, "a number may be cut off");

// Behind the number that starts at `at`; null when it is none.
const char* ToDouble(const char* at, double* number) {
  if (*at != '-' && (*at < '0' || *at > '9')) return nullptr;
  const std::from_chars_result result =
      std::from_chars(at, at + kLongestNumber, *number);
  return result.ec == std::errc() ? result.ptr : nullptr;
}

}  // namespace

PrintedRowReader::PrintedRowReader(const RowSteps* steps, size_t slots,
                                   RowLog* log)
    : steps_(steps),
      log_(log),
      row_(slots),
      known_(std::make_unique<KnownRows>(kMaxKnownBytes)) {}

const char* PrintedRowReader::Read(const char* at, const char* end) {
  if (!use_known_) return ReadFields(at);
  const char* newline = ReadKnown(at, end);
  ++rows_;
  if (newline != nullptr) {
    ++known_rows_;
    return newline;
  }
  learns_row_ = MayLearn();
  newline = ReadFields(at);
  learns_row_ = false;
  return newline;
}

bool PrintedRowReader::MayLearn() {
  if (rows_ >= kTrial && known_rows_ * 8 < rows_) {
    // To look for rows costs more than it gives.
    use_known_ = false;
    known_ = std::make_unique<KnownRows>(0);
    return false;
  }
  return has_room_ && learnt_ < kLearntAtFirst + known_rows_;
}

const char* PrintedRowReader::ReadKnown(const char* at, const char* end) {
  row_.ResetNumbers();
  uint64_t path = 0;
  const KnownRows& known = *known_;
  const KnownRows::Text* text = &known.start();
  for (;;) {
    text = known.Next(*text, at, end);
    if (text == nullptr) return nullptr;
    path = KnownRows::Path(path, *text);
    at += text->size;
    if (text->is_last) break;
    at = ReadValue({text->hole}, at);
    if (at == nullptr) return nullptr;
  }
  const KnownRows::Kind* kind = known.Find(path);
  if (kind == nullptr) return nullptr;
  if (kind->constants != 0) {
    const KnownRows::Constants& constants = known.constants(*kind);
    RowNumbers& numbers = row_.numbers;
    numbers.attempt = constants.attempt;
    if (!constants.job_id.empty()) numbers.job_id = constants.job_id.view();
    if (!constants.run_index.empty()) {
      numbers.run_index = constants.run_index.view();
    }
    if (!constants.started_at.empty()) {
      numbers.started_at = constants.started_at.view();
    }
  }
  if (!log_->AddTo(kind->group - 1, row_.numbers).ok()) return nullptr;
  return at - 1;
}

const char* PrintedRowReader::ReadFields(const char* at) {
  if (*at++ != '{') return nullptr;
  row_.Reset();
  fields_.clear();
  for (size_t place = 0;; ++place) {
    const char* const key = at;
    Step step;
    at = ReadKey(at, place, &step);
    if (at == nullptr) return nullptr;
    const char* const value = at;
    at = ReadValue(step, at);
    if (at == nullptr) return nullptr;
    if (learns_row_) {
      fields_.push_back(
          {absl::string_view(key, static_cast<size_t>(value - key)),
           absl::string_view(value, static_cast<size_t>(at - value)), step});
    }
    const char after = *at++;
    if (after == '}') break;
    if (after != ',') return nullptr;
  }
  uint32_t group;
  if (*at != '\n' || !row_.IsRow() ||
      !log_->Add(row_.tokens, row_.hash, row_.numbers, &group).ok()) {
    return nullptr;
  }
  if (learns_row_) Learn(group);
  return at;
}

void PrintedRowReader::Learn(uint32_t group) {
  KnownRows::Constants constants;
  constants.attempt = row_.numbers.attempt;
  constants.job_id = PaddedText(row_.numbers.job_id);
  constants.run_index = PaddedText(row_.numbers.run_index);
  constants.started_at = PaddedText(row_.numbers.started_at);
  ++learnt_;
  has_room_ = known_->Learn(fields_, group, std::move(constants));
}

// Behind the colon of the key whose quote is at `at`.
const char* PrintedRowReader::ReadKey(const char* at, size_t place,
                                      Step* step) {
  if (*at++ != '"') return nullptr;
  const char* end;
  if (place < expected_.size() &&
      SameBytes(at, expected_[place].key.data(), expected_[place].size)) {
    *step = expected_[place].step;
    end = at + expected_[place].size;
  } else {
    end = PlainStringEnd(at);
    if (end == nullptr) return nullptr;
    const absl::string_view key(at, static_cast<size_t>(end - at));
    *step = steps_->For(key.substr(0, key.size() - 1));
    if (place >= expected_.size()) expected_.resize(place + 1);
    expected_[place] = {absl::StrCat(key, std::string(kPrintedPadding, '\0')),
                        key.size(), *step};
  }
  return *end == ':' ? end + 1 : nullptr;
}

// Behind the value at `at`, which is taken.
const char* PrintedRowReader::ReadValue(const Step& step, const char* at) {
  if (step.act == Act::kThroughput && step.also_slot < 0) {
    if (!row_.Once(step.act)) return nullptr;
    return ToDouble(at, &row_.numbers.throughput);
  }
  const char* end = ValueEnd(at);
  if (end == nullptr || step.act == Act::kSkip) return end;
  return TakeValue(step, at, end) ? end : nullptr;
}

bool PrintedRowReader::TakeValue(const Step& step, const char* at,
                                 const char* end) {
  const absl::string_view token(at, static_cast<size_t>(end - at));
  if (step.act == Act::kSlot) {
    return *at != '{' && row_.Fill(step.index, token);
  }
  if (step.act == Act::kPart) {
    return TakePart(steps_->part(step.index), at, end);
  }
  if (!row_.Once(step.act)) return false;
  if (step.also_slot >= 0 && !row_.Fill(step.also_slot, token)) return false;
  if (step.act == Act::kThroughput) {
    return ToDouble(at, &row_.numbers.throughput) == end;
  }
  if (step.act == Act::kSamples) return TakeSamples(at, end);
  return *at != '{' && *at != '[' && row_.TakeToken(step.act, token);
}

bool PrintedRowReader::TakePart(const RowSteps::Part& part, const char* at,
                                const char* end) {
  if (*at != '{') return false;
  if (at[1] == '}') return at + 2 == end;
  while (at + 1 < end) {
    if (*++at != '"') return false;
    const char* key_end = PlainStringEnd(++at);
    if (key_end == nullptr || *key_end != ':') return false;
    const auto found =
        part.find(absl::string_view(at, static_cast<size_t>(key_end - at) - 1));
    at = key_end + 1;
    const char* next = ValueEnd(at);
    if (next == nullptr || (*next != ',' && *next != '}')) return false;
    if (found != part.end()) {
      const absl::string_view token(at, static_cast<size_t>(next - at));
      if (*at == '{' || !row_.Fill(found->second, token)) return false;
    }
    at = next;
  }
  return at + 1 == end;
}

bool PrintedRowReader::TakeSamples(const char* at, const char* end) {
  if (*at != '[') return false;
  if (at[1] == ']') return at + 2 == end;
  while (at + 1 < end) {
    double sample;
    at = ToDouble(at + 1, &sample);
    if (at == nullptr || (*at != ',' && *at != ']')) return false;
    row_.samples.push_back(sample);
  }
  row_.numbers.samples_s = row_.samples;
  return at + 1 == end;
}

}  // namespace feedrate
