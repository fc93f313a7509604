// Writes plausible rows for the jobs on standard input, for manual and
// end-to-end tests.
//
//   plan --config=F | make_synthetic_rows --seed=7 > rows.jsonl
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gflags/gflags.h"
#include "lib/analysis/testing/synthetic_rows.h"
#include "lib/base/status_macros.h"
#include "lib/base/tool/exit_code.h"
#include "lib/base/tool/tool_info.h"
#include "lib/base/tool/tool_main.h"
#include "lib/records/env.pb.h"
#include "lib/records/job.pb.h"
#include "lib/records/record_io.h"
#include "lib/records/row.pb.h"

DEFINE_uint64(seed, 1, "N: seed for the numbers");
DEFINE_double(noise, 0.02, "X: spread of log throughput between runs");
DEFINE_double(early_stopped, 0.02, "X: fraction of jobs that stop early");
DEFINE_int32(samples, 3, "N: samples per row");

namespace feedrate {
namespace {

absl::StatusOr<ExitCode> RunFromFlags(const std::vector<std::string>&) {
  SyntheticRowOptions options;
  options.seed = FLAGS_seed;
  options.noise = FLAGS_noise;
  options.early_stopped = FLAGS_early_stopped;
  options.samples = FLAGS_samples;
  const SyntheticRows maker(options);
  RecordWriter out(STDOUT_FILENO, "standard output",
                   RecordWriter::Flush::kWhenFull);
  for (const Env& env : maker.Envs()) RETURN_IF_ERROR(out.Write(env));
  for (const Run& run : maker.Runs()) RETURN_IF_ERROR(out.Write(run));
  Job job;
  RecordReader reader(
      [&](absl::string_view record, JsonReader& json) -> absl::Status {
        if (record != "job") return absl::OkStatus();
        RETURN_IF_ERROR(json.Read(&job));
        for (const Row& row : maker.MakeRows(job)) {
          RETURN_IF_ERROR(out.Write(row));
        }
        return absl::OkStatus();
      },
      [](const std::string& text) { std::cerr << text << "\n"; });
  RETURN_IF_ERROR(reader.ReadFile("-"));
  RETURN_IF_ERROR(out.Finish());
  return reader.broken_lines() + reader.torn_lines() == 0
             ? ExitCode::kDone
             : ExitCode::kCallersMistake;
}

ToolInfo Info() {
  ToolInfo info;
  info.name = "make_synthetic_rows";
  info.summary = "write plausible rows for jobs, without running anything";
  info.usage = "[flags] < jobs.jsonl";
  info.description =
      "Reads job records from standard input and writes rows with made-up\n"
      "numbers, for tests of programs that read rows.";
  info.flag_files = {"lib/analysis/testing/synthetic_rows_main.cc"};
  return info;
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::ToolMain(argc, argv, feedrate::Info(),
                            feedrate::RunFromFlags);
}
