#include "lib/ops/params.h"

#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace feedrate {
namespace {

// The text between `open` and `close`, if `text` has exactly that form.
bool Between(absl::string_view text, absl::string_view open, char close,
             absl::string_view* inside) {
  if (!absl::StartsWith(text, open) || text.size() <= open.size() ||
      text.back() != close) {
    return false;
  }
  *inside = text.substr(open.size(), text.size() - open.size() - 1);
  return true;
}

bool IsQuoted(absl::string_view text) {
  return text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
         text.back() == text.front();
}

bool IsInt(double value) {
  return value == std::floor(value) &&
         std::abs(value) <= std::numeric_limits<int>::max();
}

}  // namespace

Params::Params(const std::vector<std::string>& params) {
  for (const std::string& param : params) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(param, absl::MaxSplits('=', 1));
    if (param.find('=') == std::string::npos || pair.first.empty()) {
      Fail(param, "is not of the form NAME=VALUE");
    } else if (Find(pair.first) != nullptr) {
      Fail(pair.first, "is given twice");
    } else {
      entries_.push_back({std::string(pair.first),
                          std::string(absl::StripAsciiWhitespace(pair.second)),
                          /*used=*/false});
    }
  }
}

Params::Entry* Params::Find(absl::string_view name) {
  for (Entry& entry : entries_) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

absl::string_view Params::Take(absl::string_view name) {
  Entry* entry = Find(name);
  if (entry == nullptr) {
    Fail(name, "is missing");
    return "";
  }
  entry->used = true;
  return entry->value;
}

bool Params::Has(absl::string_view name) {
  Entry* entry = Find(name);
  if (entry == nullptr) return false;
  if (entry->value != "None") return true;
  entry->used = true;
  return false;
}

void Params::Fail(absl::string_view name, absl::string_view problem) {
  if (!status_.ok()) return;
  const Entry* entry = Find(name);
  status_ = absl::InvalidArgumentError(
      entry == nullptr
          ? absl::StrCat("parameter ", name, " ", problem)
          : absl::StrCat("parameter ", name, "=", entry->value, ": ", problem));
}

std::vector<double> Params::Numbers(absl::string_view name,
                                    absl::string_view list) {
  std::vector<double> numbers;
  for (absl::string_view word : absl::StrSplit(list, ',')) {
    word = absl::StripAsciiWhitespace(word);
    double number = 0;
    if (!absl::SimpleAtod(word, &number) || !std::isfinite(number)) {
      Fail(name, absl::StrCat("\"", word, "\" is not a number"));
      number = 0;
    }
    numbers.push_back(number);
  }
  return numbers;
}

double Params::Number(absl::string_view name) {
  return Numbers(name, Take(name)).front();
}

int Params::Integer(absl::string_view name) {
  const double number = Number(name);
  if (IsInt(number)) return static_cast<int>(number);
  Fail(name, "must be a whole number");
  return 0;
}

bool Params::Boolean(absl::string_view name) {
  return Word(name, {{"False", 0}, {"True", 1}}) == 1;
}

std::string Params::Text(absl::string_view name) {
  absl::string_view text = Take(name);
  if (IsQuoted(text)) text = text.substr(1, text.size() - 2);
  return std::string(text);
}

bool Params::IsTuple(absl::string_view name) {
  const Entry* entry = Find(name);
  return entry != nullptr && absl::StartsWith(entry->value, "(");
}

std::vector<double> Params::Tuple(absl::string_view name, size_t size) {
  absl::string_view inside;
  std::vector<double> tuple;
  if (Between(Take(name), "(", ')', &inside)) {
    absl::ConsumeSuffix(&inside, ",");  // Python's tuple of one: (1,)
    tuple = Numbers(name, inside);
  } else {
    Fail(name, "must be numbers in round brackets");
  }
  if (size > 0 && tuple.size() != size) {
    Fail(name, absl::StrCat("must have ", size, " numbers"));
    tuple.resize(size);
  }
  return tuple;
}

Range Params::Draw(absl::string_view name) {
  absl::string_view value = Take(name);
  absl::string_view inside;
  const bool drawn = Between(value, "U(", ')', &inside);
  const std::vector<double> ends = Numbers(name, drawn ? inside : value);
  if (!drawn && ends.size() == 1) return {ends[0], ends[0]};
  if (drawn && ends.size() == 2 && ends[0] <= ends[1]) {
    return {ends[0], ends[1]};
  }
  Fail(name, "must be a number or U(low,high)");
  return {};
}

Range Params::DrawInteger(absl::string_view name) {
  absl::string_view value = Take(name);
  absl::string_view inside;
  const bool drawn = Between(value, "uniform(", ')', &inside);
  const std::vector<double> ends = Numbers(name, drawn ? inside : value);
  if (ends.size() == (drawn ? 2 : 1) && IsInt(ends.front()) &&
      IsInt(ends.back()) && ends.front() <= ends.back()) {
    return {ends.front(), ends.back()};
  }
  Fail(name, "must be a whole number or uniform(low,high)");
  return {};
}

std::vector<double> Params::Choices(absl::string_view name) {
  absl::string_view value = Take(name);
  absl::string_view inside = value;
  Between(value, "uniform{", '}', &inside);
  return Numbers(name, inside);
}

int Params::Word(absl::string_view name,
                 const std::vector<std::pair<absl::string_view, int>>& words) {
  const std::string text = Text(name);
  std::string known;
  for (const auto& [word, value] : words) {
    if (text == word) return value;
    absl::StrAppend(&known, known.empty() ? "" : ", ", word);
  }
  Fail(name, absl::StrCat("must be one of ", known));
  return words.empty() ? 0 : words.front().second;
}

double Params::NumberOr(absl::string_view name, double fallback) {
  return Has(name) ? Number(name) : fallback;
}

Range Params::DrawOr(absl::string_view name, double fallback) {
  return Has(name) ? Draw(name) : Range{fallback, fallback};
}

absl::Status Params::Finish() const {
  if (!status_.ok()) return status_;
  for (const Entry& entry : entries_) {
    if (entry.used) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("parameter ", entry.name, "=", entry.value,
                     " is not known to this operation"));
  }
  return absl::OkStatus();
}

