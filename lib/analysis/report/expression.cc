#include "lib/analysis/report/expression.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "lib/analysis/rows/fields.h"
#include "lib/analysis/rows/filter.h"
#include "lib/base/status_macros.h"
#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"
#include "lib/stats/quantiles.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

using Strings = absl::Span<const std::string>;
using RowPointers = std::vector<const Row*>;

std::string Spoken(Strings conditions) {
  return conditions.empty()
             ? "no row is ok"
             : absl::StrCat("no row has ", absl::StrJoin(conditions, ", "));
}

// What holds for every call, unless one of its conditions mentions the field.
struct DefaultCondition {
  const char* field;
  const char* condition;
};
constexpr DefaultCondition kDefaultConditions[] = {
    {"status", "status == \"ok\""},
    // The row of the harness itself: no library is as fast as no work.
    {"library", "library != \"null\""},
};

absl::StatusOr<std::vector<Filter>> ParseFilters(Strings conditions) {
  std::vector<Filter> filters;
  std::set<std::string> mentioned;
  for (const std::string& condition : conditions) {
    if (condition.empty()) {
      return absl::InvalidArgumentError("a condition is empty");
    }
    ASSIGN_OR_RETURN(Filter filter, Filter::Parse(condition));
    for (const Field& field : filter.fields()) mentioned.insert(field.name);
    filters.push_back(std::move(filter));
  }
  for (const DefaultCondition& one : kDefaultConditions) {
    if (mentioned.count(one.field) > 0) continue;
    ASSIGN_OR_RETURN(Filter filter, Filter::Parse(one.condition));
    filters.push_back(std::move(filter));
  }
  return filters;
}

absl::StatusOr<RowPointers> Select(const std::vector<Row>& rows,
                                   Strings conditions) {
  ASSIGN_OR_RETURN(const std::vector<Filter> filters, ParseFilters(conditions));
  RowPointers selected;
  for (const Row& row : rows) {
    if (std::all_of(filters.begin(), filters.end(),
                    [&](const Filter& f) { return f.Matches(row); })) {
      selected.push_back(&row);
    }
  }
  return selected;
}

absl::StatusOr<std::vector<double>> NumbersOf(const RowPointers& rows,
                                              const std::string& name) {
  ASSIGN_OR_RETURN(const Field field, FindField(name));
  std::vector<double> numbers;
  for (const Row* row : rows) {
    const Value value = FieldOf(*row, field);
    double number = value.number;
    if (value.kind == Value::Kind::kAbsent) continue;
    if (value.kind != Value::Kind::kNumber &&
        !(value.kind == Value::Kind::kText &&
          absl::SimpleAtod(value.text, &number))) {
      return absl::InvalidArgumentError(
          absl::StrCat("`", name, "` is not a number"));
    }
    numbers.push_back(number);
  }
  if (numbers.empty()) {
    return absl::NotFoundError(absl::StrCat("these rows have no `", name, "`"));
  }
  return numbers;
}

double SumOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

using OverNumbers = double (*)(const std::vector<double>&);

const std::map<std::string, OverNumbers>& OverNumbersFunctions() {
  static const auto& functions = *new std::map<std::string, OverNumbers>{
      {"median", [](const std::vector<double>& v) { return Median(v); }},
      {"mean",
       [](const std::vector<double>& v) { return SumOf(v) / v.size(); }},
      {"min",
       [](const std::vector<double>& v) {
         return *std::min_element(v.begin(), v.end());
       }},
      {"max",
       [](const std::vector<double>& v) {
         return *std::max_element(v.begin(), v.end());
       }},
      {"sum", [](const std::vector<double>& v) { return SumOf(v); }},
  };
  return functions;
}

absl::StatusOr<double> CallOverNumbers(OverNumbers function, Strings arguments,
                                       const std::vector<Row>& rows) {
  const Strings conditions = arguments.subspan(1);
  ASSIGN_OR_RETURN(const RowPointers selected, Select(rows, conditions));
  if (selected.empty()) return absl::NotFoundError(Spoken(conditions));
  ASSIGN_OR_RETURN(const std::vector<double> numbers,
                   NumbersOf(selected, arguments[0]));
  return function(numbers);
}

// The fields in which the two cells of a ratio must agree.
constexpr const char* kAlike[] = {
    "scenario",       "mode",          "scope",           "library",
    "transform",      "device",        "num_items",       "batch_size",
    "workers",        "thread_policy", "params_profile",  "dataset.id",
    "dataset.sha256", "env_set",       "machine_profile", "library_version",
    "cold",           "exploratory"};

