#include "lib/analysis/sort_aggregates.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "lib/analysis/value.h"
#include "lib/base/text.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using Number = std::function<absl::optional<double>(const Aggregate&)>;

template <typename Has, typename Get>
Number If(Has has, Get get) {
  return [=](const Aggregate& a) -> absl::optional<double> {
    if (!(a.*has)()) return absl::nullopt;
    return static_cast<double>((a.*get)());
  };
}

const std::map<std::string, Number>& Numbers() {
  static const auto* const kNumbers = new std::map<std::string, Number>{
      {"runs",
       [](const Aggregate& a) -> absl::optional<double> {
         return static_cast<double>(a.runs());
       }},
      {"median", If(&Aggregate::has_median, &Aggregate::median)},
      {"mean", If(&Aggregate::has_mean, &Aggregate::mean)},
      {"sd", If(&Aggregate::has_sd, &Aggregate::sd)},
      {"cv", If(&Aggregate::has_cv, &Aggregate::cv)},
      {"min", If(&Aggregate::has_min, &Aggregate::min)},
      {"max", If(&Aggregate::has_max, &Aggregate::max)},
      {"rank", If(&Aggregate::has_rank, &Aggregate::rank)},
      {"ratio",
       [](const Aggregate& a) -> absl::optional<double> {
         if (!a.speed_up().has_ratio()) return absl::nullopt;
         return a.speed_up().ratio();
       }},
  };
  return *kNumbers;
}

Value ByValue(const Aggregate& aggregate, const std::string& field) {
  const std::string& text = aggregate.by().at(field);
  double number;
  if (text == "-") return Value();
  if (absl::SimpleAtod(text, &number)) return NumberValue(number);
  return TextValue(text);
}

using Less = std::function<bool(const Aggregate&, const Aggregate&)>;

Less ByNumber(Number number, bool descending) {
  return [=](const Aggregate& a, const Aggregate& b) {
    const absl::optional<double> one = number(a);
    const absl::optional<double> other = number(b);
    if (!one.has_value() || !other.has_value()) {
      return one.has_value() && !other.has_value();
    }
    return descending ? *one > *other : *one < *other;
  };
}

Less ByField(std::string field, bool descending) {
  return [=](const Aggregate& a, const Aggregate& b) {
    const Value one = ByValue(a, field);
    const Value other = ByValue(b, field);
    return descending ? ValueLess(other, one) : ValueLess(one, other);
  };
}

}  // namespace

absl::Status SortAggregates(const std::vector<std::string>& keys,
                            const std::vector<std::string>& by,
                            std::vector<Aggregate>* aggregates) {
  std::vector<Less> orders;
  for (const std::string& key : keys) {
    const bool descending = !key.empty() && key[0] == '-';
    const std::string name = descending ? key.substr(1) : key;
    const auto number = Numbers().find(name);
    if (std::find(by.begin(), by.end(), name) != by.end()) {
      orders.push_back(ByField(name, descending));
    } else if (number != Numbers().end()) {
      orders.push_back(ByNumber(number->second, descending));
    } else {
      std::vector<std::string> names = by;
      for (const auto& known : Numbers()) names.push_back(known.first);
      return absl::InvalidArgumentError(
          absl::StrCat("--sort: \"", name,
                       "\" is neither a field of --by nor a column of numbers",
                       DidYouMean(name, names)));
    }
  }
  // From the last key to the first: each sort keeps the order of the others.
  for (auto order = orders.rbegin(); order != orders.rend(); ++order) {
    std::stable_sort(aggregates->begin(), aggregates->end(), *order);
  }
  return absl::OkStatus();
}

}  // namespace feedrate
