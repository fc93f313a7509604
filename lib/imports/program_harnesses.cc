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
#include "absl/types/optional.h"
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

// google/benchmark.

namespace {

// A text that lives as long as the file; empty if it is none.
std::string_view TextOf(const element& value) {
  std::string_view text;
  return value.get(text) == simdjson::SUCCESS ? text : std::string_view();
}

// `BM_sort<int>/n:64/threads:2` is the benchmark `BM_sort<int>` with the
// settings n and threads; parts without a name stay in the benchmark's.
void SetGoogleName(absl::string_view run_name, Row* row) {
  std::string* const transform = row->mutable_transform();
  int brackets = 0;
  size_t start = 0;
  for (size_t i = 0; i <= run_name.size(); ++i) {
    const bool at_end = i == run_name.size();
    if (!at_end && run_name[i] == '<') ++brackets;
    if (!at_end && run_name[i] == '>') --brackets;
    if (!at_end && (run_name[i] != '/' || brackets > 0)) continue;
    const absl::string_view part = run_name.substr(start, i - start);
    const size_t colon = part.find(':');
    const bool is_setting =
        start > 0 && colon != absl::string_view::npos && colon > 0 &&
        colon + 1 < part.size() && part[colon + 1] != ':' &&
        row->settings().count(std::string(part.substr(0, colon))) == 0;
    if (is_setting) {
      (*row->mutable_settings())[std::string(part.substr(0, colon))] =
          std::string(part.substr(colon + 1));
    } else {
      absl::StrAppend(transform, start > 0 ? "/" : "", part);
    }
    start = i + 1;
  }
}

std::string GoogleMachine(const object& context, RowSink* sink) {
  double largest = 0;
  for (const object& cache : ObjectItems(context, "caches", sink)) {
    const double size = Number(cache, "size", sink);
    if (size > largest) largest = size;
  }
  const std::string cores = CoresText(Number(context, "num_cpus", sink));
  if (cores.empty()) return "";
  return MachineName(
      {cores, largest > 0 && largest < 1e12
                  ? absl::StrCat(std::floor(largest / 1024), "k-cache")
                  : ""});
}

}  // namespace

