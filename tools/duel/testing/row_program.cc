// A program that prints rows of real, timed work, for tests of `duel`.
//
//   row_program [--jobs=FILE] [--slow=NAME:PERCENT] [--crash=NAME]
//               [--names=one,two] [--samples=5] [--work_us=300]
//
// Each job adds numbers for a while. Honors FEEDRATE_SLOWDOWN_PERCENT.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/injected_slowdown.h"
#include "lib/records/job.pb.h"
#include "lib/records/job_identity.h"
#include "lib/records/json.h"
#include "lib/records/row.pb.h"

namespace feedrate {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::vector<std::string> names = {"one", "two", "three"};
  std::string jobs_file;
  std::map<std::string, double> slow_percent;
  std::string crash;
  int samples = 5;
  int work_us = 300;
};

Options Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    if (absl::ConsumePrefix(&arg, "--jobs=")) {
      options.jobs_file = std::string(arg);
    } else if (absl::ConsumePrefix(&arg, "--slow=")) {
      const std::vector<std::string> parts = absl::StrSplit(arg, ':');
      options.slow_percent[parts[0]] = std::atof(parts[1].c_str());
    } else if (absl::ConsumePrefix(&arg, "--crash=")) {
      options.crash = std::string(arg);
    } else if (absl::ConsumePrefix(&arg, "--names=")) {
      options.names = absl::StrSplit(arg, ',');
    } else if (absl::ConsumePrefix(&arg, "--samples=")) {
      options.samples = std::atoi(std::string(arg).c_str());
    } else if (absl::ConsumePrefix(&arg, "--work_us=")) {
      options.work_us = std::atoi(std::string(arg).c_str());
    } else {
      std::cerr << "row_program: " << arg << " is unknown\n";
      std::exit(1);
    }
  }
  return options;
}

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

volatile double sink;

void Work(int64_t rounds) {
  double sum = 1;
  for (int64_t i = 0; i < rounds; ++i) sum += 1 / sum;
  sink = sum;
}

// Rounds that took `work_us` on the machine where this was written. Fixed,
// because rounds calibrated at run time would differ between the two sides.
int64_t RoundsFor(int work_us) { return static_cast<int64_t>(work_us) * 120; }

Row Measure(const std::string& name, const Options& options) {
  Job job;
  job.set_mode("micro");
  job.set_library("test");
  job.set_transform(name);
  job.set_device("cpu");
  Row row;
  row.set_job_id(JobId(job));
  row.set_mode(job.mode());
  row.set_library(job.library());
  row.set_transform(name);
  row.set_device(job.device());
  row.set_status("ok");
  row.set_unit("image");
  row.set_timed_unit("item");
  const InjectedSlowdown all;
  const auto own = options.slow_percent.find(name);
  const InjectedSlowdown slow(own == options.slow_percent.end() ? 0
                                                                : own->second);
  Work(RoundsFor(options.work_us));
  for (int i = 0; i < options.samples; ++i) {
    const Clock::time_point start = Clock::now();
    Work(RoundsFor(options.work_us));
    const double took = Since(start);
    slow.Burn(took);
    all.Burn(took);
    row.add_samples_s(Since(start));
    row.set_elapsed_s(row.elapsed_s() + Since(start));
  }
  row.set_items(options.samples);
  row.set_throughput(options.samples / row.elapsed_s());
  row.set_machine_profile("test");
  return row;
}

std::vector<std::string> WantedNames(const Options& options) {
  if (options.jobs_file.empty()) return options.names;
  std::vector<std::string> names;
  std::ifstream file(options.jobs_file);
  JsonReader reader;
  for (std::string line; std::getline(file, line);) {
    Job job;
    if (reader.Open(line).ok() && reader.Read(&job).ok()) {
      names.push_back(job.transform());
    }
  }
  return names;
}

int Main(int argc, char** argv) {
  const Options options = Parse(argc, argv);
  std::string text;
  for (const std::string& name : WantedNames(options)) {
    if (name == options.crash) std::abort();
    text.clear();
    AppendRecord(Measure(name, options), &text);
    std::cout << text << std::flush;
  }
  return 0;
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) { return feedrate::Main(argc, argv); }