class PairKey {
 public:
  // `fields` are those that the two sides mention, so that they may differ.
  static absl::StatusOr<PairKey> Without(std::set<std::string> fields) {
    if (fields.count("dataset") > 0) fields.insert("dataset.id");
    if (fields.count("dataset.id") > 0) fields.insert("dataset.sha256");
    if (fields.count("library") > 0) fields.insert("library_version");
    PairKey key;
    for (const char* name : kAlike) {
      if (fields.count(name) > 0) continue;
      ASSIGN_OR_RETURN(Field field, FindField(name));
      key.fields_.push_back(std::move(field));
    }
    key.left_out_ = std::move(fields);
    return key;
  }

  std::string Of(const Row& row) const {
    std::string text;
    for (const Field& field : fields_) {
      absl::StrAppend(&text, ValueText(FieldOf(row, field)), "\n");
    }
    const std::map<std::string, std::string> settings(row.settings().begin(),
                                                      row.settings().end());
    for (const auto& setting : settings) {
      if (left_out_.count(absl::StrCat("settings.", setting.first)) > 0) {
        continue;
      }
      absl::StrAppend(&text, setting.first, "=", setting.second, "\n");
    }
    return text;
  }

 private:
  std::vector<Field> fields_;
  std::set<std::string> left_out_;
};

absl::StatusOr<std::set<std::string>> FieldsOf(Strings conditions) {
  std::set<std::string> names;
  for (const std::string& condition : conditions) {
    ASSIGN_OR_RETURN(const Filter filter, Filter::Parse(condition));
    for (const Field& field : filter.fields()) names.insert(field.name);
  }
  return names;
}

absl::StatusOr<std::map<std::string, RowPointers>> SelectSide(
    const std::vector<Row>& rows, const std::string& side, Strings common,
    const PairKey& key) {
  std::vector<std::string> conditions(common.begin(), common.end());
  conditions.push_back(side);
  ASSIGN_OR_RETURN(const RowPointers selected, Select(rows, conditions));
  if (selected.empty()) return absl::NotFoundError(Spoken(conditions));
  std::map<std::string, RowPointers> cells;
  for (const Row* row : selected) cells[key.Of(*row)].push_back(row);
  return cells;
}

absl::StatusOr<double> Ratio(Strings arguments, const std::vector<Row>& rows) {
  const Strings common = arguments.subspan(3);
  ASSIGN_OR_RETURN(std::set<std::string> fields,
                   FieldsOf(arguments.subspan(1, 2)));
  ASSIGN_OR_RETURN(const PairKey key, PairKey::Without(std::move(fields)));
  ASSIGN_OR_RETURN(const auto above,
                   SelectSide(rows, arguments[1], common, key));
  ASSIGN_OR_RETURN(const auto below,
                   SelectSide(rows, arguments[2], common, key));
  std::vector<double> ratios;
  for (const auto& cell : above) {
    const auto other = below.find(cell.first);
    if (other == below.end()) continue;
    ASSIGN_OR_RETURN(const std::vector<double> a,
                     NumbersOf(cell.second, arguments[0]));
    ASSIGN_OR_RETURN(const std::vector<double> b,
                     NumbersOf(other->second, arguments[0]));
    const double bottom = Median(b);
    const double top = Median(a);
    if (!(bottom > 0) || !(top > 0)) {
      return absl::NotFoundError(
          absl::StrCat("a median of `", arguments[0], "` is not above 0"));
    }
    ratios.push_back(top / bottom);
  }
  if (ratios.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "no two cells differ only in ", arguments[1], " and ", arguments[2]));
  }
  return GeometricMean(ratios);
}

absl::StatusOr<double> Share(Strings arguments, const std::vector<Row>& rows) {
  ASSIGN_OR_RETURN(const RowPointers all, Select(rows, arguments.subspan(1)));
  if (all.empty()) return absl::NotFoundError(Spoken(arguments.subspan(1)));
  ASSIGN_OR_RETURN(const RowPointers some, Select(rows, arguments));
  return 100.0 * some.size() / all.size();
}

absl::StatusOr<double> Distinct(Strings arguments,
                                const std::vector<Row>& rows) {
  ASSIGN_OR_RETURN(const Field field, FindField(arguments[0]));
  ASSIGN_OR_RETURN(const RowPointers selected,
                   Select(rows, arguments.subspan(1)));
  std::set<std::string> values;
  for (const Row* row : selected)
    values.insert(ValueText(FieldOf(*row, field)));
  return static_cast<double>(values.size());
}

absl::StatusOr<double> Mfu(Strings arguments, const std::vector<Row>& rows) {
  double flops = 0;
  double peak = 0;
  if (!absl::SimpleAtod(arguments[0], &flops) ||
      !absl::SimpleAtod(arguments[1], &peak) || !(flops > 0) || !(peak > 0)) {
    return absl::InvalidArgumentError(
        "mfu takes operations per item and the machine's operations per "
        "second first, as in mfu(1.2e9, 9.89e14, mode == \"train\")");
  }
  std::vector<std::string> of_throughput(arguments.begin() + 1,
                                         arguments.end());
  of_throughput[0] = "throughput";
  ASSIGN_OR_RETURN(const double throughput,
                   CallOverNumbers(OverNumbersFunctions().at("median"),
                                   of_throughput, rows));
  return 100 * throughput * flops / peak;
}

