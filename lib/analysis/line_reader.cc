#include "lib/analysis/line_reader.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/analysis/query.h"
#include "lib/analysis/row_log.h"
#include "lib/records/json_writer.h"
#include "simdjson.h"

namespace feedrate {
namespace {

namespace ondemand = ::simdjson::ondemand;

static_assert(LineReader::kPadding >= simdjson::SIMDJSON_PADDING,
              "simdjson reads further behind a line");

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

struct Step {
  Act act = Act::kSkip;
  // Of the slot, or of the part; -1: none.
  int index = -1;
  // A slot that asks for one of the numbers as well, such as --by=run_index.
  int also_slot = -1;
};

// A key as it stood in the line before, and what was done.
struct Expected {
  std::string key;
  Step step;
};

struct Part {
  absl::flat_hash_map<std::string, int> slots;
};

absl::string_view Trimmed(std::string_view token) {
  size_t size = token.size();
  while (size > 0 && static_cast<unsigned char>(token[size - 1]) <= ' ') --size;
  return absl::string_view(token.data(), size);
}

}  // namespace

struct LineReader::State {
  const Query* query;
  RowLog* log;
  ondemand::parser parser;
  absl::flat_hash_map<std::string, Step> steps;
  std::vector<Part> parts;
  std::vector<Expected> expected;
  // Of the line at hand.
  std::vector<absl::string_view> tokens;
  std::vector<double> samples;
  RowNumbers numbers;
  absl::string_view record;
  bool schema_ok = false;
  uint32_t seen = 0;

  Step StepFor(absl::string_view key) const {
    const auto found = steps.find(key);
    return found == steps.end() ? Step() : found->second;
  }

  // The step for the key that starts at `raw`, expected at `place`. False for
  // keys with escapes.
  bool Look(const char* raw, size_t place, Step* step) {
    if (place < expected.size()) {
      const Expected& guess = expected[place];
      if (std::memcmp(raw, guess.key.data(), guess.key.size()) == 0) {
        *step = guess.step;
        return true;
      }
    }
    const char* end = raw;
    while (*end != '"') {
      if (*end == '\\') return false;
      ++end;
    }
    const absl::string_view key(raw, static_cast<size_t>(end - raw));
    *step = StepFor(key);
    if (place >= expected.size()) expected.resize(place + 1);
    // With its closing quote, so that a longer key is not taken for it.
    expected[place] = {absl::StrCat(key, "\""), *step};
    return true;
  }

  bool Fill(size_t slot, absl::string_view token) {
    // A key that stands twice is for the thorough reader.
    if (!tokens[slot].empty()) return false;
    tokens[slot] = token;
    return true;
  }

  // Each of the numbers may come once.
  bool Once(Act act) {
    const uint32_t bit = 1u << static_cast<int>(act);
    if ((seen & bit) != 0) return false;
    seen |= bit;
    return true;
  }

  bool Token(ondemand::value value, absl::string_view* token) {
    ondemand::json_type type;
    if (value.type().get(type) != simdjson::SUCCESS) return false;
    if (type == ondemand::json_type::array) {
      std::string_view raw;
      ondemand::array array;
      if (value.get_array().get(array) != simdjson::SUCCESS) return false;
      if (array.raw_json().get(raw) != simdjson::SUCCESS) return false;
      *token = Trimmed(raw);
      return true;
    }
    if (type == ondemand::json_type::object) return false;
    *token = Trimmed(value.raw_json_token());
    return true;
  }

  bool ReadPart(const Part& part, ondemand::value value) {
    ondemand::object object;
    if (value.get_object().get(object) != simdjson::SUCCESS) return false;
    for (auto result : object) {
      ondemand::field field;
      if (std::move(result).get(field) != simdjson::SUCCESS) return false;
      const char* raw = field.key().raw();
      const char* end = raw;
      while (*end != '"') {
        if (*end == '\\') return false;
        ++end;
      }
      const auto found =
          part.slots.find(absl::string_view(raw, static_cast<size_t>(end - raw)));
      if (found == part.slots.end()) continue;
      absl::string_view token;
      if (!Token(field.value(), &token)) return false;
      if (!Fill(static_cast<size_t>(found->second), token)) return false;
    }
    return true;
  }

  bool ReadSamples(ondemand::value value) {
    ondemand::array array;
    if (value.get_array().get(array) != simdjson::SUCCESS) return false;
    for (auto item : array) {
      double sample;
      if (item.get_double().get(sample) != simdjson::SUCCESS) return false;
      samples.push_back(sample);
    }
    numbers.samples_s = samples;
    return true;
  }

