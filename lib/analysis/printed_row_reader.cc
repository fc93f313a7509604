#include "lib/analysis/printed_row_reader.h"

#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/analysis/printed_value.h"
#include "lib/analysis/repeats.h"
#include "lib/analysis/row_log.h"
#include "lib/analysis/row_steps.h"
#include "lib/analysis/words.h"

namespace feedrate {
namespace {

// Lines that are looked at to see what all rows share, and how far apart: runs
// of one library or transform follow each other, and are not what is meant.
constexpr int kCommonLines = 32;
constexpr int kCommonDistance = 37;
// Two rows of a job show what may change in it.
constexpr int kJobLines = 2;
// Jobs to remember, at some 600 bytes each, and places for them.
constexpr size_t kMaxJobs = 12000;
constexpr size_t kJobTable = 1 << 15;
// By then it shows whether jobs come back.
constexpr int64_t kJobTrial = 1 << 16;

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
      slots_(slots),
      log_(log),
      row_(slots),
      common_(kCommonLines),
      table_(kJobTable) {}

const char* PrintedRowReader::Read(const char* at, const char* end) {
  if (*at++ != '{') return nullptr;
  row_.Reset();
  const bool learns_common = common_.learning() && until_learning_-- <= 0;
  bool forget_common = false;
  JobRepeats* job = nullptr;
  Repeats* repeats = &common_;
  for (size_t place = 0;; ++place) {
    Stretch* stretch = repeats->At(place);
    if (stretch != nullptr) {
      const bool fits = stretch->size < static_cast<size_t>(end - at);
      const char after = fits ? at[stretch->size] : '\0';
      if ((after == ',' || after == '}') &&
          SameBytes(at, stretch->text.data(), stretch->size)) {
        if (!Repeats::Apply(stretch, &row_)) return nullptr;
        at += stretch->size + 1;
        place = stretch->next_place - 1;
        if (after == ',') continue;
        break;
      }
      if (repeats->Missed(place) && repeats == &common_) forget_common = true;
    }
    const char* const start = at;
    Step step;
    at = ReadKey(at, place, &step);
    if (at == nullptr) return nullptr;
    at = ReadValue(step, at);
    if (at == nullptr) return nullptr;
    const absl::string_view text(start, static_cast<size_t>(at - start));
    if (learns_common) common_.Note(place, text);
    if (job != nullptr && job->repeats.learning()) {
      job->repeats.Note(place, text);
    }
    if (step.act == Act::kJobId) {
      job = FindJob(row_.numbers.job_id);
      if (job != nullptr) repeats = &job->repeats;
    }
    const char after = *at++;
    if (after == ',') continue;
    if (after != '}') return nullptr;
    break;
  }
  if (*at != '\n' || !row_.IsRow() || !AddRow(job)) return nullptr;
  if (learns_common && common_.learning()) {
    until_learning_ = kCommonDistance;
    common_.EndLine(*steps_, slots_);
  }
  if (job != nullptr && job->repeats.learning()) {
    job->repeats.EndLine(*steps_, slots_);
  }
  // The row is in the log, so nothing points into the old stretches any more.
  if (forget_common) common_ = Repeats(kCommonLines);
  return at;
}

bool PrintedRowReader::AddRow(JobRepeats* job) {
  // The same job with the same values: the group need not be looked for.
  if (job != nullptr && job->has_group && job->hash == row_.hash) {
    return log_->AddTo(job->group, row_.numbers).ok();
  }
  uint32_t group;
  if (!log_->Add(row_.tokens, row_.hash, row_.numbers, &group).ok()) {
    return false;
  }
  if (job != nullptr) {
    job->group = group;
    job->hash = row_.hash;
    job->has_group = true;
  }
  return true;
}

PrintedRowReader::JobRepeats* PrintedRowReader::FindJob(
    absl::string_view job_id) {
  if (table_.empty()) return nullptr;
  if (++lookups_ == kJobTrial && found_ * 4 < lookups_) {
    // Jobs seldom come back here: to look for them costs more than it gives.
    table_.clear();
    jobs_.clear();
    return nullptr;
  }
  size_t at = HashBytes(job_id.data(), job_id.size(), kOdd1) % kJobTable;
  for (; table_[at] != nullptr; at = (at + 1) % kJobTable) {
    if (table_[at]->job_id == job_id) {
      ++found_;
      return table_[at];
    }
  }
  if (jobs_.size() == kMaxJobs) return nullptr;
  jobs_.push_back(std::unique_ptr<JobRepeats>(
      new JobRepeats{std::string(job_id), Repeats(kJobLines)}));
  table_[at] = jobs_.back().get();
  return table_[at];
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