// Largest quotient of two fields of one row.
absl::StatusOr<double> MaxQuotient(Strings arguments,
                                   const std::vector<Row>& rows) {
  const Strings conditions = arguments.subspan(2);
  ASSIGN_OR_RETURN(const RowPointers selected, Select(rows, conditions));
  if (selected.empty()) return absl::NotFoundError(Spoken(conditions));
  absl::optional<double> largest;
  for (const Row* row : selected) {
    const auto above = NumbersOf({row}, arguments[0]);
    const auto below = NumbersOf({row}, arguments[1]);
    if (absl::IsInvalidArgument(above.status())) return above.status();
    if (absl::IsInvalidArgument(below.status())) return below.status();
    if (!above.ok() || !below.ok() || !(below->front() > 0)) continue;
    const double quotient = above->front() / below->front();
    largest = std::max(quotient, largest.value_or(quotient));
  }
  if (largest.has_value()) return *largest;
  return absl::NotFoundError(absl::StrCat("these rows have no `", arguments[0],
                                          "` and `", arguments[1], "`"));
}

struct Function {
  size_t min_arguments;
  // How many arguments, from the first on, are names of fields. Conditions
  // start at argument `conditions`.
  size_t fields;
  size_t conditions;
  std::function<absl::StatusOr<double>(Strings, const std::vector<Row>&)> call;
};

const std::map<std::string, Function>& Functions() {
  static const auto& functions = *[] {
    auto* map = new std::map<std::string, Function>{
        {"ratio", {3, 1, 1, Ratio}},
        {"percent",
         {3, 1, 1,
          [](Strings arguments,
             const std::vector<Row>& rows) -> absl::StatusOr<double> {
            ASSIGN_OR_RETURN(const double ratio, Ratio(arguments, rows));
            return 100 * (ratio - 1);
          }}},
        {"share", {1, 0, 0, Share}},
        {"mfu", {2, 0, 2, Mfu}},
        {"max_quotient", {2, 2, 2, MaxQuotient}},
        {"distinct", {1, 1, 1, Distinct}},
        {"count",
         {0, 0, 0,
          [](Strings arguments,
             const std::vector<Row>& rows) -> absl::StatusOr<double> {
            ASSIGN_OR_RETURN(const RowPointers selected,
                             Select(rows, arguments));
            return static_cast<double>(selected.size());
          }}},
    };
    for (const auto& entry : OverNumbersFunctions()) {
      const OverNumbers function = entry.second;
      map->insert(
          {entry.first,
           {1, 1, 1,
            [function](Strings arguments, const std::vector<Row>& rows) {
              return CallOverNumbers(function, arguments, rows);
            }}});
    }
    return map;
  }();
  return functions;
}

// Whether the rows could have all fields that a call names, whatever rows there
// are: a misspelled field must not look like missing rows.
absl::Status CheckNames(const Function& function, Strings arguments) {
  for (size_t i = 0; i < function.fields; ++i) {
    const absl::Status found = FindField(arguments[i]).status();
    if (!found.ok()) return absl::InvalidArgumentError(found.message());
  }
  return ParseFilters(arguments.subspan(function.conditions)).status();
}

// The value of `name(arguments…)` over `rows`. InvalidArgument if there is no
// such function or an argument is wrong; NotFound if rows or their fields are
// missing.
absl::StatusOr<double> CallFunction(const std::string& name,
                                    const std::vector<std::string>& arguments,
                                    const std::vector<Row>& rows) {
  const auto function = Functions().find(name);
  if (function == Functions().end()) {
    std::vector<std::string> names;
    for (const auto& entry : Functions()) names.push_back(entry.first);
    return absl::InvalidArgumentError(absl::StrCat("there is no function `",
                                                   name, "`; there are ",
                                                   absl::StrJoin(names, ", ")));
  }
  if (arguments.size() < function->second.min_arguments) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " takes at least ", function->second.min_arguments,
                     " arguments, here are ", arguments.size()));
  }
  RETURN_IF_ERROR(CheckNames(function->second, arguments));
  return function->second.call(arguments, rows);
}

// Deeper nesting is a mistake, and must not cause a crash.
constexpr int kMaxDepth = 100;

// A recursive descent parser. The filter's own parser handles conditions.
class Parser {
 public:
  Parser(absl::string_view text, const std::vector<Row>& rows)
      : text_(text), rows_(rows) {}

