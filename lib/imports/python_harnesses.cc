#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/imports/harnesses.h"
#include "lib/imports/json_values.h"
#include "lib/records/row.pb.h"
#include "simdjson.h"

namespace feedrate {

using ::simdjson::dom::array;
using ::simdjson::dom::element;
using ::simdjson::dom::object;

// pytest-benchmark.

absl::Status ReadPytest(const object& file, RowSink* sink) {
  bool found;
  const object machine = ObjectAt(file, "machine_info", &found);
  std::string profile;
  if (found) {
    sink->At("machine_info");
    bool has_cpu;
    const object cpu = ObjectAt(machine, "cpu", &has_cpu);
    std::string brand = has_cpu ? Text(cpu, "brand_raw") : "";
    if (brand.empty() && has_cpu) brand = Text(cpu, "brand");
    profile = MachineName({brand,
                           has_cpu ? CoresText(Number(cpu, "count", sink)) : "",
                           Text(machine, "machine")});
  }
  const object commit = ObjectAt(file, "commit_info", &found);
  std::string version = found ? Text(commit, "id") : "";
  if (version == "unversioned") version.clear();
  const std::string started_at = UtcTime(Text(file, "datetime"));
  ASSIGN_OR_RETURN(const std::vector<PlacedObject> benchmarks,
                   ObjectsAt(file, "benchmarks", "", *sink));
  for (const auto& [place, fields] : benchmarks) {
    std::string name = Text(fields, "fullname");
    if (name.empty()) name = Text(fields, "name");
    if (name.empty()) return sink->Error(place, "has no \"fullname\"");
    Row* const row = sink->Start();
    row->set_machine_profile(profile);
    row->set_library_version(version);
    row->set_started_at(started_at);
    bool has_params;
    ObjectAt(fields, "params", &has_params);
    const std::string param = Text(fields, "param");
    if (has_params) {
      AddSettings(fields, "params", row);
    } else if (!param.empty()) {
      (*row->mutable_settings())["param"] = param;
    }
    if (!row->settings().empty()) {
      absl::string_view bare = name;
      absl::ConsumeSuffix(&bare, absl::StrCat("[", param, "]"));
      name = std::string(bare);
    }
    row->set_transform(name);
    for (const auto& [key, value] : FieldsOf(fields, "extra_info")) {
      AddCounter(absl::string_view(key.data(), key.size()), NumberOf(value),
                 row);
    }
    bool has_stats;
    const object stats = ObjectAt(fields, "stats", &has_stats);
    if (!has_stats) return sink->Error(place, "has no object \"stats\"");
    sink->At(absl::StrCat(place, ".stats"));
    const std::vector<double> samples = Numbers(stats, "data", sink);
    const double iterations = Number(stats, "iterations", sink);
    if (!samples.empty()) {
      RETURN_IF_ERROR(
          sink->Add(samples, (std::isfinite(iterations) ? iterations : 1) *
                                 static_cast<double>(samples.size())));
      continue;
    }
    SampleSummary summary;
    summary.set_count(CountOf(Number(stats, "rounds", sink)));
    summary.set_mean_s(Number(stats, "mean", sink));
    summary.set_median_s(Number(stats, "median", sink));
    summary.set_stddev_s(Number(stats, "stddev", sink));
    RETURN_IF_ERROR(sink->AddSummary(summary));
  }
  return absl::OkStatus();
}

namespace {

// pyperf: metadata of the file, of a benchmark and of a run, the last counts.

class PyperfMetadata {
 public:
  void Add(const object& owner) {
    bool found;
    const object inner = ObjectAt(owner, "metadata", &found);
    if (found) levels_.push_back(inner);
  }
  void Drop(size_t levels) { levels_.resize(levels); }
  size_t levels() const { return levels_.size(); }
  std::string TextOf(absl::string_view key) const {
    element value;
    for (size_t i = levels_.size(); i-- > 0;) {
      if (Has(levels_[i], key, &value)) return PlainText(value);
    }
    return "";
  }
  double NumberOf(absl::string_view key) const {
    double number;
    return absl::SimpleAtod(TextOf(key), &number) ? number : std::nan("");
  }

