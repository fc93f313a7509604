// Measures weighted mixtures of many data sets of episodes.
//
//   bazel run //tools/mixture -- --config=$PWD/configs/mixture/demo.textproto
#include <algorithm>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/tool/exit_code.h"
#include "lib/base/tool/flags.h"
#include "lib/base/tool/tool_main.h"
#include "lib/config/override_flags.h"
#include "lib/loader/mixture/mixture_folder.h"
#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"
#include "lib/runner/core/audit.h"
#include "lib/runner/core/run.h"
#include "lib/runner/core/run_flags.h"
#include "lib/runner/data/store_data.h"
#include "lib/runner/mixture/mixture_inputs.h"
#include "lib/runner/mixture/mixture_row.h"
#include "lib/runner/mixture/mixture_work.h"

DEFINE_bool(cold, false,
            "drop the shards from the page cache before each run; rows are "
            "labeled cold if that worked, and partly_cold otherwise");
DEFINE_string(
    on_error, "skip",
    "WORD: what to do with data that cannot be used: skip it, count it and "
    "list it, or fail the run, with the reason in the row; if you do not say "
    "skip, skipped data makes the exit code 3 {skip|fail}");
DEFINE_string(batches, "",
              "FILE: where to write batch records; default: batch_times.jsonl "
              "beside the rows, or standard output if the rows go there");
DEFINE_bool(audit, false,
            "measure nothing; instead check whether the weights are kept, on "
            "each rank and after an interruption; docs/audit.md explains it");
DEFINE_int32(resumes, 1,
             "N: with --audit, how often a stream is interrupted and continued "
             "by its own state, one after the other");
DEFINE_string(import_mixture, "",
              "FILE[:NAME]: measure nothing; instead print mixture.textproto "
              "with the weights of a list of (\"NAME\", WEIGHT) in Python or "
              "JSON, such as octo's OXE_MAGIC_SOUP; with --dataset=FOLDER "
              "only of data sets that have a folder there");
DEFINE_double(teardown_limit, 10,
              "SECONDS: kill a process whose teardown takes longer; the row is "
              "kept and says so");

