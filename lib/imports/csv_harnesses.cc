#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"
#include "lib/imports/harnesses.h"
#include "lib/records/row.pb.h"

namespace feedrate {
namespace {

// Splits the line at the start of `text`; quoted fields may hold commas and
// newlines. False if there is no line, or a quote in it is not closed.
bool ReadCsvLine(absl::string_view* text, size_t* line,
                 std::vector<std::string>* fields) {
  fields->clear();
  if (text->empty()) return false;
  fields->emplace_back();
  bool quoted = false;
  size_t i = 0;
  for (; i < text->size(); ++i) {
    const char c = (*text)[i];
    if (c == '\n') ++*line;
    if (quoted && c == '"' && i + 1 < text->size() && (*text)[i + 1] == '"') {
      fields->back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      fields->emplace_back();
    } else if (!quoted && c == '\n') {
      ++i;
      break;
    } else if (c != '\r' || quoted) {
      fields->back() += c;
    }
  }
  text->remove_prefix(i);
  return !quoted;
}

// What the columns of a table are.
enum class Role {
  kSetting,
  kName,
  kField,
  kTime,
  kMean,
  kMedian,
  kDeviation,
  kCount,
  kIterations,
  kUnit,
  kIgnored,
};

struct Column {
  Role role = Role::kSetting;
  std::string name;
  // Seconds per unit of a time; 0 if the column does not say.
  double seconds = 0;
  // For kSetting: lines that differ in it are different benchmarks. Otherwise
  // it is a counter.
  bool is_parameter = false;
};

struct Line {
  size_t number = 0;
  std::vector<std::string> fields;
};

const std::map<std::string, Role>& Roles() {
  static const auto* const kRoles = new std::map<std::string, Role>{
      {"name", Role::kName},
      {"benchmark", Role::kName},
      {"test", Role::kName},
      {"bench", Role::kName},
      {"transform", Role::kName},
      {"library", Role::kField},
      {"command", Role::kField},
      {"device", Role::kField},
      {"machine_profile", Role::kField},
      {"library_version", Role::kField},
      {"time", Role::kTime},
      {"real_time", Role::kTime},
      {"elapsed", Role::kTime},
      {"duration", Role::kTime},
      {"seconds", Role::kTime},
      {"runtime", Role::kTime},
      {"wall", Role::kTime},
      {"wall_time", Role::kTime},
      {"mean", Role::kMean},
      {"average", Role::kMean},
      {"avg", Role::kMean},
      {"median", Role::kMedian},
      {"p50", Role::kMedian},
      {"stddev", Role::kDeviation},
      {"std", Role::kDeviation},
      {"sd", Role::kDeviation},
      {"stdev", Role::kDeviation},
      {"count", Role::kCount},
      {"rounds", Role::kCount},
      {"samples", Role::kCount},
      {"runs", Role::kCount},
      {"iterations", Role::kIterations},
      {"time_unit", Role::kUnit},
      {"run", Role::kIgnored},
      {"run_index", Role::kIgnored},
      {"repetition", Role::kIgnored},
      {"repetition_index", Role::kIgnored},
      {"rep", Role::kIgnored},
      {"round", Role::kIgnored},
      {"iteration", Role::kIgnored},
      {"trial", Role::kIgnored},
      {"index", Role::kIgnored},
      {"timestamp", Role::kIgnored},
      {"date", Role::kIgnored},
      {"error_occurred", Role::kIgnored},
      {"error_message", Role::kIgnored},
      {"label", Role::kIgnored},
  };
  return *kRoles;
}

// `time_ms`, `Time (ms)`, `mean [s]`: a role, and maybe a unit.
Column ColumnOf(const std::string& header) {
  Column column;
  column.name = std::string(absl::StripAsciiWhitespace(header));
  std::string text = absl::AsciiStrToLower(column.name);
  for (char& c : text) {
    if (c == ' ' || c == '(' || c == '[' || c == '-') c = '_';
  }
  while (!text.empty() && (text.back() == ')' || text.back() == ']')) {
    text.pop_back();
  }
  const size_t last = text.rfind('_');
  const std::string tail =
      last == std::string::npos ? text : text.substr(last + 1);
  std::string stem = text;
  // `time_min` is the least of several times; `time (min)` is in minutes.
  const bool has_brackets = column.name.find_first_of("([") != column.name.npos;
  const double seconds = tail == "min" && !has_brackets ? 0 : SecondsOf(tail);
  if (seconds > 0 && last != std::string::npos) {
    stem = text.substr(0, last);
    while (!stem.empty() && stem.back() == '_') stem.pop_back();
  }
  const auto role = Roles().find(stem);
  if (role != Roles().end()) column.role = role->second;
  // A column may be called only `ns`.
  if (role == Roles().end() && seconds > 0 && text == tail && text != "s") {
    column.role = Role::kTime;
  }
  column.seconds = text == "seconds" ? 1 : seconds;
  return column;
}

// Words in the names of columns that are measured, never chosen.
bool IsResult(const std::string& name) {
  static const auto* const kWords = new std::set<std::string>{
      "allocations",  "allocs", "cycles", "energy", "errors",     "faults",
      "instructions", "iqr",    "max",    "min",    "misses",     "ops",
      "outliers",     "p90",    "p95",    "p99",    "per",        "percent",
      "q1",           "q3",     "rate",   "ratio",  "rss",        "score",
      "sys",          "system", "time",   "user",   "throughput",
  };
  if (name.find_first_of("/%") != std::string::npos) return true;
  for (const std::string& word : std::vector<std::string>(
           absl::StrSplit(absl::AsciiStrToLower(name),
                          absl::ByAnyChar(" _-()[]"), absl::SkipEmpty()))) {
    if (kWords->count(word) > 0) return true;
  }
  return false;
}

bool ReadNumber(const std::string& text, double* number) {
  return absl::SimpleAtod(text, number) && std::isfinite(*number);
}

// Whether the values of a column could be chosen ones as well as measured ones:
// integers, or few that occur again and again.
bool CouldBeParameter(const std::vector<Line>& lines, size_t column) {
  std::set<double> values;
  bool are_integers = true;
  for (const Line& line : lines) {
    double number = 0;
    if (!ReadNumber(line.fields[column], &number)) continue;
    values.insert(number);
    are_integers &= number == std::floor(number);
  }
  return are_integers || 2 * values.size() <= lines.size();
}

// Says of each column without a role of its own whether it is a parameter: one
// that the user names or that is called `parameter_NAME`, or one with a text in
// it. Refuses a table in which lines of the same benchmark differ in another
// column that could be a parameter, because those lines would be taken for runs
// of the same work.
absl::Status FindParameters(const std::vector<Line>& lines,
                            const std::vector<std::string>& chosen,
                            std::vector<Column>* columns, RowSink* sink) {
  const bool has_choice = !chosen.empty();
  for (const std::string& name : chosen) {
    if (name == "none" && chosen.size() == 1) break;
    const auto column =
        std::find_if(columns->begin(), columns->end(),
                     [&name](const Column& c) { return c.name == name; });
    if (column == columns->end()) {
      std::vector<std::string> names;
      for (const Column& c : *columns) names.push_back(c.name);
      return sink->Error(
          "line 1",
          absl::StrCat("--import-parameters: no column is called ", name,
                       "; there are ", absl::StrJoin(names, ", ")));
    }
    column->role = Role::kSetting;
    column->is_parameter = true;
  }
  for (size_t i = 0; i < columns->size(); ++i) {
    Column& column = (*columns)[i];
    if (column.role != Role::kSetting || column.is_parameter) continue;
    absl::string_view name = column.name;
    column.is_parameter = absl::ConsumePrefix(&name, "parameter_");
    column.name = std::string(name);
    for (const Line& line : lines) {
      double number = 0;
      column.is_parameter |=
          !line.fields[i].empty() && !absl::SimpleAtod(line.fields[i], &number);
    }
  }
  if (has_choice) return absl::OkStatus();
  // The first line of each benchmark.
  std::map<std::vector<std::string>, const Line*> benchmarks;
  std::vector<bool> differs(columns->size());
  std::string place;
  std::string what;
  for (const Line& line : lines) {
    std::vector<std::string> key;
    for (size_t i = 0; i < columns->size(); ++i) {
      const Column& column = (*columns)[i];
      if (column.role == Role::kName || column.role == Role::kField ||
          column.is_parameter) {
        key.push_back(line.fields[i]);
      }
    }
    const Line& first = *benchmarks.emplace(key, &line).first->second;
    for (size_t i = 0; i < columns->size(); ++i) {
      const Column& column = (*columns)[i];
      if (differs[i] || column.role != Role::kSetting || column.is_parameter ||
          line.fields[i] == first.fields[i] || IsResult(column.name) ||
          !CouldBeParameter(lines, i)) {
        continue;
      }
      differs[i] = true;
      if (!place.empty()) continue;
      place = absl::StrCat("line ", line.number);
      what =
          absl::StrCat("is line ", first.number, " with another ", column.name);
    }
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < columns->size(); ++i) {
    if (differs[i]) names.push_back((*columns)[i].name);
  }
  if (names.empty()) return absl::OkStatus();
  return sink->Error(
      place,
      absl::StrCat(what,
                   ": a parameter, or a result of another run? Pass "
                   "--import-parameters=",
                   absl::StrJoin(names, ","),
                   " or =none, or call the column parameter_", names[0]));
}

// google/benchmark's table has lines of statistics among those of the
// repetitions: `BM_a_mean`, `_median`, `_stddev`, `_cv`.
void LeaveOutStatistics(const std::vector<Column>& columns,
                        std::vector<Line>* lines, RowSink* sink) {
  const auto place = [&columns](absl::string_view name) {
    return std::find_if(columns.begin(), columns.end(),
                        [name](const Column& c) { return c.name == name; }) -
           columns.begin();
  };
  const size_t name = place("name");
  for (const char* column : {"name", "real_time", "cpu_time", "time_unit"}) {
    if (place(column) == static_cast<ptrdiff_t>(columns.size())) return;
  }
  std::set<std::string> names;
  for (const Line& line : *lines) names.insert(line.fields[name]);
  const auto is_statistic = [&](const Line& line) {
    for (const char* ending : {"_mean", "_median", "_stddev", "_cv"}) {
      absl::string_view stem = line.fields[name];
      if (!absl::ConsumeSuffix(&stem, ending)) continue;
      // Without repetitions, a mean or median is all there is.
      if (names.count(std::string(stem)) > 0 || ending[1] == 's' ||
          ending[1] == 'c') {
        sink->LeaveOut();
        return true;
      }
    }
    return false;
  };
  lines->erase(std::remove_if(lines->begin(), lines->end(), is_statistic),
               lines->end());
}

bool IsTime(const Column& column) {
  return column.role == Role::kTime || column.role == Role::kMean ||
         column.role == Role::kMedian;
}

std::vector<Column> ColumnsOf(const std::vector<std::string>& headers) {
  std::vector<Column> columns;
  for (const std::string& header : headers) {
    columns.push_back(ColumnOf(header));
  }
  return columns;
}

bool IsTimed(const std::vector<Column>& columns) {
  bool has_time = false;
  bool has_name = false;
  for (const Column& column : columns) {
    has_time |= IsTime(column);
    has_name |= column.role == Role::kName ||
                (column.role == Role::kField && column.name != "device");
  }
  return has_time && has_name;
}

absl::Status AddCsvRow(const std::vector<Column>& columns,
                       const std::vector<std::string>& fields, size_t line,
                       RowSink* sink) {
  Row* const row = sink->Start();
  SampleSummary summary;
  double time = 0;
  double iterations = 0;
  double unit = 1;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].role != Role::kUnit) continue;
    unit = SecondsOf(fields[i]);
    // google/benchmark puts fits of complexity in the same table.
    if (unit == 0) {
      sink->LeaveOut();
      return absl::OkStatus();
    }
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    const Column& column = columns[i];
    const std::string& text = fields[i];
    double number = 0;
    const bool is_number = ReadNumber(text, &number);
    const bool may_be_empty = column.role == Role::kDeviation ||
                              column.role == Role::kCount ||
                              column.role == Role::kIterations;
    if ((IsTime(column) || may_be_empty) && !is_number) {
      if (text.empty() && may_be_empty) continue;
      return sink->Error(
          absl::StrCat("line ", line),
          absl::StrCat("\"", text, "\" is not a number in column ",
                       column.name));
    }
    const double seconds =
        number * (column.seconds > 0 ? column.seconds : unit);
    switch (column.role) {
      case Role::kName:
        absl::StrAppend(row->mutable_transform(),
                        row->transform().empty() ? "" : "/", text);
        break;
      case Role::kField:
        if (column.name == "library" || column.name == "command") {
          row->set_library(text);
        } else if (column.name == "device") {
          row->set_device(text);
        } else if (column.name == "machine_profile") {
          row->set_machine_profile(MachineName({text}));
        } else {
          row->set_library_version(text);
        }
        break;
      case Role::kTime:
        if (time == 0) time = seconds;
        break;
      case Role::kMean:
        summary.set_mean_s(seconds);
        break;
      case Role::kMedian:
        summary.set_median_s(seconds);
        break;
      case Role::kDeviation:
        summary.set_stddev_s(seconds);
        break;
      case Role::kCount:
        if (number >= 1 && number < 9e15) {
          summary.set_count(static_cast<int64_t>(number));
        }
        break;
      case Role::kIterations:
        iterations = is_number ? number : 0;
        break;
      case Role::kSetting:
        if (!column.is_parameter) {
          if (is_number) AddCounter(column.name, number, row);
        } else if (!text.empty()) {
          (*row->mutable_settings())[column.name] = text;
        }
        break;
      case Role::kUnit:
      case Role::kIgnored:
        break;
    }
  }
  if (summary.mean_s() > 0 || summary.median_s() > 0) {
    return sink->AddSummary(summary);
  }
  return sink->Add({&time, 1}, iterations);
}