 private:
  std::vector<object> levels_;
};

}  // namespace

absl::Status ReadPyperf(const object& file, RowSink* sink) {
  PyperfMetadata metadata;
  metadata.Add(file);
  const size_t outer = metadata.levels();
  ASSIGN_OR_RETURN(const std::vector<PlacedObject> benchmarks,
                   ObjectsAt(file, "benchmarks", "", *sink));
  for (const auto& [place, fields] : benchmarks) {
    metadata.Drop(outer);
    metadata.Add(fields);
    const size_t inner = metadata.levels();
    ASSIGN_OR_RETURN(const std::vector<PlacedObject> runs,
                     ObjectsAt(fields, "runs", place, *sink));
    for (const auto& [run_place, run] : runs) {
      element list;
      // Runs that only calibrate have no values.
      if (!Has(run, "values", &list)) continue;
      sink->At(run_place);
      const std::vector<double> values = NumbersOf(list, "values", sink);
      RETURN_IF_ERROR(sink->problem());
      if (values.empty()) {
        return sink->Error(run_place, "\"values\" is not a list of numbers");
      }
      metadata.Drop(inner);
      metadata.Add(run);
      const std::string unit = metadata.TextOf("unit");
      if (!unit.empty() && unit != "second") {
        sink->LeaveOut();
        continue;
      }
      Row* const row = sink->Start();
      const std::string name = metadata.TextOf("name");
      row->set_transform(name.empty() ? "benchmark" : name);
      row->set_machine_profile(
          MachineName({metadata.TextOf("cpu_model_name"),
                       CoresText(metadata.NumberOf("cpu_count"))}));
      row->set_library_version(metadata.TextOf("python_version"));
      const double memory = metadata.NumberOf("mem_max_rss");
      if (memory > 0 && memory < 9e15) {
        row->set_rss_peak_bytes(static_cast<int64_t>(memory));
      }
      double loops = metadata.NumberOf("loops");
      const double inner_loops = metadata.NumberOf("inner_loops");
      if (std::isfinite(inner_loops)) loops *= inner_loops;
      RETURN_IF_ERROR(
          sink->Add(values, std::isfinite(loops) ? loops * values.size() : 0));
    }
  }
  return absl::OkStatus();
}

namespace {

// asv.

// The interquartile range of a normal distribution, in standard deviations.
constexpr double kIqrOfNormal = 1.349;

// Names of parameters and units by benchmark, from `benchmarks.json` beside the
// results or above them.
struct AsvBenchmarks {
  std::map<std::string, std::vector<std::string>> names;
  std::map<std::string, std::string> units;
};

absl::StatusOr<AsvBenchmarks> ReadAsvBenchmarks(RowSink* sink) {
  AsvBenchmarks known;
  std::string folder = ParentFolder(sink->name());
  std::string path = JoinPath(folder, "benchmarks.json");
  if (!IsFile(path)) path = JoinPath(ParentFolder(folder), "benchmarks.json");
  if (!sink->may_read_files() || !PlainFileBytes(path).ok()) return known;
  ASSIGN_OR_RETURN(const std::string content, ReadFile(path));
  simdjson::dom::parser parser;
  element parsed;
  object file;
  RETURN_IF_ERROR(
      ParseJson(content, *sink, "benchmarks.json", &parser, &parsed));
  if (parsed.get(file) != simdjson::SUCCESS) {
    return sink->Error("benchmarks.json", "is not an object");
  }
  for (const auto& [key, value] : file) {
    object benchmark;
    if (value.get(benchmark) != simdjson::SUCCESS) continue;
    const std::string name(key);
    known.units[name] = Text(benchmark, "unit");
    sink->At(absl::StrCat("benchmarks.json: ", name));
    for (const element& entry : ItemsOf(benchmark, "param_names", sink)) {
      known.names[name].push_back(PlainText(entry));
    }
  }
  return known;
}

// A result of asv: its values by the name of their column.
class AsvResult {
 public:
  // Fails if `value` is not a list of at most as many values as there are
  // columns.
  absl::Status Read(const element& value, const std::vector<std::string>& names,
                    RowSink* sink) {
    array list;
    if (value.get(list) != simdjson::SUCCESS) {
      return sink->Error(place_, "is not a list");
    }
    for (const element entry : list) {
      if (columns_.size() == names.size()) {
        return sink->Error(
            place_, absl::StrCat("has more values than the ", names.size(),
                                 " \"result_columns\""));
      }
      columns_.emplace(names[columns_.size()], entry);
    }
    return absl::OkStatus();
  }