namespace feedrate {
namespace {

ToolInfo Info() {
  ToolInfo info;
  info.name = "mixture";
  info.summary = "measure weighted mixtures of episode data sets";
  info.usage = "[--config=FILE | --jobs=FILE] [flags]";
  info.description =
      "Reads jobs from standard input, --jobs or --config. Writes env, run,\n"
      "batch and row records: frame pairs per second from many data sets of\n"
      "episodes (TFRecord, RLDS, LeRobot), drawn by weight; what each batch\n"
      "contains; and how far the mixture is from its weights. The settings of\n"
      "a sweep alternate, run by run. Rows with fewer than 160 batches are\n"
      "labeled indicative.";
  info.examples = {
      "mixture --config=configs/mixture/demo.textproto",
      "mixture --config=configs/mixture/demo.textproto "
      "--sweep='metadata=none,full;steps=1200' --num_runs=20 --output=study/",
      "mixture --config=configs/mixture/demo.textproto --dataset=episodes "
      "--on_error=fail",
      "mixture --config=configs/mixture/demo.textproto "
      "--dataset=s3://bucket/episodes --cache_dir=/data/cache",
      "mixture --config=configs/mixture/demo.textproto --audit",
      "mixture --import_mixture=mixes.py:OXE_MAGIC_SOUP --dataset=data/ "
      ">data/mixture.textproto",
      "plan --config=configs/mixture/demo.textproto | mixture",
  };
  info.flag_files = {"tools/mixture/main.cc", kRunFlagsFile, kStoreFlagsFile,
                     kOverrideFlagsFile};
  return info;
}

bool IsDefault(const char* flag) {
  return gflags::GetCommandLineFlagInfoOrDie(flag).is_default;
}

// Rejects flags that every program has but that have no effect here.
absl::Status CheckOverrides(const Overrides& overrides) {
  constexpr char kBatches[] = "--sweep='steps=N' says how many batches";
  constexpr char kNoTransform[] = "there is no transform in it";
  const struct {
    const char* flag;
    bool given;
    const char* instead;
  } unused[] = {
      {"--workers", overrides.Has("workers"),
       "--sweep='decode_parallelism=N' sets its threads"},
      {"--num_items", overrides.Has("num_items"), kBatches},
      {"--min_time", overrides.Has("min_time"), kBatches},
      {"--sample_ratio", overrides.Has("sample_ratio"),
       "weights say how much of each data set there is"},
      {"--transform_set", overrides.Has("transform_set"), kNoTransform},
      {"--params_profile", overrides.Has("params_profile"), kNoTransform},
  };
  for (const auto& one : unused) {
    if (!one.given) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(one.flag, " means nothing for a mixture: ", one.instead));
  }
  return absl::OkStatus();
}

absl::StatusOr<RunOptions> OptionsFromFlags() {
  ASSIGN_OR_RETURN(RunOptions options, RunOptionsFromFlags("mixture"));
  RETURN_IF_ERROR(CheckOverrides(options.source.overrides));
  RETURN_IF_ERROR(CheckChoice("--on_error", FLAGS_on_error, {"skip", "fail"}));
  if (!(FLAGS_teardown_limit > 0)) {
    return absl::InvalidArgumentError("--teardown_limit must be above 0");
  }
  if (options.verify) {
    return absl::InvalidArgumentError(
        "--verify: a mixture has no transform to compare; leave it out");
  }
  ASSIGN_OR_RETURN(options.open_remote, OpenStoresByFlags());
  options.batches = FLAGS_batches;
  MixtureWorkOptions mixture;
  mixture.cold = FLAGS_cold;
  options.cold = FLAGS_cold;
  // What is left out by default is not part of what an audit would judge.
  mixture.on_error =
      FLAGS_audit && IsDefault("on_error") ? "fail" : FLAGS_on_error;
  mixture.teardown_limit_s = FLAGS_teardown_limit;
  RETURN_IF_ERROR(CheckResumes(FLAGS_resumes, FLAGS_audit));
  mixture.resumes = FLAGS_resumes;
  options.modes = {MakeMixtureMode(mixture)};
  options.audit = FLAGS_audit;
  return options;
}

// Prints a list of weights as mixture.textproto.
absl::StatusOr<ExitCode> ImportMixture() {
  // Everything after the last colon is a name, unless the whole is a file.
  std::string path = FLAGS_import_mixture;
  std::string name;
  const size_t colon = path.rfind(':');
  if (!IsFile(path) && colon != std::string::npos) {
    name = path.substr(colon + 1);
    path.resize(colon);
  }
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  const absl::StatusOr<std::vector<DatasetEntry>> entries =
      ParseMixtureList(text, name);
  if (!entries.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", entries.status().message()));
  }
  const Overrides overrides = OverridesFromFlags();
  const std::string folder = overrides.ValueOr("dataset", "");
  std::vector<DatasetEntry> kept;
  for (const DatasetEntry& entry : *entries) {
    if (folder.empty() || IsFolder(JoinPath(folder, entry.name))) {
      kept.push_back(entry);
    } else {
      std::cout << "# not in " << folder << ": " << entry.name << "\n";
    }
  }
  if (kept.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        folder, ": has no folder of a data set that ", path, " names"));
  }
  std::cout << MixtureFileText(kept);
  return ExitCode::kDone;
}

absl::StatusOr<ExitCode> RunFromFlags(const std::vector<std::string>&) {
  if (!FLAGS_import_mixture.empty()) return ImportMixture();
  ASSIGN_OR_RETURN(RunOptions options, OptionsFromFlags());
  std::vector<std::string> job_ids;
  options.on_jobs = [&](const std::vector<Job>& jobs) {
    for (const Job& job : jobs) job_ids.push_back(job.job_id());
  };
  bool has_skipped = false;
  ASSIGN_OR_RETURN(const ExitCode code,
                   RunAndSummarize(std::move(options), MixtureText,
                                   [&](const std::vector<Row>& rows) {
                                     has_skipped = std::any_of(
                                         rows.begin(), rows.end(), HasSkipped);
                                     return MixtureSummary(rows, job_ids);
                                   }));
  if (code != ExitCode::kDone || !has_skipped || !IsDefault("on_error")) {
    return code;
  }
  std::cerr << "mixture: data that cannot be used was skipped; mend it, or use "
               "--on_error=skip to go without it\n";
  return ExitCode::kCheckSaidNo;
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::ToolMain(argc, argv, feedrate::Info(),
                            feedrate::RunFromFlags);
}