absl::Status ReadGoogle(const object& file, RowSink* sink) {
  bool found;
  const object context = ObjectAt(file, "context", &found);
  sink->At("context");
  const std::string machine = found ? GoogleMachine(context, sink) : "";
  const std::string started_at = found ? UtcTime(Text(context, "date")) : "";
  const array benchmarks = ArrayAt(file, "benchmarks", &found);
  if (!found) return sink->Error("", "no list \"benchmarks\"");
  // By the name of the run.
  std::map<std::string, SampleSummary> summaries;
  size_t index = 0;
  for (const element entry : benchmarks) {
    const auto wrong = [&](absl::string_view what) {
      return sink->Error(absl::StrCat("benchmarks[", index, "]"), what);
    };
    object fields;
    if (entry.get(fields) != simdjson::SUCCESS)
      return wrong("is not an object");
    std::string_view name;
    std::string_view run_name;
    std::string_view aggregate;
    std::string_view unit = "ns";
    std::string reason;
    std::string status;
    double real_time = std::nan("");
    double cpu_time = std::nan("");
    double iterations = 0;
    double repetitions = 0;
    Row* const row = sink->Start();
    // One pass over the keys: a lookup of each key would be a pass of its own.
    for (const auto& [key, value] : fields) {
      if (value.is_number()) {
        const double number = NumberOf(value);
        if (key == "real_time") {
          real_time = number;
        } else if (key == "cpu_time") {
          cpu_time = number;
        } else if (key == "iterations") {
          iterations = number;
        } else if (key == "repetitions") {
          repetitions = number;
        } else if (key != "family_index" && key != "repetition_index" &&
                   key != "threads" && key != "per_family_instance_index") {
          AddCounter(absl::string_view(key.data(), key.size()), number, row);
        }
      } else if (key == "real_time" || key == "cpu_time" ||
                 key == "iterations" || key == "repetitions") {
        sink->At(absl::StrCat("benchmarks[", index, "]"));
        NumberOf(value, absl::string_view(key.data(), key.size()), sink);
      } else if (key == "run_name") {
        run_name = TextOf(value);
      } else if (key == "name") {
        name = TextOf(value);
      } else if (key == "time_unit") {
        unit = TextOf(value);
      } else if (key == "aggregate_name") {
        aggregate = TextOf(value);
      } else if (key == "error_occurred" || key == "skipped") {
        if (PlainText(value) == "true" && status != "failed") {
          status = key == "skipped" ? "unsupported" : "failed";
        }
      } else if (key == "error_message" || key == "skip_message") {
        reason = PlainText(value);
      }
    }
    if (run_name.empty()) run_name = name;
    if (run_name.empty()) return wrong("has no \"name\"");
    const absl::string_view label(run_name.data(), run_name.size());
    const auto wrong_here = [&](absl::string_view what) {
      return wrong(absl::StrCat("(", label, ") ", what));
    };
    const double scale = SecondsOf(absl::string_view(unit.data(), unit.size()));
    if (scale == 0 && status.empty()) {
      return wrong_here("has an unknown \"time_unit\"");
    }
    if (!aggregate.empty()) {
      SampleSummary& summary = summaries[std::string(label)];
      summary.set_count(CountOf(repetitions));
      if (!std::isfinite(real_time)) {
        sink->LeaveOut();
      } else if (aggregate == "mean") {
        summary.set_mean_s(real_time * scale);
      } else if (aggregate == "median") {
        summary.set_median_s(real_time * scale);
      } else if (aggregate == "stddev") {
        summary.set_stddev_s(real_time * scale);
      }
    } else {
      SetGoogleName(label, row);
      row->set_machine_profile(machine);
      row->set_started_at(started_at);
      if (!status.empty()) {
        RETURN_IF_ERROR(sink->AddStatus(status, reason));
      } else {
        if (!std::isfinite(real_time))
          return wrong_here("has no \"real_time\"");
        AddCounter("cpu_time_s", cpu_time * scale, row);
        const double seconds = real_time * scale;
        RETURN_IF_ERROR(sink->Add({&seconds, 1}, iterations));
      }
    }
    ++index;
  }
  // Summaries of repetitions that are there are not needed.
  for (const element entry : benchmarks) {
    object fields;
    element aggregate;
    if (summaries.empty()) break;
    if (entry.get(fields) == simdjson::SUCCESS &&
        !Has(fields, "aggregate_name", &aggregate)) {
      summaries.erase(Text(fields, "run_name"));
    }
  }
  for (const auto& [name, summary] : summaries) {
    // Fits of complexity have no time.
    if (summary.mean_s() == 0 && summary.median_s() == 0) continue;
    Row* const row = sink->Start();
    SetGoogleName(name, row);
    row->set_machine_profile(machine);
    row->set_started_at(started_at);
    RETURN_IF_ERROR(sink->AddSummary(summary));
  }
  return absl::OkStatus();
}

// hyperfine: commands are rivals, so a command is what we call a library.
absl::Status ReadHyperfine(const object& file, RowSink* sink) {
  ASSIGN_OR_RETURN(const std::vector<PlacedObject> results,
                   ObjectsAt(file, "results", "", *sink));
  for (const auto& [place, result] : results) {
    const object& fields = result;  // A lambda cannot capture `result`.
    const std::string command = Text(fields, "command");
    if (command.empty()) return sink->Error(place, "has no \"command\"");
    sink->At(place);
    const std::vector<double> times = Numbers(fields, "times", sink);
    const std::vector<double> memory =
        Numbers(fields, "memory_usage_byte", sink);
    const auto start = [&] {
      Row* const row = sink->Start();
      row->set_library(command);
      AddSettings(fields, "parameters", row);
      AddCounter("user_s", Number(fields, "user", sink), row);
      AddCounter("system_s", Number(fields, "system", sink), row);
      return row;
    };
    // Each time is a process of its own.
    for (size_t i = 0; i < times.size(); ++i) {
      Row* const row = start();
      if (i < memory.size() && memory[i] > 0 && memory[i] < 9e15) {
        row->set_rss_peak_bytes(static_cast<int64_t>(memory[i]));
      }
      RETURN_IF_ERROR(sink->Add({&times[i], 1}, 1));
    }
    if (!times.empty()) continue;
    SampleSummary summary;
    summary.set_mean_s(Number(fields, "mean", sink));
    summary.set_median_s(Number(fields, "median", sink));
    summary.set_stddev_s(Number(fields, "stddev", sink));
    start();
    RETURN_IF_ERROR(sink->AddSummary(summary));
  }
  return absl::OkStatus();
}