  absl::StatusOr<double> Run() {
    ASSIGN_OR_RETURN(const double value, Sum(0));
    SkipSpace();
    if (place_ < text_.size()) return Error("expected an operator or the end");
    RETURN_IF_ERROR(missing_);
    if (!std::isfinite(value)) {
      return absl::NotFoundError("the result is not a finite number");
    }
    return value;
  }

 private:
  absl::StatusOr<double> Sum(int depth) {
    ASSIGN_OR_RETURN(double value, Product(depth));
    while (true) {
      if (Take('+')) {
        ASSIGN_OR_RETURN(const double other, Product(depth));
        value += other;
      } else if (Take('-')) {
        ASSIGN_OR_RETURN(const double other, Product(depth));
        value -= other;
      } else {
        return value;
      }
    }
  }

  absl::StatusOr<double> Product(int depth) {
    ASSIGN_OR_RETURN(double value, Factor(depth));
    while (true) {
      if (Take('*')) {
        ASSIGN_OR_RETURN(const double other, Factor(depth));
        value *= other;
      } else if (Take('/')) {
        ASSIGN_OR_RETURN(const double other, Factor(depth));
        if (other == 0) return absl::NotFoundError("a division by zero");
        value /= other;
      } else {
        return value;
      }
    }
  }

  absl::StatusOr<double> Factor(int depth) {
    if (depth > kMaxDepth) return Error("too many brackets");
    if (Take('-')) {
      ASSIGN_OR_RETURN(const double value, Factor(depth + 1));
      return -value;
    }
    if (Take('(')) {
      ASSIGN_OR_RETURN(const double value, Sum(depth + 1));
      if (!Take(')')) return Error("expected `)`");
      return value;
    }
    SkipSpace();
    if (place_ == text_.size()) return Error("expected a number or a function");
    if (std::isalpha(static_cast<unsigned char>(text_[place_])) != 0) {
      return Call();
    }
    return Number();
  }

  absl::StatusOr<double> Number() {
    size_t end = place_;
    while (end < text_.size() &&
           (absl::ascii_isalnum(text_[end]) || text_[end] == '.' ||
            ((text_[end] == '+' || text_[end] == '-') && end > place_ &&
             absl::ascii_tolower(text_[end - 1]) == 'e'))) {
      ++end;
    }
    double value = 0;
    if (!absl::SimpleAtod(text_.substr(place_, end - place_), &value)) {
      return Error("expected a number or a function");
    }
    place_ = end;
    return value;
  }

  absl::StatusOr<double> Call() {
    const size_t start = place_;
    while (place_ < text_.size() &&
           (absl::ascii_isalnum(text_[place_]) || text_[place_] == '_')) {
      ++place_;
    }
    const std::string name(text_.substr(start, place_ - start));
    if (!Take('(')) return Error(absl::StrCat("expected `(` after ", name));
    ASSIGN_OR_RETURN(const std::vector<std::string> arguments, Arguments());
    const absl::StatusOr<double> value = CallFunction(name, arguments, rows_);
    if (absl::IsInvalidArgument(value.status())) {
      place_ = start;
      return Error(value.status().message());
    }
    if (value.ok()) return value;
    // Goes on with any number, so that the rest is checked too.
    if (missing_.ok()) missing_ = value.status();
    return 1;
  }

  // Reads the arguments up to the closing parenthesis.
  absl::StatusOr<std::vector<std::string>> Arguments() {
    std::vector<std::string> arguments;
    size_t start = place_;
    int depth = 0;
    char quote = 0;
    for (; place_ < text_.size(); ++place_) {
      const char c = text_[place_];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '(' || c == '[') {
        ++depth;
      } else if (depth > 0 && (c == ')' || c == ']')) {
        --depth;
      } else if (depth == 0 && (c == ',' || c == ')')) {
        const absl::string_view argument =
            absl::StripAsciiWhitespace(text_.substr(start, place_ - start));
        if (!argument.empty() || c == ',' || !arguments.empty()) {
          arguments.emplace_back(argument);
        }
        start = place_ + 1;
        if (c == ')') {
          ++place_;
          return arguments;
        }
      }
    }
    return Error("expected `)`");
  }

  void SkipSpace() {
    while (place_ < text_.size() && absl::ascii_isspace(text_[place_])) {
      ++place_;
    }
  }

  bool Take(char c) {
    SkipSpace();
    if (place_ == text_.size() || text_[place_] != c) return false;
    ++place_;
    return true;
  }

  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat("column ", place_ + 1, " of `", text_, "`: ", what));
  }

  const absl::string_view text_;
  const std::vector<Row>& rows_;
  // What the rows lack to compute the first call that they cannot answer.
  absl::Status missing_;
  size_t place_ = 0;
};

}  // namespace

absl::StatusOr<double> Evaluate(absl::string_view expression,
                                const std::vector<Row>& rows) {
  return Parser(expression, rows).Run();
}

}  // namespace feedrate
