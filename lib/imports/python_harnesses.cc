#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
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
    bool has_cpu;
    const object cpu = ObjectAt(machine, "cpu", &has_cpu);
    std::string brand = has_cpu ? Text(cpu, "brand_raw") : "";
    if (brand.empty() && has_cpu) brand = Text(cpu, "brand");
    profile =
        MachineName({brand, has_cpu ? CoresText(Number(cpu, "count")) : "",
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
    const std::vector<double> samples = Numbers(stats, "data");
    const double iterations = Number(stats, "iterations");
    if (!samples.empty()) {
      RETURN_IF_ERROR(
          sink->Add(samples, (std::isfinite(iterations) ? iterations : 1) *
                                 static_cast<double>(samples.size())));
      continue;
    }
    SampleSummary summary;
    const double rounds = Number(stats, "rounds");
    summary.set_count(CountOf(rounds));
    summary.set_mean_s(Number(stats, "mean"));
    summary.set_median_s(Number(stats, "median"));
    summary.set_stddev_s(Number(stats, "stddev"));
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
      const std::vector<double> values = NumbersOf(list);
      if (values.empty()) {
        return sink->Error(run_place, "\"values\" is no list of numbers");
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

AsvBenchmarks ReadAsvBenchmarks(const RowSink& sink) {
  AsvBenchmarks known;
  std::string folder = ParentFolder(sink.name());
  std::string path = JoinPath(folder, "benchmarks.json");
  if (!IsFile(path)) path = JoinPath(ParentFolder(folder), "benchmarks.json");
  if (!sink.may_read_files() || !PlainFileBytes(path).ok()) return known;
  const absl::StatusOr<std::string> content = ReadFile(path);
  simdjson::dom::parser parser;
  element parsed;
  object file;
  if (!content.ok() || !ParseJson(*content, sink, "", &parser, &parsed).ok() ||
      parsed.get(file) != simdjson::SUCCESS) {
    return known;
  }
  for (const auto& [key, value] : file) {
    object benchmark;
    if (value.get(benchmark) != simdjson::SUCCESS) continue;
    const std::string name(key);
    known.units[name] = Text(benchmark, "unit");
    for (const element& entry : ItemsOf(benchmark, "param_names")) {
      known.names[name].push_back(PlainText(entry));
    }
  }
  return known;
}

// The values of a column, which has one per combination of parameters. Empty if
// it is no list. simdjson's own at(n) walks from the start.
std::vector<element> ColumnOf(const std::map<std::string, element>& columns,
                              const std::string& name) {
  std::vector<element> values;
  const auto column = columns.find(name);
  array list;
  if (column == columns.end() ||
      column->second.get(list) != simdjson::SUCCESS) {
    return values;
  }
  for (const element value : list) values.push_back(value);
  return values;
}

double NthNumber(const std::vector<element>& column, size_t n) {
  return n < column.size() ? NumberOf(column[n]) : std::nan("");
}

}  // namespace

absl::Status ReadAsv(const object& file, RowSink* sink) {
  bool found;
  const AsvBenchmarks known = ReadAsvBenchmarks(*sink);
  const object machine = ObjectAt(file, "params", &found);
  const std::string profile =
      found ? MachineName({Text(machine, "machine")}) : "";
  const std::string version = Text(file, "commit_hash");
  // When a commit was measured says nothing about its place in the history.
  const double date_ms = Number(file, "date");
  const std::string date =
      date_ms > 0 ? absl::FormatTime(
                        "%Y-%m-%dT%H:%M:%SZ",
                        absl::FromUnixMillis(static_cast<int64_t>(date_ms)),
                        absl::UTCTimeZone())
                  : "";
  std::vector<std::string> names;
  for (const element& entry : ItemsOf(file, "result_columns")) {
    names.push_back(PlainText(entry));
  }
  if (names.empty()) {
    return sink->Error(
        "",
        "no \"result_columns\"; asv 0.5 or newer writes them: run `asv "
        "update`");
  }
  const object results = ObjectAt(file, "results", &found);
  if (!found) return sink->Error("", "no object \"results\"");
  for (const auto& [key, value] : results) {
    const std::string name(key);
    array list;
    if (value.get(list) != simdjson::SUCCESS) {
      return sink->Error(absl::StrCat("results.", name), "is no list");
    }
    std::map<std::string, element> columns;
    size_t column = 0;
    for (const element entry : list) {
      if (column < names.size()) columns[names[column++]] = entry;
    }
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
    std::vector<std::vector<std::string>> params;
    array axes;
    if (columns.count("params") > 0 &&
        columns["params"].get(axes) == simdjson::SUCCESS) {
      for (const element axis : axes) {
        array values;
        if (axis.get(values) != simdjson::SUCCESS) continue;
        params.emplace_back();
        for (const element one : values) {
          params.back().push_back(PlainText(one));
        }
      }
    }
    array medians;
    if (columns.count("result") == 0 ||
        columns["result"].get(medians) != simdjson::SUCCESS) {
      // The whole benchmark failed.
      Row* const row = sink->Start();
      row->set_transform(name);
      row->set_machine_profile(profile);
      row->set_library_version(version);
      row->set_started_at(date);
      RETURN_IF_ERROR(sink->AddStatus("failed", "asv has no result for it"));
      continue;
    }
    const std::vector<element> lists = ColumnOf(columns, "samples");
    const std::vector<element> numbers = ColumnOf(columns, "stats_number");
    const std::vector<element> repeats = ColumnOf(columns, "stats_repeat");
    const std::vector<element> low = ColumnOf(columns, "stats_q_25");
    const std::vector<element> high = ColumnOf(columns, "stats_q_75");
    size_t n = 0;
    for (const element median : medians) {
      Row* const row = sink->Start();
      row->set_transform(name);
      row->set_machine_profile(profile);
      row->set_library_version(version);
      row->set_started_at(date);
      // The last parameter changes fastest.
      size_t rest = n;
      for (size_t i = params.size(); i-- > 0;) {
        if (params[i].empty()) continue;
        const auto named = known.names.find(name);
        const std::string param =
            named != known.names.end() && i < named->second.size()
                ? named->second[i]
                : absl::StrCat("param", i + 1);
        (*row->mutable_settings())[param] = params[i][rest % params[i].size()];
        rest /= params[i].size();
      }
      const double seconds = NumberOf(median);
      std::vector<double> samples;
      if (n < lists.size()) samples = NumbersOf(lists[n]);
      if (!std::isfinite(seconds)) {
        RETURN_IF_ERROR(sink->AddStatus(
            median.is_null() ? "failed" : "unsupported",
            median.is_null() ? "asv has no result for it" : "n/a in asv"));
      } else if (!samples.empty()) {
        const double number = NthNumber(numbers, n);
        RETURN_IF_ERROR(sink->Add(
            samples, std::isfinite(number) ? number * samples.size() : 0));
      } else {
        SampleSummary summary;
        const double repeat = NthNumber(repeats, n);
        summary.set_count(CountOf(repeat));
        summary.set_median_s(seconds);
        summary.set_stddev_s((NthNumber(high, n) - NthNumber(low, n)) /
                             kIqrOfNormal);
        RETURN_IF_ERROR(sink->AddSummary(summary));
      }
      ++n;
    }
  }
  return absl::OkStatus();
}

}  // namespace feedrate
