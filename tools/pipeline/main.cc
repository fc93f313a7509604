// Measures loaders: from the source to batches that are ready for training.
//
//   bazel run //tools/pipeline -- --config=$PWD/configs/demo_pipeline.textproto
#include <cstdint>
#include <iostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/tool/exit_code.h"
#include "lib/base/tool/flags.h"
#include "lib/base/tool/tool_main.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/override_flags.h"
#include "lib/records/row.pb.h"
#include "lib/runner/core/job_list.h"
#include "lib/runner/core/run.h"
#include "lib/runner/core/run_flags.h"
#include "lib/runner/data/index_data.h"
#include "lib/runner/data/store_data.h"
#include "lib/runner/loader/audit_flags.h"
#include "lib/runner/loader/loader_report.h"
#include "lib/runner/loader/loader_row.h"
#include "lib/runner/loader/loader_work.h"
#include "lib/storage/object_store.h"

DEFINE_bool(cold, false,
            "drop the files from the page cache before each epoch; rows are "
            "labeled cold if that worked, and partly_cold otherwise");
DEFINE_double(consumer_ms, 0,
              "MS: simulate a training step of this length after each batch, "
              "and report accelerator utilization");
DEFINE_string(on_error, "skip",
              "WORD: what to do with a file that cannot be used: skip it, "
              "count it and list it, or end the epoch {skip|fail}");
DEFINE_string(
    containers, "",
    "LIST: put the images of --dataset into each of these containers, measure "
    "every loader on those that it reads, and print one table; all, or some of "
    "files,shards,tfrecord,parquet,arrays,lmdb,http");
DEFINE_bool(
    diagnose, false,
    "report where the time goes, by running epochs with parts left out");
DEFINE_bool(connection_efficiency, true,
            "for data in a store, also measure a single connection for "
            "comparison, for up to 2 s per job");
DEFINE_string(
    make_index, "",
    "FILE: measure nothing; instead note places inside the JPEG files of "
    "--dataset at which decoding can start, so that loaders read less of them; "
    "what the index has is kept");
DEFINE_string(
    make_shards, "",
    "WHERE: measure nothing; instead pack the images and .npy arrays of "
    "--dataset into tar shards in this folder, s3://BUCKET/PREFIX or "
    "gs://BUCKET/PREFIX, each with an index; shards that a store has are "
    "kept");
DEFINE_string(shard_bytes, "1G", "SIZE: maximum size of a shard");
DEFINE_bool(worker_efficiency, true,
            "also measure a single loader worker for comparison, for up to 2 s "
            "per job");

