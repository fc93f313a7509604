#include "lib/analysis/line_reader.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/analysis/query.h"
#include "lib/analysis/row_log.h"
#include "lib/analysis/words.h"
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
  // With its closing quote, so that a longer key is not taken for it, and
  // padding.
  std::string key;
  size_t size = 0;
  Step step;
};

// Keys and values, one behind the other, that were the same in many lines. Most
// of a row is: only a few fields change from one to the next.
struct Stretch {
  // From the first key's quote to the end of the last value, and padding.
  std::string text;
  size_t size = 0;
  // Of the place behind it.
  size_t next_place = 0;
  // What reading it did.
  std::vector<std::pair<size_t, absl::string_view>> tokens;
  uint64_t hash = 0;
  uint32_t seen = 0;
  bool has_run_index = false;
  absl::string_view run_index;
  int64_t attempt = 0;
  int64_t hits = 0;
  int64_t misses = 0;
};

// Lines that are looked at to see what stays the same, and how far apart: runs
// of one library or transform follow each other, and are not what is meant.
constexpr int kLearningLines = 32;
constexpr int kLearningDistance = 37;

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
  uint64_t hash = 0;

  // Lines learnt from, and lines to go until the next one.
  int learnt = 0;
  int until_learning = 0;
  // Some stretches were wrong: learn again in the next block.
  bool learn_again = false;
  // For each place the text of key and value in the first line; empty when
  // another line had another.
  std::vector<std::string> constant;
  std::vector<std::unique_ptr<Stretch>> stretches;
  // By place; null where none starts.
  std::vector<Stretch*> starts;

  Step StepFor(absl::string_view key) const {
    const auto found = steps.find(key);
    return found == steps.end() ? Step() : found->second;
  }

  // The step for the key that starts at `raw`, expected at `place`. Returns
  // where it ends, behind its quote; null for keys with escapes.
  const char* Look(const char* raw, size_t place, Step* step) {
    if (place < expected.size()) {
      const Expected& guess = expected[place];
      if (SameBytes(raw, guess.key.data(), guess.size)) {
        *step = guess.step;
        return raw + guess.size;
      }
    }
    const char* end = PlainStringEnd(raw);
    if (end == nullptr) return nullptr;
    const size_t size = static_cast<size_t>(end - raw);
    *step = StepFor(absl::string_view(raw, size - 1));
    if (place >= expected.size()) expected.resize(place + 1);
    expected[place] = {absl::StrCat(absl::string_view(raw, size),
                                    std::string(kWord, '\0')),
                       size, *step};
    return end;
  }

  bool Fill(size_t slot, absl::string_view token) {
    // A key that stands twice is for the thorough reader.
    if (!tokens[slot].empty() || token.empty()) return false;
    tokens[slot] = token;
    hash += RowLog::TokenHash(slot, token);
    return true;
  }

  // Each of the numbers may come once.
  bool Once(Act act) {
    const uint32_t bit = Bit(act);
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
      const char* end = PlainStringEnd(raw);
      if (end == nullptr) return false;
      const auto found = part.slots.find(
          absl::string_view(raw, static_cast<size_t>(end - raw) - 1));
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
    return Token(value, &token) && TakeToken(step.act, token);
  }

  // The numbers that are read as text.
  bool TakeToken(Act act, absl::string_view token) {
    if (token.empty()) return false;
    switch (act) {
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

  void Reset() {
    tokens.assign(query->slots.size() + 1, absl::string_view());
    numbers = RowNumbers();
    numbers.run_index = "0\0\0\0\0\0\0\0";
    samples.clear();
    record = absl::string_view();
    schema_ok = false;
    seen = 0;
    hash = 0;
  }

  // Any JSON, by simdjson.
  bool ReadAny(absl::string_view line) {
    Reset();
    ondemand::document document;
    if (parser
            .iterate(line.data(), line.size(), line.size() + LineReader::kPadding)
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
      if (Look(field.key().raw(), place++, &step) == nullptr) return false;
      if (step.act == Act::kSkip) continue;
      if (step.act != Act::kSlot && !Once(step.act) &&
          step.act != Act::kPart) {
        return false;
      }
      if (step.also_slot >= 0) {
        absl::string_view token;
        if (!Token(field.value(), &token)) return false;
        if (!Fill(static_cast<size_t>(step.also_slot), token)) return false;
      }
      if (!ReadValue(step, field.value())) return false;
      // Records of another kind are few. The thorough reader also finds a row
      // that somebody appended to the torn line of one.
      if (step.act == Act::kRecord && record != "\"row\"") return false;
    }
    // Nothing may follow the object: an error here is the end of the line.
    const bool at_end =
        document.current_location().error() == simdjson::OUT_OF_BOUNDS;
    if (!at_end || !schema_ok || record.empty()) return false;
    return log->Add(tokens, hash, numbers).ok();
  }

  // Behind a list or object that starts at `at`; null where it has no plain
  // end. Brackets are counted, not matched.
  static const char* NestedEnd(const char* at) {
    int depth = 0;
    for (;;) {
      const char c = *at++;
      if (c == '"') {
        at = PlainStringEnd(at);
        if (at == nullptr) return nullptr;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if (c == '}' || c == ']') {
        if (--depth == 0) return at;
      } else if (static_cast<unsigned char>(c) < ' ') {
        return nullptr;
      }
    }
  }

  // Behind the value that starts at `at`.
  static inline const char* ValueEnd(const char* at) {
    if (*at == '"') return PlainStringEnd(at + 1);
    if (*at == '{' || *at == '[') return NestedEnd(at);
    const char* end = at;
    while (*end > ' ' && *end != ',' && *end != '}' && *end != ']') ++end;
    // A number or true, false, null; which, is seen when it is needed.
    const char c = *at;
    const bool starts_well = (c >= '0' && c <= '9') || c == '-' || c == 't' ||
                             c == 'f' || c == 'n';
    return starts_well ? end : nullptr;
  }

  static bool ToDouble(const char* at, const char* end, double* number) {
    if (*at != '-' && (*at < '0' || *at > '9')) return false;
    const std::from_chars_result result = std::from_chars(at, end, *number);
    return result.ec == std::errc() && result.ptr == end;
  }

  bool TakeSamples(const char* at, const char* end) {
    if (*at != '[') return false;
    ++at;
    while (at + 1 < end) {
      const char* next = ValueEnd(at);
      double sample;
      if (next == nullptr || !ToDouble(at, next, &sample)) return false;
      samples.push_back(sample);
      if (*next != ',' && next + 1 != end) return false;
      at = next + (*next == ',' ? 1 : 0);
      if (*next == ']') break;
    }
    numbers.samples_s = samples;
    return true;
  }

  // The slots inside an object that has no spaces.
  bool TakePart(const Part& part, const char* at, const char* end) {
    if (*at != '{') return false;
    ++at;
    while (at + 1 < end) {
      if (*at++ != '"') return false;
      const char* key_end = PlainStringEnd(at);
      if (key_end == nullptr || *key_end != ':') return false;
      const auto found = part.slots.find(
          absl::string_view(at, static_cast<size_t>(key_end - at) - 1));
      at = key_end + 1;
      const char* next = ValueEnd(at);
      if (next == nullptr || (*next != ',' && *next != '}')) return false;
      if (found != part.slots.end()) {
        // A nested object is no value; what else there is shows later.
        if (*at == '{') return false;
        if (!Fill(static_cast<size_t>(found->second),
                  absl::string_view(at, static_cast<size_t>(next - at)))) {
          return false;
        }
      }
      at = next + 1;
    }
    return true;
  }

  bool TakeValue(const Step& step, const char* at, const char* end) {
    const absl::string_view token(at, static_cast<size_t>(end - at));
    if (step.act == Act::kSlot) {
      return *at != '{' && Fill(static_cast<size_t>(step.index), token);
    }
    if (step.act == Act::kPart) {
      return TakePart(parts[static_cast<size_t>(step.index)], at, end);
    }
    if (!Once(step.act)) return false;
    if (step.also_slot >= 0 &&
        !Fill(static_cast<size_t>(step.also_slot), token)) {
      return false;
    }
    if (step.act == Act::kThroughput) {
      return ToDouble(at, end, &numbers.throughput);
    }
    if (step.act == Act::kSamples) return TakeSamples(at, end);
    if (*at == '{' || *at == '[') return false;
    return TakeToken(step.act, token);
  }

  // A row without spaces and escapes, by hand: three times as fast, because it
  // looks at each byte once. Returns its newline; null when it is anything else.
  // REQUIRES: a newline follows somewhere behind `at`.
  const char* ReadPrinted(const char* at) {
    if (*at++ != '{') return nullptr;
    Reset();
    const bool learning = learnt < kLearningLines && until_learning-- <= 0;
    for (size_t place = 0;; ++place) {
      if (place < starts.size() && starts[place] != nullptr) {
        Stretch& stretch = *starts[place];
        const char after = at[stretch.size];
        if ((after == ',' || after == '}') &&
            SameBytes(at, stretch.text.data(), stretch.size)) {
          if (!Repeat(&stretch)) return nullptr;
          at += stretch.size + 1;
          place = stretch.next_place - 1;
          if (after == ',') continue;
          break;
        }
        // Too often not the same: no longer worth a look.
        if (++stretch.misses * 8 > 64 + stretch.hits) {
          starts[place] = nullptr;
          learn_again = true;
        }
      }
      const char* const start = at;
      if (*at++ != '"') return nullptr;
      Step step;
      at = Look(at, place, &step);
      if (at == nullptr || *at++ != ':') return nullptr;
      const char* next = ValueEnd(at);
      if (next == nullptr) return nullptr;
      if (step.act != Act::kSkip && !TakeValue(step, at, next)) return nullptr;
      if (learning) Learn(place, start, next);
      at = next + 1;
      if (*next == ',') continue;
      if (*next != '}') return nullptr;
      break;
    }
    if (*at != '\n' || !schema_ok || record != "\"row\"") return nullptr;
    if (!log->Add(tokens, hash, numbers).ok()) return nullptr;
    if (learning) {
      until_learning = kLearningDistance;
      if (++learnt == kLearningLines) FindStretches();
    }
    return at;
  }

  // Does what reading the stretch did.
  bool Repeat(Stretch* stretch) {
    ++stretch->hits;
    if ((seen & stretch->seen) != 0) return false;
    seen |= stretch->seen;
    hash += stretch->hash;
    for (const auto& [slot, token] : stretch->tokens) {
      if (!tokens[slot].empty()) return false;
      tokens[slot] = token;
    }
    if ((stretch->seen & Bit(Act::kRecord)) != 0) record = "\"row\"";
    if ((stretch->seen & Bit(Act::kSchema)) != 0) schema_ok = true;
    if ((stretch->seen & Bit(Act::kAttempt)) != 0) {
      numbers.attempt = stretch->attempt;
    }
    if (stretch->has_run_index) numbers.run_index = stretch->run_index;
    return true;
  }

  void Learn(size_t place, const char* start, const char* end) {
    const absl::string_view text(start, static_cast<size_t>(end - start));
    if (learnt == 0) {
      constant.resize(place);
      constant.emplace_back(text);
    } else if (place >= constant.size() || constant[place] != text) {
      constant.resize(std::max(constant.size(), place + 1));
      constant[place].clear();
    }
  }

  // Numbers of a row are read each time; everything else may be in a stretch.
  static bool MayRepeat(Act act) {
    return act != Act::kThroughput && act != Act::kSamples &&
           act != Act::kJobId && act != Act::kStartedAt;
  }

  void FindStretches() {
    stretches.clear();
    starts.assign(constant.size(), nullptr);
    for (size_t first = 0; first < constant.size(); ++first) {
      size_t last = first;
      while (last < constant.size() && last < expected.size() &&
             !constant[last].empty() && MayRepeat(expected[last].step.act)) {
        ++last;
      }
      if (last == first) continue;
      starts[first] = MakeStretch(first, last);
      first = last - 1;
    }
  }

  // The places from `first` to before `last`, by reading them once more.
  Stretch* MakeStretch(size_t first, size_t last) {
    auto stretch = std::make_unique<Stretch>();
    for (size_t i = first; i < last; ++i) {
      if (i > first) stretch->text += ',';
      stretch->text += constant[i];
    }
    stretch->size = stretch->text.size();
    stretch->next_place = last;
    // A stop for those who look for an end, and padding.
    stretch->text += ',';
    stretch->text.append(kWord * 2, '\0');
    Reset();
    const char* at = stretch->text.data();
    for (size_t place = first; place < last; ++place) {
      Step step;
      at = Look(at + 1, place, &step) + 1;
      const char* next = ValueEnd(at);
      if (step.act != Act::kSkip && !TakeValue(step, at, next)) return nullptr;
      at = next + 1;
    }
    for (size_t slot = 0; slot < tokens.size(); ++slot) {
      if (!tokens[slot].empty()) stretch->tokens.emplace_back(slot, tokens[slot]);
    }
    stretch->hash = hash;
    stretch->seen = seen;
    stretch->has_run_index = (seen & Bit(Act::kRunIndex)) != 0;
    stretch->run_index = numbers.run_index;
    stretch->attempt = numbers.attempt;
    stretches.push_back(std::move(stretch));
    return stretches.back().get();
  }

  static uint32_t Bit(Act act) { return 1u << static_cast<int>(act); }

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

void LineReader::StartBlock() {
  if (!state_->learn_again) return;
  state_->learn_again = false;
  state_->learnt = 0;
  state_->until_learning = 0;
  state_->constant.clear();
  state_->stretches.clear();
  state_->starts.clear();
}

const char* LineReader::ReadPrinted(const char* line) {
  if (!state_->query->filter_by_group) return nullptr;
  return state_->ReadPrinted(line);
}

bool LineReader::ReadAny(absl::string_view line) {
  return state_->query->filter_by_group && state_->ReadAny(line);
}

}  // namespace feedrate
