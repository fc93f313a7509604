#include "lib/analysis/rows/row_reader.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/analysis/rows/row_log.h"
#include "lib/analysis/rows/row_templates.h"
#include "lib/analysis/rows/text_scan.h"

namespace feedrate {
namespace {

// Size limit of the templates; more would not stay in a cache.
constexpr size_t kMaxKnownBytes = 16 << 20;
// Adding a template takes as long as reading three rows. This many are added at
// first; then one more for each row that matched.
constexpr int64_t kLearnedAtFirst = 2000;
// After this many rows it is clear whether templates help.
constexpr int64_t kTrial = 1 << 14;

// The shortest form of a double has at most 24 characters.
constexpr size_t kLongestNumber = 32;
static_assert(kLongestNumber <= kScanPadding, "a number may be cut off");

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Parses the number at `at` and returns the place after it; null if it is not
// a number of JSON, which has neither `01` nor `1.`.
const char* ToDouble(const char* at, double* number) {
  const char* const digits = *at == '-' ? at + 1 : at;
  if (!IsDigit(*digits) || (*digits == '0' && IsDigit(digits[1]))) {
    return nullptr;
  }
  // Without an exponent first, so that the end shows a `.` before it.
  std::from_chars_result result = std::from_chars(
      at, at + kLongestNumber, *number, std::chars_format::fixed);
  if (result.ec == std::errc() && result.ptr[-1] == '.') return nullptr;
  if (*result.ptr == 'e' || *result.ptr == 'E') {
    result = std::from_chars(at, at + kLongestNumber, *number);
  }
  return result.ec == std::errc() ? result.ptr : nullptr;
}

}  // namespace

RowReader::RowReader(const RowSteps* steps, size_t slots, RowLog* log)
    : steps_(steps),
      log_(log),
      row_(slots),
      known_(std::make_unique<RowTemplates>(kMaxKnownBytes)) {}

const char* RowReader::Read(const char* at, const char* end) {
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

bool RowReader::MayLearn() {
  if (rows_ >= kTrial && known_rows_ * 8 < rows_) {
    // Searching costs more than it saves.
    use_known_ = false;
    known_ = std::make_unique<RowTemplates>(0);
    return false;
  }
  return has_room_ && learned_ < kLearnedAtFirst + known_rows_;
}

const char* RowReader::ReadKnown(const char* at, const char* end) {
  row_.ResetNumbers();
  uint64_t path = 0;
  const RowTemplates& known = *known_;
  const RowTemplates::Text* text = &known.start();
  for (;;) {
    text = known.Next(*text, at, end);
    if (text == nullptr) return nullptr;
    path = RowTemplates::Path(path, *text);
    at += text->size;
    if (text->is_last) break;
    at = ReadValue({text->hole}, at);
    if (at == nullptr) return nullptr;
  }
  const RowTemplates::Kind* kind = known.Find(path);
  if (kind == nullptr) return nullptr;
  if (kind->constants != 0) {
    const RowTemplates::Constants& constants = known.constants(*kind);
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

const char* RowReader::ReadFields(const char* at) {
  row_.Reset();
  fields_.clear();
  const char* before = at;
  at = AfterSpaces(at);
  if (*at++ != '{') return nullptr;
  for (size_t place = 0;; ++place) {
    TemplateStep step;
    at = ReadKey(AfterSpaces(at), place, &step);
    if (at == nullptr) return nullptr;
    const char* const value = at;
    at = ReadValue(step, at);
    if (at == nullptr) return nullptr;
    if (learns_row_) {
      fields_.push_back(
          {absl::string_view(before, static_cast<size_t>(value - before)),
           absl::string_view(value, static_cast<size_t>(at - value)), step});
    }
    before = at;
    at = AfterSpaces(at);
    const char after = *at++;
    if (after == '}') break;
    if (after != ',') return nullptr;
  }
  at = AfterSpaces(at);
  uint32_t group;
  if (*at != '\n' || !row_.IsRow() ||
      !log_->Add(row_.tokens, row_.hash, row_.numbers, &group).ok()) {
    return nullptr;
  }
  if (learns_row_) {
    Learn(absl::string_view(before, static_cast<size_t>(at + 1 - before)),
          group);
  }
  return at;
}

void RowReader::Learn(absl::string_view end, uint32_t group) {
  RowTemplates::Constants constants;
  constants.attempt = row_.numbers.attempt;
  constants.job_id = PaddedText(row_.numbers.job_id);
  constants.run_index = PaddedText(row_.numbers.run_index);
  constants.started_at = PaddedText(row_.numbers.started_at);
  ++learned_;
  has_room_ = known_->Learn(fields_, end, group, std::move(constants));
}

// Reads the key whose quote is at `at`, and returns the place of its value.
const char* RowReader::ReadKey(const char* at, size_t place,
                               TemplateStep* step) {
  if (*at++ != '"') return nullptr;
  const auto is = [at](const KnownKey& known) {
    return SameBytes(at, known.key.data(), known.size);
  };
  if (place >= expected_.size()) expected_.resize(place + 1);
  const KnownKey* known = &keys_[expected_[place]];
  if (known->size == 0 || !is(*known)) {
    const char* const end = PlainStringEnd(at);
    if (end == nullptr) return nullptr;
    const size_t size = static_cast<size_t>(end - at);
    const uint64_t start = LoadPart(at, std::min(size, kWord));
    const uint8_t hash =
        static_cast<uint8_t>(MixWord(start ^ (size * kOdd2), kOdd1) >> 56);
    KnownKey& one = keys_[hash];
    if (one.size != size || !is(one)) {
      const absl::string_view key(at, size);
      one = {absl::StrCat(key, std::string(kScanPadding, '\0')), size,
             steps_->For(key.substr(0, size - 1))};
    }
    expected_[place] = hash;
    known = &one;
  }
  *step = known->step;
  at = AfterSpaces(at + known->size);
  return *at == ':' ? AfterSpaces(at + 1) : nullptr;
}

// Whether the value is taken as text by RowScratch::TakeToken.
bool IsToken(Act act) {
  return act == Act::kRecord || act == Act::kSchema || act == Act::kJobId ||
         act == Act::kRunIndex || act == Act::kAttempt ||
         act == Act::kStartedAt;
}

// Takes the value at `at`, and returns the place after it.
const char* RowReader::ReadValue(const TemplateStep& step, const char* at) {
  if (step.act == Act::kThroughput && step.also_slot < 0) {
    if (!row_.Once(step.act)) return nullptr;
    return ToDouble(at, &row_.numbers.value);
  }
  const char* end =
      *at == '"' && IsToken(step.act) ? PlainStringEnd(at + 1) : ValueEnd(at);
  if (end == nullptr || step.act == Act::kSkip) return end;
  return TakeValue(step, at, end) ? end : nullptr;
}

bool RowReader::TakeValue(const TemplateStep& step, const char* at,
                          const char* end) {
  const absl::string_view token(at, static_cast<size_t>(end - at));
  if (step.act == Act::kSlot) {
    return row_.Fill(step.index, token);
  }
  if (step.act == Act::kPart) {
    if (step.also_slot >= 0 && !row_.Fill(step.also_slot, token)) return false;
    return TakePart(steps_->part(step.index), at, end);
  }
  if (!row_.Once(step.act)) return false;
  if (step.also_slot >= 0 && !row_.Fill(step.also_slot, token)) return false;
  if (step.act == Act::kThroughput) {
    return ToDouble(at, &row_.numbers.value) == end;
  }
  if (step.act == Act::kSamples) return TakeSamples(at, end);
  return *at != '{' && *at != '[' && row_.TakeToken(step.act, token);
}

bool RowReader::TakePart(const RowSteps::Part& part, const char* at,
                         const char* end) {
  if (*at != '{') return false;
  at = AfterSpaces(at + 1);
  if (*at == '}') return at + 1 == end;
  for (;;) {
    if (*at++ != '"') return false;
    const char* const key_end = PlainStringEnd(at);
    if (key_end == nullptr) return false;
    const auto found =
        part.find(absl::string_view(at, static_cast<size_t>(key_end - at) - 1));
    at = AfterSpaces(key_end);
    if (*at != ':') return false;
    at = AfterSpaces(at + 1);
    const char* const next = ValueEnd(at);
    if (next == nullptr) return false;
    if (found != part.end()) {
      const absl::string_view token(at, static_cast<size_t>(next - at));
      if (*at == '{' || !row_.Fill(found->second, token)) return false;
    }
    at = AfterSpaces(next);
    if (*at == '}') return at + 1 == end;
    if (*at != ',') return false;
    at = AfterSpaces(at + 1);
  }
}

bool RowReader::TakeSamples(const char* at, const char* end) {
  if (*at != '[') return false;
  at = AfterSpaces(at + 1);
  if (*at == ']') return at + 1 == end;
  for (;;) {
    double sample;
    at = ToDouble(at, &sample);
    if (at == nullptr) return false;
    row_.samples.push_back(sample);
    at = AfterSpaces(at);
    if (*at == ']') break;
    if (*at != ',') return false;
    at = AfterSpaces(at + 1);
  }
  row_.numbers.samples_s = row_.samples;
  return at + 1 == end;
}

}  // namespace feedrate
