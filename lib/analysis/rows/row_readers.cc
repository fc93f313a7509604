#include "lib/analysis/rows/row_readers.h"

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
#include "simdjson.h"

namespace feedrate {
namespace {

namespace ondemand = ::simdjson::ondemand;

static_assert(AnyRowReader::kPadding >= simdjson::SIMDJSON_PADDING,
              "simdjson reads further behind a line");

// Gets the key without its quotes. False if it has escapes.
bool KeyOf(ondemand::field& field, absl::string_view* key) {
  const char* raw = field.key().raw();
  const char* end = PlainStringEnd(raw);
  if (end == nullptr) return false;
  *key = absl::string_view(raw, static_cast<size_t>(end - raw) - 1);
  return true;
}

absl::string_view Trimmed(std::string_view token) {
  size_t size = token.size();
  while (size > 0 && static_cast<unsigned char>(token[size - 1]) <= ' ') --size;
  return absl::string_view(token.data(), size);
}

// Gets the JSON of a value.
bool TokenOf(ondemand::value value, absl::string_view* token) {
  ondemand::json_type type;
  if (value.type().get(type) != simdjson::SUCCESS) return false;
  if (type == ondemand::json_type::object) {
    ondemand::object object;
    std::string_view raw;
    if (value.get_object().get(object) != simdjson::SUCCESS ||
        object.raw_json().get(raw) != simdjson::SUCCESS) {
      return false;
    }
    *token = Trimmed(raw);
    return true;
  }
  if (type != ondemand::json_type::array) {
    *token = Trimmed(value.raw_json_token());
    return true;
  }
  ondemand::array array;
  std::string_view raw;
  if (value.get_array().get(array) != simdjson::SUCCESS ||
      array.raw_json().get(raw) != simdjson::SUCCESS) {
    return false;
  }
  *token = Trimmed(raw);
  return true;
}

}  // namespace

struct AnyRowReader::State {
  State(const RowSteps* steps, size_t slots, RowLog* log)
      : steps(steps), log(log), row(slots) {}

  bool ReadPart(const RowSteps::Part& part, ondemand::value value) {
    ondemand::object object;
    if (value.get_object().get(object) != simdjson::SUCCESS) return false;
    for (auto result : object) {
      ondemand::field field;
      absl::string_view key;
      if (std::move(result).get(field) != simdjson::SUCCESS ||
          !KeyOf(field, &key)) {
        return false;
      }
      const auto found = part.find(key);
      if (found == part.end()) continue;
      absl::string_view token;
      if (!TokenOf(field.value(), &token) || !row.Fill(found->second, token)) {
        return false;
      }
    }
    return true;
  }

  bool ReadSamples(ondemand::value value) {
    ondemand::array array;
    if (value.get_array().get(array) != simdjson::SUCCESS) return false;
    for (auto item : array) {
      double sample;
      if (item.get_double().get(sample) != simdjson::SUCCESS) return false;
      row.samples.push_back(sample);
    }
    row.numbers.samples_s = row.samples;
    return true;
  }

  bool ReadValue(const Step& step, ondemand::value value) {
    absl::string_view token;
    if (step.act == Act::kSlot) {
      return TokenOf(value, &token) && row.Fill(step.index, token);
    }
    if (step.act == Act::kPart) {
      // An object can be read only once; both ways at once are rare.
      return step.also_slot < 0 && ReadPart(steps->part(step.index), value);
    }
    if (!row.Once(step.act)) return false;
    if (step.also_slot >= 0 &&
        (!TokenOf(value, &token) || !row.Fill(step.also_slot, token))) {
      return false;
    }
    if (step.act == Act::kSamples) return ReadSamples(value);
    if (step.act == Act::kThroughput) {
      return value.get_double().get(row.numbers.value) == simdjson::SUCCESS;
    }
    // Ids can be compared as bytes only if they have no escapes.
    return TokenOf(value, &token) &&
           token.find('\\') == absl::string_view::npos &&
           row.TakeToken(step.act, token);
  }

  const RowSteps* const steps;
  RowLog* const log;
  ondemand::parser parser;
  RowScratch row;
};

AnyRowReader::AnyRowReader(const RowSteps* steps, size_t slots, RowLog* log)
    : state_(std::make_unique<State>(steps, slots, log)) {}

AnyRowReader::~AnyRowReader() = default;

bool AnyRowReader::Read(absl::string_view line) {
  RowScratch& row = state_->row;
  row.Reset();
  ondemand::document document;
  ondemand::object object;
  if (state_->parser.iterate(line.data(), line.size(), line.size() + kPadding)
              .get(document) != simdjson::SUCCESS ||
      document.get_object().get(object) != simdjson::SUCCESS) {
    return false;
  }
  for (auto result : object) {
    ondemand::field field;
    absl::string_view key;
    if (std::move(result).get(field) != simdjson::SUCCESS ||
        !KeyOf(field, &key)) {
      return false;
    }
    const Step step = state_->steps->For(key);
    if (step.act == Act::kSkip) continue;
    if (!state_->ReadValue(step, field.value())) return false;
  }
  // Nothing may follow the object.
  const bool at_end =
      document.current_location().error() == simdjson::OUT_OF_BOUNDS;
  return at_end && row.IsRow() &&
         state_->log->Add(row.tokens, row.hash, row.numbers).ok();
}

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
static_assert(kLongestNumber <= kPrintedPadding, "a number may be cut off");

// Parses the number at `at` and returns the place after it; null if it is no
// number.
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
      known_(std::make_unique<RowTemplates>(kMaxKnownBytes)) {}

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
    // Searching costs more than it saves.
    use_known_ = false;
    known_ = std::make_unique<RowTemplates>(0);
    return false;
  }
  return has_room_ && learned_ < kLearnedAtFirst + known_rows_;
}

const char* PrintedRowReader::ReadKnown(const char* at, const char* end) {
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
  RowTemplates::Constants constants;
  constants.attempt = row_.numbers.attempt;
  constants.job_id = PaddedText(row_.numbers.job_id);
  constants.run_index = PaddedText(row_.numbers.run_index);
  constants.started_at = PaddedText(row_.numbers.started_at);
  ++learned_;
  has_room_ = known_->Learn(fields_, group, std::move(constants));
}

// Reads the key whose quote is at `at`, and returns the place after its colon.
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

// Takes the value at `at`, and returns the place after it.
const char* PrintedRowReader::ReadValue(const Step& step, const char* at) {
  if (step.act == Act::kThroughput && step.also_slot < 0) {
    if (!row_.Once(step.act)) return nullptr;
    return ToDouble(at, &row_.numbers.value);
  }
  const char* end = ValueEnd(at);
  if (end == nullptr || step.act == Act::kSkip) return end;
  return TakeValue(step, at, end) ? end : nullptr;
}

bool PrintedRowReader::TakeValue(const Step& step, const char* at,
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