// nvbench: axes stand between `Device Name` and `Skipped`, and two columns
// called `Noise` follow the times that they belong to.
absl::Status AddNvbenchRow(const std::vector<std::string>& headers,
                           const std::vector<std::string>& fields,
                           RowSink* sink) {
  Row* const row = sink->Start();
  row->set_device("cuda");
  SampleSummary gpu;
  SampleSummary cpu;
  SampleSummary* last = nullptr;
  bool in_axes = false;
  bool is_skipped = false;
  for (size_t i = 0; i < headers.size(); ++i) {
    const std::string& header = headers[i];
    double number = 0;
    const bool is_number = absl::SimpleAtod(fields[i], &number);
    if (header == "Benchmark") {
      row->set_transform(fields[i]);
    } else if (header == "Device Name") {
      row->set_hardware(fields[i]);
      row->set_machine_profile(MachineName({fields[i]}));
      in_axes = true;
    } else if (header == "Skipped") {
      is_skipped = fields[i] == "Yes";
      in_axes = false;
    } else if (in_axes) {
      if (!absl::EndsWith(header, " (pow2)") && !fields[i].empty()) {
        (*row->mutable_settings())[header] = fields[i];
      }
    } else if (!is_number) {
      last = nullptr;
    } else if (header == "Samples" && gpu.count() == 0 && number >= 1 &&
               number < 9e15) {
      gpu.set_count(static_cast<int64_t>(number));
      cpu.set_count(gpu.count());
    } else if (header == "CPU Time (sec)") {
      cpu.set_mean_s(number);
      last = &cpu;
    } else if (header == "GPU Time (sec)") {
      gpu.set_mean_s(number);
      last = &gpu;
    } else if (header == "Noise" && last != nullptr) {
      last->set_stddev_s(number * last->mean_s());
      last = nullptr;
    } else if (header != "Device") {
      AddCounter(header, number, row);
    }
  }
  if (is_skipped) return sink->AddStatus("unsupported", "skipped");
  if (gpu.mean_s() > 0) AddCounter("cpu_time_s", cpu.mean_s(), row);
  return sink->AddSummary(gpu.mean_s() > 0 ? gpu : cpu);
}

}  // namespace