// JMH: a fork is a process of its own, and its iterations are samples.

namespace {

// Seconds per operation of a score, given a unit such as `ns/op` or `ops/ms`;
// 0 if it is not a time.
double JmhSeconds(double score, absl::string_view unit) {
  if (absl::ConsumeSuffix(&unit, "/op")) return score * SecondsOf(unit);
  if (absl::ConsumePrefix(&unit, "ops/") && score > 0) {
    return SecondsOf(unit) / score;
  }
  return 0;
}

}  // namespace

absl::Status ReadJmh(const array& file, RowSink* sink) {
  ASSIGN_OR_RETURN(const std::vector<PlacedObject> results,
                   ObjectsOf(file, "", *sink));
  for (const auto& [place, result] : results) {
    const object& fields = result;  // A lambda cannot capture `result`.
    const std::string name = Text(fields, "benchmark");
    if (name.empty()) return sink->Error(place, "has no \"benchmark\"");
    bool found;
    const object metric = ObjectAt(fields, "primaryMetric", &found);
    if (!found) return sink->Error(place, "has no object \"primaryMetric\"");
    const std::string unit = Text(metric, "scoreUnit");
    sink->At(place);
    const double score = Number(metric, "score", sink);
    if (JmhSeconds(1, unit) == 0) {
      sink->LeaveOut();
      continue;
    }
    const auto start = [&] {
      Row* const row = sink->Start();
      row->set_transform(name);
      row->set_scope(Text(fields, "mode"));
      row->set_library_version(Text(fields, "jdkVersion"));
      AddSettings(fields, "params", row);
      const double threads = Number(fields, "threads", sink);
      if (threads > 1) {
        (*row->mutable_settings())["threads"] = absl::StrCat(threads);
      }
      for (const auto& [key, value] : FieldsOf(fields, "secondaryMetrics")) {
        object inner;
        if (value.get(inner) == simdjson::SUCCESS) {
          AddCounter(absl::string_view(key.data(), key.size()),
                     Number(inner, "score", sink), row);
        }
      }
    };
    size_t forks = 0;
    for (const element& fork : ItemsOf(metric, "rawData", sink)) {
      std::vector<double> seconds;
      for (const double value : NumbersOf(fork, "rawData", sink)) {
        seconds.push_back(JmhSeconds(value, unit));
      }
      if (seconds.empty()) continue;
      start();
      RETURN_IF_ERROR(sink->Add(seconds, 0));
      ++forks;
    }
    if (forks > 0) continue;
    start();
    SampleSummary summary;
    summary.set_mean_s(JmhSeconds(score, unit));
    RETURN_IF_ERROR(sink->AddSummary(summary));
  }
  return absl::OkStatus();
}

// nvbench.