  explicit AsvResult(std::string place) : place_(std::move(place)) {}

  const std::string& place() const { return place_; }

  // The values of a column, which has one per combination of parameters. Empty
  // if it is null. simdjson's own at(n) walks from the start.
  absl::StatusOr<std::vector<element>> Column(const std::string& name,
                                              size_t combinations,
                                              RowSink* sink) const {
    std::vector<element> values;
    const auto column = columns_.find(name);
    if (column == columns_.end() || column->second.is_null()) return values;
    array list;
    if (column->second.get(list) != simdjson::SUCCESS) {
      return sink->Error(place_, absl::StrCat("\"", name, "\" is not a list"));
    }
    for (const element value : list) values.push_back(value);
    if (values.size() == combinations) return values;
    return sink->Error(
        place_,
        absl::StrCat("\"", name, "\" has ", values.size(),
                     values.size() == 1 ? " value" : " values",
                     ", but the parameters have ", combinations,
                     combinations == 1 ? " combination" : " combinations"));
  }

  // The values of each parameter.
  absl::StatusOr<std::vector<std::vector<std::string>>> Params(
      RowSink* sink) const {
    std::vector<std::vector<std::string>> params;
    const auto column = columns_.find("params");
    if (column == columns_.end() || column->second.is_null()) return params;
    array axes;
    if (column->second.get(axes) != simdjson::SUCCESS) {
      return sink->Error(place_, "\"params\" is not a list");
    }
    for (const element axis : axes) {
      array values;
      if (axis.get(values) != simdjson::SUCCESS || values.size() == 0) {
        return sink->Error(place_, "a parameter has no list of values");
      }
      params.emplace_back();
      for (const element one : values) params.back().push_back(PlainText(one));
    }
    return params;
  }