absl::Status ReadCsv(absl::string_view content, bool is_nvbench,
                     RowSink* sink) {
  size_t line = 1;
  std::vector<std::string> headers;
  std::vector<Line> lines;
  if (!ReadCsvLine(&content, &line, &headers)) {
    return sink->Error("line 1",
                       "there is no header, or a quote in it is not closed");
  }
  std::vector<Column> columns = ColumnsOf(headers);
  if (!is_nvbench && !IsTimed(columns)) {
    return sink->Error(
        "line 1",
        absl::StrCat("no column is a name (name, benchmark, command, library) "
                     "or none a time (time_s, time_ms, real_time, mean, "
                     "median); there are ",
                     absl::StrJoin(headers, ", ")));
  }
  // Lines that differ in one of two such columns would be one benchmark.
  std::set<std::string> names;
  for (const Column& column : columns) {
    if (!is_nvbench && !column.name.empty() &&
        !names.insert(column.name).second) {
      return sink->Error("line 1",
                         absl::StrCat("two columns are called ", column.name));
    }
  }
  while (!content.empty()) {
    Line next;
    next.number = line;
    std::vector<std::string>& fields = next.fields;
    if (!ReadCsvLine(&content, &line, &fields)) {
      return sink->Error(absl::StrCat("line ", next.number),
                         "a quote is not closed; the file may be half-written");
    }
    if (fields.size() == 1 && fields[0].empty()) continue;
    if (fields.size() != headers.size()) {
      return sink->Error(absl::StrCat("line ", next.number),
                         absl::StrCat(fields.size(),
                                      " fields, but the header "
                                      "has ",
                                      headers.size()));
    }
    lines.push_back(std::move(next));
  }
  if (!is_nvbench) {
    LeaveOutStatistics(columns, &lines, sink);
    RETURN_IF_ERROR(FindParameters(lines, sink->parameters(), &columns, sink));
  }
  for (const Line& each : lines) {
    RETURN_IF_ERROR(is_nvbench
                        ? AddNvbenchRow(headers, each.fields, sink)
                        : AddCsvRow(columns, each.fields, each.number, sink));
  }
  return absl::OkStatus();
}

bool IsTimedHeader(absl::string_view line) {
  if (!absl::StrContains(line, ",")) return false;
  size_t number = 1;
  std::vector<std::string> headers;
  // A name that goes on in the next line is not closed in this one.
  ReadCsvLine(&line, &number, &headers);
  return IsTimed(ColumnsOf(headers));
}

}  // namespace feedrate