  bool ReadValue(const Step& step, ondemand::value value) {
    absl::string_view token;
    switch (step.act) {
      case Act::kSkip:
        return true;
      case Act::kSlot:
        return Token(value, &token) &&
               Fill(static_cast<size_t>(step.index), token);
      case Act::kPart:
        return ReadPart(parts[static_cast<size_t>(step.index)], value);
      case Act::kThroughput:
        return value.get_double().get(numbers.throughput) == simdjson::SUCCESS;
      case Act::kSamples:
        return ReadSamples(value);
      default:
        break;
    }
    if (!Token(value, &token)) return false;
    switch (step.act) {
      case Act::kRecord:
        record = token;
        return true;
      case Act::kSchema:
        schema_ok = token == "1";
        return schema_ok;
      case Act::kJobId:
        numbers.job_id = token;
        // Text without escapes: the only form in which ids compare as bytes.
        return token.size() >= 2 && token[0] == '"' &&
               token.find('\\') == absl::string_view::npos;
      case Act::kStartedAt:
        numbers.started_at = token;
        return token[0] == '"';
      case Act::kRunIndex:
        numbers.run_index = token;
        return IsWhole(token);
      case Act::kAttempt:
        if (!IsWhole(token)) return false;
        numbers.attempt = token[0] - '0';
        for (const char c : token.substr(1)) {
          numbers.attempt = numbers.attempt * 10 + (c - '0');
        }
        return true;
      default:
        return false;
    }
  }

  // Digits alone, few enough for an int32 and without leading zeros.
  static bool IsWhole(absl::string_view token) {
    return !token.empty() && token.size() <= 9 &&
           (token[0] != '0' || token.size() == 1) &&
           std::all_of(token.begin(), token.end(),
                       [](char c) { return c >= '0' && c <= '9'; });
  }
};

LineReader::LineReader(const Query* query, RowLog* log)
    : state_(std::make_unique<State>()) {
  state_->query = query;
  state_->log = log;
  absl::flat_hash_map<std::string, Step>& steps = state_->steps;
  steps["record"] = {Act::kRecord, -1, -1};
  steps["schema"] = {Act::kSchema, -1, -1};
  steps["job_id"] = {Act::kJobId, -1, -1};
  steps["run_index"] = {Act::kRunIndex, -1, -1};
  steps["attempt"] = {Act::kAttempt, -1, -1};
  steps["throughput"] = {Act::kThroughput, -1, -1};
  steps["started_at"] = {Act::kStartedAt, -1, -1};
  steps["samples_s"] = {Act::kSamples, -1, -1};
  for (size_t i = 0; i < query->slots.size(); ++i) {
    const Slot& slot = query->slots[i];
    const int index = static_cast<int>(i);
    Step& step = steps[slot.key];
    if (slot.sub_key.empty()) {
      if (step.act == Act::kSkip) {
        step = {Act::kSlot, index, -1};
      } else {
        step.also_slot = index;
      }
      continue;
    }
    if (step.act == Act::kSkip) {
      step = {Act::kPart, static_cast<int>(state_->parts.size()), -1};
      state_->parts.emplace_back();
    }
    state_->parts[static_cast<size_t>(step.index)].slots[slot.sub_key] = index;
  }
}

LineReader::~LineReader() = default;

bool LineReader::Read(absl::string_view line) {
  State& state = *state_;
  if (!state.query->filter_by_group) return false;
  state.tokens.assign(state.query->slots.size() + 1, absl::string_view());
  state.numbers = RowNumbers();
  state.numbers.run_index = "0\0\0\0\0\0\0\0";
  state.samples.clear();
  state.record = absl::string_view();
  state.schema_ok = false;
  state.seen = 0;
  ondemand::document document;
  if (state.parser
          .iterate(line.data(), line.size(), line.size() + kPadding)
          .get(document) != simdjson::SUCCESS) {
    return false;
  }
  ondemand::object object;
  if (document.get_object().get(object) != simdjson::SUCCESS) return false;
  size_t place = 0;
  for (auto result : object) {
    ondemand::field field;
    if (std::move(result).get(field) != simdjson::SUCCESS) return false;
    Step step;
    if (!state.Look(field.key().raw(), place++, &step)) return false;
    if (step.act == Act::kSkip) continue;
    if (step.act != Act::kSlot && !state.Once(step.act) &&
        step.act != Act::kPart) {
      return false;
    }
    if (step.also_slot >= 0) {
      absl::string_view token;
      if (!state.Token(field.value(), &token)) return false;
      if (!state.Fill(static_cast<size_t>(step.also_slot), token)) return false;
    }
    if (!state.ReadValue(step, field.value())) return false;
    // Records of another kind are few. The thorough reader also finds a row
    // that somebody appended to the torn line of one.
    if (step.act == Act::kRecord && state.record != "\"row\"") return false;
  }
  if (!document.at_end() || !state.schema_ok || state.record.empty()) {
    return false;
  }
  return state.log->Add(state.tokens, state.numbers).ok();
}

}  // namespace feedrate