namespace {

int Rounded(double value) { return static_cast<int>(std::lround(value)); }

DrawnWindow CentralWindow(const WindowShape& shape, int height, int width) {
  const double ratio = static_cast<double>(width) / height;
  DrawnWindow window = {0, 0, height, width};
  if (ratio < shape.ratio.low) {
    window.height = Rounded(width / shape.ratio.low);
  } else if (ratio > shape.ratio.high) {
    window.width = Rounded(height * shape.ratio.high);
  }
  window.y = (height - window.height) / 2;
  window.x = (width - window.width) / 2;
  return window;
}

// False unless it is a pair of positive numbers in ascending order.
bool ReadPair(absl::string_view name, Params* params, Range* range) {
  const std::vector<double> pair = params->Tuple(name, 2);
  if (pair.size() != 2 || pair[0] <= 0 || pair[1] < pair[0]) return false;
  *range = {pair[0], pair[1]};
  return true;
}

}  // namespace

std::optional<WindowShape> WindowShapeOf(
    const std::vector<std::string>& params) {
  Params read(params);
  const bool is_dali = read.Has("random_area");
  const char* const area = is_dali ? "random_area" : "scale";
  const char* const ratio = is_dali ? "random_aspect_ratio" : "ratio";
  WindowShape shape;
  if (!read.Has(area) || !ReadPair(area, &read, &shape.area)) {
    return std::nullopt;
  }
  if (read.Has(ratio) && !ReadPair(ratio, &read, &shape.ratio)) {
    return std::nullopt;
  }
  return shape;
}

DrawnWindow DrawResizedWindow(const WindowShape& shape, int height, int width,
                              Random* random) {
  const Range log_ratio = {std::log(shape.ratio.low),
                           std::log(shape.ratio.high)};
  for (int i = 0; i < shape.tries; ++i) {
    const double area =
        static_cast<double>(width) * height * random->Uniform(shape.area);
    const double ratio = std::exp(random->Uniform(log_ratio));
    const int w = Rounded(std::sqrt(area * ratio));
    const int h = Rounded(std::sqrt(area / ratio));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    const int y = static_cast<int>(random->Below(height - h + 1));
    const int x = static_cast<int>(random->Below(width - w + 1));
    return {y, x, h, w};
  }
  return CentralWindow(shape, height, width);
}

}  // namespace feedrate