 private:
  const std::string place_;
  std::map<std::string, element> columns_;
};

// Makes the parameters of the `n`th combination settings of the row; the last
// parameter changes fastest.
void SetAsvParams(const std::vector<std::vector<std::string>>& params,
                  const std::vector<std::string>& names, size_t n, Row* row) {
  for (size_t i = params.size(); i-- > 0;) {
    const std::string name =
        i < names.size() ? names[i] : absl::StrCat("param", i + 1);
    (*row->mutable_settings())[name] = params[i][n % params[i].size()];
    n /= params[i].size();
  }
}

double NthNumber(const std::vector<element>& column, size_t n,
                 absl::string_view name, RowSink* sink) {
  return n < column.size() ? NumberOf(column[n], name, sink) : std::nan("");
}

// Many combinations of parameters would be as many rows.
constexpr size_t kMostCombinations = 1000000;

}  // namespace

absl::Status ReadAsv(const object& file, RowSink* sink) {
  bool found;
  ASSIGN_OR_RETURN(const AsvBenchmarks known, ReadAsvBenchmarks(sink));
  const object machine = ObjectAt(file, "params", &found);
  const std::string profile =
      found ? MachineName({Text(machine, "machine")}) : "";
  const std::string version = Text(file, "commit_hash");
  sink->At("");
  // When a commit was measured says nothing about its place in the history.
  const double date_ms = Number(file, "date", sink);
  const std::string date =
      date_ms > 0 && date_ms < 9e15
          ? absl::FormatTime(
                "%Y-%m-%dT%H:%M:%SZ",
                absl::FromUnixMillis(static_cast<int64_t>(date_ms)),
                absl::UTCTimeZone())
          : "";
  std::vector<std::string> columns;
  for (const element& entry : ItemsOf(file, "result_columns", sink)) {
    columns.push_back(PlainText(entry));
    if (std::count(columns.begin(), columns.end(), columns.back()) > 1) {
      return sink->Error("result_columns",
                         absl::StrCat(columns.back(), " is there twice"));
    }
  }
  if (columns.empty()) {
    return sink->Error(
        "",
        "no \"result_columns\"; asv 0.5 or newer writes them: run `asv "
        "update`");
  }
  const object results = ObjectAt(file, "results", &found);
  if (!found) return sink->Error("", "no object \"results\"");
  for (const auto& [key, value] : results) {
    const std::string name(key);
    AsvResult result(absl::StrCat("results.", name));
    RETURN_IF_ERROR(result.Read(value, columns, sink));
    const auto unit = known.units.find(name);
    const absl::string_view function =
        absl::string_view(name).substr(name.rfind('.') + 1);
    const bool is_time = unit != known.units.end()
                             ? unit->second == "seconds"
                             : absl::StartsWith(function, "time");
    if (!is_time) {
      sink->LeaveOut();
      continue;
    }
    const auto start = [&] {
      Row* const row = sink->Start();
      row->set_transform(name);
      row->set_machine_profile(profile);
      row->set_library_version(version);
      row->set_started_at(date);
      return row;
    };
    ASSIGN_OR_RETURN(const std::vector<std::vector<std::string>> params,
                     result.Params(sink));
    size_t combinations = 1;
    for (const auto& axis : params) {
      combinations = std::min(combinations * axis.size(), kMostCombinations);
    }
    const auto column = [&](const char* of) {
      return result.Column(of, combinations, sink);
    };
    ASSIGN_OR_RETURN(const std::vector<element> medians, column("result"));
    ASSIGN_OR_RETURN(const std::vector<element> lists, column("samples"));
    ASSIGN_OR_RETURN(const std::vector<element> numbers,
                     column("stats_number"));
    ASSIGN_OR_RETURN(const std::vector<element> repeats,
                     column("stats_repeat"));
    ASSIGN_OR_RETURN(const std::vector<element> low, column("stats_q_25"));
    ASSIGN_OR_RETURN(const std::vector<element> high, column("stats_q_75"));
    if (medians.empty()) {
      // The whole benchmark failed.
      start();
      RETURN_IF_ERROR(sink->AddStatus("failed", "asv has no result for it"));
      continue;
    }
    const auto names = known.names.find(name);
    sink->At(result.place());
    for (size_t n = 0; n < medians.size(); ++n) {
      SetAsvParams(params,
                   names == known.names.end() ? std::vector<std::string>()
                                              : names->second,
                   n, start());
      const double seconds = NumberOf(medians[n], "result", sink);
      std::vector<double> samples;
      if (n < lists.size()) samples = NumbersOf(lists[n], "samples", sink);
      if (!std::isfinite(seconds)) {
        const bool is_null = medians[n].is_null();
        RETURN_IF_ERROR(sink->AddStatus(
            is_null ? "failed" : "unsupported",
            is_null ? "asv has no result for it" : "n/a in asv"));
      } else if (!samples.empty()) {
        const double number = NthNumber(numbers, n, "stats_number", sink);
        RETURN_IF_ERROR(sink->Add(
            samples, std::isfinite(number) ? number * samples.size() : 0));
      } else {
        SampleSummary summary;
        summary.set_count(CountOf(NthNumber(repeats, n, "stats_repeat", sink)));
        summary.set_median_s(seconds);
        summary.set_stddev_s((NthNumber(high, n, "stats_q_75", sink) -
                              NthNumber(low, n, "stats_q_25", sink)) /
                             kIqrOfNormal);
        RETURN_IF_ERROR(sink->AddSummary(summary));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace feedrate