namespace {

// The value of a summary's data entry; numbers are written as texts.
std::string NvbenchData(const object& summary, absl::string_view name,
                        RowSink* sink) {
  for (const object& fields : ObjectItems(summary, "data", sink)) {
    element value;
    if (Text(fields, "name") == name && Has(fields, "value", &value)) {
      return PlainText(value);
    }
  }
  return "";
}

// The samples in a file beside `json`: 32-bit floats. Absent if it is not
// there.
absl::optional<std::vector<double>> NvbenchSamples(const std::string& json,
                                                   const std::string& file) {
  if (!CheckStaysBelow(file).ok()) return absl::nullopt;
  const std::string path = JoinPath(ParentFolder(json), file);
  if (!PlainFileBytes(path).ok()) return absl::nullopt;
  const absl::StatusOr<std::string> bytes = ReadFile(path);
  if (!bytes.ok()) return absl::nullopt;
  std::vector<double> samples;
  for (size_t at = 0; at + 4 <= bytes->size(); at += 4) {
    float sample;
    std::memcpy(&sample, bytes->data() + at, 4);
    samples.push_back(sample);
  }
  return samples;
}

absl::Status AddNvbenchState(const object& state, const std::string& name,
                             const std::map<double, std::string>& devices,
                             std::set<std::string>* files, RowSink* sink) {
  Row* const row = sink->Start();
  row->set_transform(name);
  row->set_device("cuda");
  sink->At(name);
  const auto device = devices.find(Number(state, "device", sink));
  if (device != devices.end()) {
    row->set_hardware(device->second);
    row->set_machine_profile(MachineName({device->second}));
  }
  for (const object& axis : ObjectItems(state, "axis_values", sink)) {
    element value;
    if (Has(axis, "value", &value)) {
      (*row->mutable_settings())[Text(axis, "name")] = PlainText(value);
    }
  }
  element skipped;
  if (Has(state, "is_skipped", &skipped) && PlainText(skipped) == "true") {
    return sink->AddStatus("unsupported", Text(state, "skip_reason"));
  }
  SampleSummary gpu;
  SampleSummary cpu;
  double gpu_relative = 0;
  double cpu_relative = 0;
  absl::optional<std::vector<double>> samples;
  std::set<std::string> tags;
  for (const object& summary : ObjectItems(state, "summaries", sink)) {
    const std::string tag = Text(summary, "tag");
    if (tag == "nv/json/bin:nv/cold/sample_times" && sink->may_read_files()) {
      const std::string file = NvbenchData(summary, "filename", sink);
      // Else a small file could have a large one read again and again.
      if (!files->insert(file).second) {
        return sink->Error(name, absl::StrCat("two states name ", file));
      }
      samples = NvbenchSamples(sink->name(), file);
    }
    double value;
    const std::string text = NvbenchData(summary, "value", sink);
    if (!absl::SimpleAtod(text, &value)) {
      if (absl::StartsWith(tag, "nv/cold/time/") && !text.empty()) {
        sink->Refuse(
            absl::StrCat(tag, " is \"", text, "\", which is not a number"));
      }
      continue;
    }
    if (!tags.insert(tag).second) {
      sink->Refuse(absl::StrCat(tag, " is there twice; which one counts?"));
    }
    if (tag == "nv/cold/sample_size" && value >= 0 && value < 1e15) {
      gpu.set_count(static_cast<int64_t>(value));
      cpu.set_count(static_cast<int64_t>(value));
    } else if (tag == "nv/cold/time/gpu/mean") {
      gpu.set_mean_s(value);
    } else if (tag == "nv/cold/time/gpu/median") {
      gpu.set_median_s(value);
    } else if (tag == "nv/cold/time/gpu/stdev/relative") {
      gpu_relative = value;
    } else if (tag == "nv/cold/time/cpu/mean") {
      cpu.set_mean_s(value);
    } else if (tag == "nv/cold/time/cpu/stdev/relative") {
      cpu_relative = value;
    } else {
      absl::string_view counter = tag;
      absl::ConsumePrefix(&counter, "nv/");
      std::string name_of(counter);
      for (char& c : name_of) c = c == '/' ? '_' : c;
      AddCounter(name_of, value, row);
    }
  }
  gpu.set_stddev_s(gpu_relative * gpu.mean_s());
  cpu.set_stddev_s(cpu_relative * cpu.mean_s());
  if (gpu.mean_s() > 0) AddCounter("cpu_time_s", cpu.mean_s(), row);
  const int64_t count = samples ? static_cast<int64_t>(samples->size()) : 0;
  if (samples && gpu.count() > 0 && count != gpu.count()) {
    return sink->Error(
        name, absl::StrCat("its file of samples has ", count, " of ",
                           gpu.count(), "; copy that again, or remove it"));
  }
  if (count > 0) return sink->Add(*samples, 0);
  // Benchmarks of the CPU alone have no time of the GPU.
  return sink->AddSummary(gpu.mean_s() > 0 ? gpu : cpu);
}

}  // namespace