namespace feedrate {
namespace {

ToolInfo Info() {
  ToolInfo info;
  info.name = "pipeline";
  info.summary =
      "measure loaders, from files to batches that are ready for training";
  info.usage = "[--config=FILE | --jobs=FILE] [flags]";
  info.description =
      "Reads jobs from standard input, --jobs or --config. Writes env, run\n"
      "and row records: images per second from files or memory to batches\n"
      "that are ready for training. The timed epoch includes starting and\n"
      "stopping the loader workers. Every recipe is a crop to 224, the\n"
      "transform, normalization and conversion to float32 CHW. At the end,\n"
      "--sweep prints the best setting, --diagnose prints the bottleneck, and\n"
      "--containers prints a table.\n"
      "--audit checks what loaders deliver instead, and writes audit records;\n"
      "it exits with 3 if a loader has a fault.";
  info.examples = {
      "pipeline --config=configs/native/rgb_pipeline_cpu.textproto "
      "--transforms=HorizontalFlip",
      "pipeline --config=configs/native/rgb_pipeline_cpu.textproto "
      "--transforms=HorizontalFlip --sweep='workers=0,1,2;prefetch=1,2,4'",
      "pipeline --config=configs/native/rgb_pipeline_cpu.textproto "
      "--transforms=HorizontalFlip --diagnose --consumer_ms=50",
      "plan --config=configs/paper/prod_c4_rgb_dataloader_cpu.textproto | "
      "pipeline --dataset=val --output=rows.jsonl",
      "pipeline --config=configs/native/rgb_pipeline_cpu.textproto --verify",
      "pipeline --subject=my_pkg.data:make_loader --workers=2",
      "pipeline --config=configs/native/rgb_pipeline_cpu.textproto "
      "--transforms=HorizontalFlip --dataset=s3://bucket/prefix "
      "--cache_dir=/data/cache --sweep='connections=1,2,4,8,16'",
      "pipeline --config=configs/loaders.textproto --audit --soak=10m",
      "pipeline --config=configs/loaders.textproto --dataset=/data/images "
      "--containers=all --libraries=native,torchdata,webdataset,tfdata",
      "pipeline --make_shards=shards --dataset=s3://bucket/prefix",
      "pipeline --make_shards=s3://bucket/shards --dataset=/data/images",
      "pipeline --make_index=images/feedrate.jpegindex --dataset=images",
  };
  info.flag_files = {"tools/pipeline/main.cc", kAuditFlagsFile, kRunFlagsFile,
                     kStoreFlagsFile, kOverrideFlagsFile};
  return info;
}

// --containers is a sweep over the setting `container`.
absl::Status AddContainers(JobSource* source) {
  if (FLAGS_containers.empty()) return absl::OkStatus();
  if (source->config.empty()) return TooLate("containers");
  const std::vector<std::string> names =
      FLAGS_containers == "all"
          ? ContainerNames()
          : std::vector<std::string>(absl::StrSplit(FLAGS_containers, ','));
  for (const std::string& name : names) {
    RETURN_IF_ERROR(CheckChoice("--containers", name, ContainerNames()));
  }
  const std::string sweep = source->overrides.ValueOr("sweep", "");
  source->overrides.Set("sweep", absl::StrCat(sweep, ";", kContainerSetting,
                                              "=", absl::StrJoin(names, ",")));
  return absl::OkStatus();
}

absl::StatusOr<RunOptions> OptionsFromFlags() {
  ASSIGN_OR_RETURN(RunOptions options, RunOptionsFromFlags("pipeline"));
  RETURN_IF_ERROR(CheckChoice("--on_error", FLAGS_on_error, {"skip", "fail"}));
  if (!(FLAGS_consumer_ms >= 0)) {
    return absl::InvalidArgumentError("--consumer_ms must be at least 0");
  }
  LoaderWorkOptions loader;
  loader.cold = FLAGS_cold;
  options.cold = FLAGS_cold;
  loader.consumer_s = FLAGS_consumer_ms / 1e3;
  loader.on_error = FLAGS_on_error;
  loader.diagnose = FLAGS_diagnose;
  loader.worker_efficiency = FLAGS_worker_efficiency;
  loader.connection_efficiency = FLAGS_connection_efficiency;
  RETURN_IF_ERROR(AddContainers(&options.source));
  RETURN_IF_ERROR(ApplyAuditFlags(&options, &loader));
  ASSIGN_OR_RETURN(options.open_remote, OpenStoresByFlags());
  loader.open_remote = options.open_remote;
  options.modes = {MakeLoaderMode(loader)};
  // With a random crop per item there is nothing to compare.
  Overrides& overrides = options.source.overrides;
  if (options.verify && !options.source.config.empty() &&
      !overrides.Has("params_profile")) {
    overrides.Set("params_profile", "matched");
  }
  return options;
}

// --make_shards or --make_index.
absl::StatusOr<std::string> MakeFromFlags() {
  if (!FLAGS_make_shards.empty() && !FLAGS_make_index.empty()) {
    return absl::InvalidArgumentError(
        "--make_shards and --make_index are two runs");
  }
  ASSIGN_OR_RETURN(StoreSpec store, StoreSpecFromFlags());
  store.url = OverridesFromFlags().ValueOr("dataset", "");
  if (store.url.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        FLAGS_make_index.empty() ? "--make_shards" : "--make_index",
        " needs --dataset=WHERE, a folder or the address of a store"));
  }
  if (!FLAGS_make_index.empty()) return IndexDataset(store, FLAGS_make_index);
  ASSIGN_OR_RETURN(const int64_t shard_bytes,
                   SizeOfFlag("--shard_bytes", FLAGS_shard_bytes, 1));
  return PackDataset(store, FLAGS_make_shards, shard_bytes);
}

absl::StatusOr<ExitCode> RunFromFlags(const std::vector<std::string>&) {
  if (!FLAGS_make_shards.empty() || !FLAGS_make_index.empty()) {
    ASSIGN_OR_RETURN(const std::string summary, MakeFromFlags());
    std::cerr << "pipeline: " << PrintableText(summary) << "\n";
    return ExitCode::kDone;
  }
  ASSIGN_OR_RETURN(RunOptions options, OptionsFromFlags());
  return RunAndSummarize(
      std::move(options),
      // All runs of a job have the same diagnosis.
      [diagnosed = std::set<std::string>()](const Row& row) mutable {
        return absl::StrCat(
            FaultsText(row), StorageText(row),
            diagnosed.insert(row.job_id()).second ? DiagnosisText(row) : "",
            UtilizationText(row));
      },
      [](const std::vector<Row>& rows) {
        const std::string containers = ContainersText(rows);
        return containers.empty() ? SweepSummary(rows) : containers;
      });
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::ToolMain(argc, argv, feedrate::Info(),
                            feedrate::RunFromFlags);
}
