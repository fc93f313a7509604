#include "lib/analysis/any_row_reader.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "lib/analysis/row_log.h"
#include "lib/analysis/row_steps.h"
#include "lib/analysis/words.h"
#include "simdjson.h"

namespace feedrate {
namespace {

namespace ondemand = ::simdjson::ondemand;

static_assert(AnyRowReader::kPadding >= simdjson::SIMDJSON_PADDING,
              "simdjson reads further behind a line");

// The key without its quotes; false for keys with escapes.
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

// The JSON of a value that is no object.
bool TokenOf(ondemand::value value, absl::string_view* token) {
  ondemand::json_type type;
  if (value.type().get(type) != simdjson::SUCCESS) return false;
  if (type == ondemand::json_type::object) return false;
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
    if (step.act == Act::kPart) return ReadPart(steps->part(step.index), value);
    if (!row.Once(step.act)) return false;
    if (step.also_slot >= 0 &&
        (!TokenOf(value, &token) || !row.Fill(step.also_slot, token))) {
      return false;
    }
    if (step.act == Act::kSamples) return ReadSamples(value);
    if (step.act == Act::kThroughput) {
      return value.get_double().get(row.numbers.throughput) ==
             simdjson::SUCCESS;
    }
    // Ids compare as bytes only where they hold no escapes.
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
  // Nothing may follow the object: an error here is the end of the line.
  const bool at_end =
      document.current_location().error() == simdjson::OUT_OF_BOUNDS;
  return at_end && row.IsRow() &&
         state_->log->Add(row.tokens, row.hash, row.numbers).ok();
}

}  // namespace feedrate
