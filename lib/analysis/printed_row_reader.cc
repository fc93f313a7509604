#include "lib/analysis/printed_row_reader.h"

#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/analysis/job_line.h"
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
// Jobs to remember, at some 500 bytes each: what a cache may hold.
constexpr size_t kMaxJobs = 10000;
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
      common_(kCommonLines) {}

const char* PrintedRowReader::Read(const char* at, const char* end) {
  // Rows mostly come in the same order run after run.
  if (last_ != nullptr && last_->next != nullptr && last_->next->is_ready) {
    const char* newline = ReadAlike(*last_->next, at, end);
    if (newline != nullptr) {
      ++alike_;
      last_ = last_->next;
      // The next guess may be far away in memory; it is fetched while this
      // row's caller goes on.
      if (last_->next != nullptr) __builtin_prefetch(last_->next);
      return newline;
    }
  }
  return ReadFields(at, end);
}

// The row of a job whose rows are known.
const char* PrintedRowReader::ReadAlike(const JobLine& job, const char* at,
                                        const char* end) {
  row_.ResetNumbers();
  uint32_t start = 0;
  const char* text = job.text.data();
  for (const JobLine::Hole& hole : job.holes) {
    const uint32_t size = hole.end - start;
    if (size >= static_cast<size_t>(end - at) ||
        std::memcmp(at, text + start, size) != 0) {
      return nullptr;
    }
    at = ReadValue(hole.step, at + size);
    if (at == nullptr) return nullptr;
    start = hole.end;
  }
  const uint32_t size = job.size - start;
  if (size > static_cast<size_t>(end - at) ||
      std::memcmp(at, text + start, size) != 0) {
    return nullptr;
  }
  row_.numbers.job_id = absl::string_view(job.job_id.data(), job.job_id_size);
  row_.numbers.attempt = job.attempt;
  if (!log_->AddTo(job.group, row_.numbers).ok()) return nullptr;
  return at + size - 1;
}

const char* PrintedRowReader::ReadFields(const char* at, const char* end) {
  const char* const line = at;
  if (*at++ != '{') return nullptr;
  row_.Reset();
  const bool learns_common = common_.learning() && until_learning_-- <= 0;
  bool forget_common = false;
  JobLine* job = nullptr;
  const bool knows_jobs = use_jobs_;
  fields_.clear();
  for (size_t place = 0;; ++place) {
    Stretch* stretch = common_.At(place);
    if (stretch != nullptr && !learns_job_) {
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
      forget_common |= common_.Missed(place);
    }
    const char* const start = at;
    Step step;
    at = ReadKey(at, place, &step);
    if (at == nullptr) return nullptr;
    const char* const value = at;
    at = ReadValue(step, at);
    if (at == nullptr) return nullptr;
    if (learns_common) {
      common_.Note(place,
                   absl::string_view(start, static_cast<size_t>(at - start)));
    }
    if (learns_job_) {
      fields_.push_back(
          {std::string(start, value), std::string(value, at), step});
    } else if (step.act == Act::kJobId && knows_jobs) {
      job = FindJob(row_.numbers.job_id);
      if (job != nullptr && job->is_ready) {
        const char* newline = ReadAlike(*job, line, end);
        if (newline != nullptr) {
          ++alike_;
          if (last_ != nullptr) last_->next = job;
          last_ = job;
          return newline;
        }
        // As before ReadAlike, which has changed the row.
        use_jobs_ = false;
        newline = ReadFields(line, end);
        use_jobs_ = true;
        return newline;
      }
      if (job != nullptr && !job->is_hopeless) {
        // From the start once more, noting every field.
        learns_job_ = true;
        const char* newline = ReadFields(line, end);
        learns_job_ = false;
        return newline;
      }
    }
    const char after = *at++;
    if (after == ',') continue;
    if (after != '}') return nullptr;
    break;
  }
  uint32_t group;
  if (*at != '\n' || !row_.IsRow() ||
      !log_->Add(row_.tokens, row_.hash, row_.numbers, &group).ok()) {
    return nullptr;
  }
  if (learns_job_) Learn(FindJob(row_.numbers.job_id), group);
  if (learns_common && common_.learning()) {
    until_learning_ = kCommonDistance;
    common_.EndLine(*steps_, slots_);
  }
  // The row is in the log, so nothing points into the old stretches any more.
  if (forget_common) common_ = Repeats(kCommonLines);
  return at;
}

void PrintedRowReader::Learn(JobLine* job, uint32_t group) {
  if (job == nullptr) return;
  if (last_ != nullptr) last_->next = job;
  last_ = job;
  if (job->first.empty()) {
    job->first = std::move(fields_);
    job->group = group;
    job->attempt = row_.numbers.attempt;
    return;
  }
  CompleteJobLine(fields_, job);
  if (job->group != group) job->is_ready = false;
}

JobLine* PrintedRowReader::FindJob(absl::string_view job_id) {
  if (++rows_ == kJobTrial && alike_ * 4 < rows_) {
    // Jobs seldom come back here: to look for them costs more than it gives.
    use_jobs_ = false;
    last_ = nullptr;
    jobs_.clear();
    return nullptr;
  }
  const auto found = jobs_.find(job_id);
  if (found != jobs_.end()) return found->second.get();
  if (jobs_.size() == kMaxJobs || job_id.size() <= 2) return nullptr;
  auto job = std::make_unique<JobLine>();
  job->job_id = absl::StrCat(job_id, std::string(kPrintedPadding, '\0'));
  job->job_id_size = job_id.size();
  return jobs_.emplace(std::string(job_id), std::move(job)).first->second.get();
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