absl::Status ReadNvbench(const object& file, RowSink* sink) {
  std::map<double, std::string> devices;
  for (const object& device : ObjectItems(file, "devices", sink)) {
    const double id = Number(device, "id", sink);
    if (std::isfinite(id)) devices[id] = Text(device, "name");
  }
  // With samples.
  std::set<std::string> files;
  ASSIGN_OR_RETURN(const std::vector<PlacedObject> benchmarks,
                   ObjectsAt(file, "benchmarks", "", *sink));
  for (const auto& [place, fields] : benchmarks) {
    const std::string name = Text(fields, "name");
    if (name.empty()) return sink->Error(place, "has no \"name\"");
    sink->At(place);
    for (const object& state : ObjectItems(fields, "states", sink)) {
      RETURN_IF_ERROR(AddNvbenchState(state, name, devices, &files, sink));
    }
  }
  return absl::OkStatus();
}

// criterion.

namespace {

double Estimate(const object& file, absl::string_view key, RowSink* sink) {
  bool found;
  const object estimate = ObjectAt(file, key, &found);
  sink->At(absl::StrCat("estimates.json: ", key));
  return found ? Number(estimate, "point_estimate", sink) : std::nan("");
}

constexpr double kNanosecond = 1e-9;

}  // namespace

absl::Status ReadCriterion(const std::string& path, absl::string_view benchmark,
                           absl::string_view estimates,
                           absl::string_view samples, RowSink* sink) {
  simdjson::dom::parser parser;
  element parsed;
  object fields;
  Row* const row = sink->Start();
  if (!benchmark.empty()) {
    RETURN_IF_ERROR(
        ParseJson(benchmark, *sink, "benchmark.json", &parser, &parsed));
    if (parsed.get(fields) != simdjson::SUCCESS ||
        Text(fields, "group_id").empty()) {
      return sink->Error("benchmark.json", "has no \"group_id\"");
    }
    // A group holds rivals.
    row->set_transform(Text(fields, "group_id"));
    row->set_library(Text(fields, "function_id"));
    const std::string value = Text(fields, "value_str");
    if (!value.empty()) (*row->mutable_settings())["value"] = value;
  } else {
    // TARGET/criterion/GROUP[/FUNCTION][/VALUE]/new
    std::vector<std::string> parts = absl::StrSplit(path, '/');
    if (!parts.empty()) parts.pop_back();
    size_t first = parts.size() - (parts.empty() ? 0 : 1);
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      if (parts[i] == "criterion") first = i + 1;
    }
    const std::string name = absl::StrJoin(
        parts.begin() + static_cast<std::ptrdiff_t>(first), parts.end(), "/");
    row->set_transform(name.empty() ? "benchmark" : name);
  }
  if (!samples.empty()) {
    RETURN_IF_ERROR(ParseJson(samples, *sink, "sample.json", &parser, &parsed));
    if (parsed.get(fields) != simdjson::SUCCESS) {
      return sink->Error("sample.json", "is not an object");
    }
    sink->At("sample.json");
    const std::vector<double> iterations = Numbers(fields, "iters", sink);
    const std::vector<double> times = Numbers(fields, "times", sink);
    RETURN_IF_ERROR(sink->problem());
    if (times.empty() || times.size() != iterations.size()) {
      return sink->Error("sample.json",
                         "\"iters\" and \"times\" are no lists of as many "
                         "numbers");
    }
    std::vector<double> seconds;
    double all = 0;
    for (size_t i = 0; i < times.size(); ++i) {
      seconds.push_back(times[i] * kNanosecond / iterations[i]);
      all += iterations[i];
    }
    return sink->Add(seconds, all);
  }
  RETURN_IF_ERROR(
      ParseJson(estimates, *sink, "estimates.json", &parser, &parsed));
  if (parsed.get(fields) != simdjson::SUCCESS) {
    return sink->Error("estimates.json", "is not an object");
  }
  SampleSummary summary;
  summary.set_mean_s(Estimate(fields, "mean", sink) * kNanosecond);
  summary.set_median_s(Estimate(fields, "median", sink) * kNanosecond);
  const double deviation = Estimate(fields, "std_dev", sink) * kNanosecond;
  summary.set_stddev_s(deviation);
  // The error of the mean tells the number of samples.
  bool found;
  const object mean = ObjectAt(fields, "mean", &found);
  const double error =
      found ? Number(mean, "standard_error", sink) * kNanosecond : 0;
  const double count = deviation / error * deviation / error;
  if (count >= 1.5 && count < 1e9) {
    summary.set_count(static_cast<int64_t>(std::round(count)));
  }
  return sink->AddSummary(summary);
}

}  // namespace feedrate
