#include "lib/runner/core/rows.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <random>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/config/run_config.pb.h"
#include "lib/environment/env_record.h"
#include "lib/machine/machine.h"
#include "lib/machine/root.h"
#include "lib/measure/measure_run.h"
#include "lib/measure/subject.h"
#include "lib/records/job_identity.h"
#include "lib/records/json.h"
#include "lib/stats/quantiles.h"

namespace feedrate {

std::string TimeText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

std::string SlurmJobId() {
  const auto text = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  const std::string array = text("SLURM_ARRAY_JOB_ID");
  if (array.empty()) return text("SLURM_JOB_ID");
  return absl::StrCat(array, "_", text("SLURM_ARRAY_TASK_ID"));
}

std::optional<int32_t> UsableCpusOf(const RunIdentity& run,
                                    const std::string& mode) {
  if (mode == "micro" || mode == "decode") return std::nullopt;
  return run.usable_cpus;
}

Row RowOf(const Job& job, const RunIdentity& run, const std::string& unit) {
  Row row = RowOfJob(job);
  row.set_unit(unit);
  const bool on_gpu = job.device() == "cuda" && !run.gpu.empty() &&
                      job.hardware_class() != "host_cpu";
  row.set_hardware(on_gpu ? run.gpu : run.hardware);
  row.set_machine_profile(run.machine_profile);
  row.set_env_id(run.env_id);
  row.set_run_id(run.run_id);
  if (!run.slurm_job_id.empty()) row.set_slurm_job_id(run.slurm_job_id);
  const std::optional<int32_t> cpus = UsableCpusOf(run, job.mode());
  if (cpus.has_value()) row.set_usable_cpus(*cpus);
  return row;
}

// Names the status of a failure that its code does not tell.
constexpr char kStatusPayload[] = "feedrate.row_status";

absl::Status DivergedError(absl::string_view reason) {
  absl::Status failure = absl::UnknownError(reason);
  failure.SetPayload(kStatusPayload, absl::Cord("diverged"));
  return failure;
}

std::string StatusOfFailure(const absl::Status& failure) {
  if (const auto status = failure.GetPayload(kStatusPayload)) {
    return std::string(*status);
  }
  switch (failure.code()) {
    case absl::StatusCode::kAborted:
      return "crashed";
    case absl::StatusCode::kDeadlineExceeded:
      return "timeout";
    case absl::StatusCode::kResourceExhausted:
      return "oom";
    default:
      return "failed";
  }
}

void SetFailure(const absl::Status& failure, Row* row) {
  row->set_status(StatusOfFailure(failure));
  row->set_reason(std::string(failure.message()));
}

void SetSamples(absl::Span<const double> samples, Row* row) {
  row->mutable_samples_s()->Assign(samples.begin(), samples.end());
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  if (sorted.empty()) return;
  row->set_p50_s(SortedQuantile(sorted, 0.5));
  row->set_p90_s(SortedQuantile(sorted, 0.9));
  row->set_p99_s(SortedQuantile(sorted, 0.99));
}

// How often a limit that a row exceeds is measured again.
constexpr int kLimitTries = 3;
// A row that exceeds the limit by at most this factor is explained by noise,
// and its own speed becomes the limit. A row that exceeds it by more did other
// work than the limit measures: the limit stays, and `of_limit` is above 1.
constexpr double kLimitNoise = 1.05;

double LimitFor(double reached, const std::function<double()>& measure,
                std::optional<double>* known) {
  if (!known->has_value()) *known = measure();
  double& limit = known->value();
  for (int i = 0; i < kLimitTries && limit > 0 && reached > limit; ++i) {
    limit = std::max(limit, measure());
  }
  if (reached <= kLimitNoise * limit) limit = std::max(limit, reached);
  return limit;
}

void SetLimit(const std::string& name, double throughput, Row* row) {
  row->mutable_limit()->set_name(name);
  row->mutable_limit()->set_throughput(throughput);
  if (throughput > 0) row->set_of_limit(row->throughput() / throughput);
}

void SetNoise(const FoundNoise& found, Row* row) {
  row->mutable_warnings()->Add(found.warnings.begin(), found.warnings.end());
  if (found.causes.empty()) return;
  row->mutable_noise()->mutable_causes()->Assign(found.causes.begin(),
                                                 found.causes.end());
}

void SetEnergy(const EnergyUse& used, Row* row) {
  if (used.cpu_j.has_value()) row->mutable_energy()->set_cpu_j(*used.cpu_j);
  if (used.gpu_j.has_value()) row->mutable_energy()->set_gpu_j(*used.gpu_j);
}

void SetTiming(const RunResult& result, Row* row) {
  row->set_status("ok");
  row->set_elapsed_s(result.elapsed_s);
  row->set_items(result.timing.items());
  if (result.elapsed_s > 0) {
    row->set_throughput(static_cast<double>(result.timing.items()) /
                        result.elapsed_s);
  }
  SetSamples(result.timing.samples_s(), row);
  row->set_timed_unit(result.chunk == 1 ? "item" : "chunk");
  row->clear_warnings();
  SetNoise(result.noise, row);
  SetEnergy(result.energy, row);
  if (result.core_speed.has_value()) {
    *row->mutable_core_speed() = *result.core_speed;
  }
  if (result.cpu_s) row->mutable_usage()->set_cpu_s(*result.cpu_s);
}

namespace {

absl::Status FileError(const std::string& path, const char* what) {
  return absl::UnavailableError(
      absl::StrCat(path, ": cannot ", what, ": ", strerror(errno)));
}

// The text after the last newline.
absl::StatusOr<std::string> LastLine(int fd, const std::string& path,
                                     int64_t size) {
  constexpr int64_t kBlock = 1 << 16;
  std::string tail;
  int64_t at = size;
  while (at > 0) {
    const int64_t block = std::min(kBlock, at);
    std::string text(block, '\0');
    at -= block;
    if (pread(fd, &text[0], block, at) != block) return FileError(path, "read");
    tail.insert(0, text);
    const size_t newline = tail.rfind('\n');
    if (newline != std::string::npos) return tail.substr(newline + 1);
  }
  return tail;
}

// Makes the file end with a whole line: a last line without newline gets one if
// it is a record, and is cut off with a warning if not.
absl::Status RepairLastLine(
    const std::string& path,
    const std::function<void(const std::string&)>& warn) {
  const UniqueFd fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct stat info;
  if (!fd.valid() || fstat(fd.get(), &info) != 0) {
    return FileError(path, "open");
  }
  if (!S_ISREG(info.st_mode)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string last,
                   LastLine(fd.get(), path, info.st_size));
  if (last.empty()) return absl::OkStatus();
  if (JsonReader().Open(last).ok()) {
    if (pwrite(fd.get(), "\n", 1, info.st_size) != 1) {
      return FileError(path, "write");
    }
    return absl::OkStatus();
  }
  if (warn) {
    warn(absl::StrCat(path, ": cut off a torn last line of ", last.size(),
                      " bytes"));
  }
  if (ftruncate(fd.get(), info.st_size - last.size()) != 0) {
    return FileError(path, "repair");
  }
  return absl::OkStatus();
}

// 32 random hexadecimal digits.
std::string NewRunId() {
  std::random_device random;
  return absl::StrFormat("%08x%08x%08x%08x", random(), random(), random(),
                         random());
}

}  // namespace

absl::StatusOr<std::unique_ptr<RowOutput>> RowOutput::Open(
    const Options& options) {
  std::unique_ptr<RowOutput> output(new RowOutput(options));
  output->is_folder_ =
      IsFolder(options.path) || absl::EndsWith(options.path, "/");
  if (output->is_folder_) {
    RETURN_IF_ERROR(MakeFolder(options.path));
    if (!options.config.empty()) {
      RETURN_IF_ERROR(WriteFileAtomically(
          JoinPath(options.path, kResolvedConfigName), options.config));
    }
  } else {
    // Opened right away, so that a file that cannot be written is noticed now
    // and not after hours.
    RETURN_IF_ERROR(
        output->OpenFile(options.path, &output->files_[options.path]));
  }
  if (!options.batches.empty() && options.batches != options.path) {
    RETURN_IF_ERROR(
        output->OpenFile(options.batches, &output->files_[options.batches]));
  }
  return output;
}

absl::StatusOr<std::vector<std::string>> RowOutput::ExistingFiles() const {
  if (options_.path == "-") return std::vector<std::string>();
  if (!is_folder_) return std::vector<std::string>{options_.path};
  return ListPlainFiles(options_.path, ".jsonl");
}

void RowOutput::SetHead(const Env& env, const Run& run) {
  env_ = env;
  run_ = run;
}

absl::Status RowOutput::OpenFile(const std::string& path, File* file) const {
  if (path == "-" && options_.discard) {
    file->fd.Reset(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return file->fd.valid() ? absl::OkStatus() : FileError(path, "write");
  }
  if (path == "-") {
    file->fd.Reset(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    return file->fd.valid() ? absl::OkStatus() : FileError(path, "write");
  }
  RETURN_IF_ERROR(MakeFolder(ParentFolder(path)));
  file->fd.Reset(
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  struct stat info;
  if (!file->fd.valid() || fstat(file->fd.get(), &info) != 0) {
    return FileError(path, "write");
  }
  if (!S_ISREG(info.st_mode)) return absl::OkStatus();
  // The lock ends with the process. If the file system has no locks, writes
  // without one.
  if (flock(file->fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return absl::UnavailableError(
        absl::StrCat(path, ": another runner writes to it; wait for its end"));
  }
  if (info.st_size == 0) return absl::OkStatus();
  if (options_.resume) return RepairLastLine(path, options_.warn);
  return absl::AlreadyExistsError(absl::StrCat(
      path, ": is there and not empty; --resume carries on with it"));
}

std::string RowOutput::PathOf(const std::string& file) const {
  return is_folder_ ? JoinPath(options_.path, file) : options_.path;
}

absl::StatusOr<RecordWriter*> RowOutput::WriterOf(const std::string& name) {
  return WriterAt(PathOf(name));
}

absl::StatusOr<RecordWriter*> RowOutput::WriterAt(const std::string& path) {
  File& file = files_[path];
  if (!file.fd.valid()) RETURN_IF_ERROR(OpenFile(path, &file));
  if (file.writer == nullptr) {
    auto writer = std::make_unique<RecordWriter>(
        file.fd.get(), path == "-" ? "standard output" : path,
        RecordWriter::Flush::kEachRecord);
    RETURN_IF_ERROR(writer->Write(env_));
    RETURN_IF_ERROR(writer->Write(run_));
    file.writer = std::move(writer);
  }
  return file.writer.get();
}

absl::Status RowOutput::WriteAudit(const Audit& audit,
                                   const std::string& file) {
  ASSIGN_OR_RETURN(RecordWriter* const writer, WriterOf(file));
  return writer->Write(audit);
}

absl::Status RowOutput::WriteText(const std::string& text) {
  const std::string path =
      is_folder_ ? JoinPath(options_.path, "verify.txt") : options_.path;
  File& file = files_[path];
  if (!file.fd.valid()) RETURN_IF_ERROR(OpenFile(path, &file));
  return RecordWriter(file.fd.get(), path, RecordWriter::Flush::kEachRecord)
      .WriteText(text);
}

std::string RowOutput::BatchesBeside(const std::string& rows) {
  if (rows == "-") return rows;
  const std::string usual = JoinPath(ParentFolder(rows), kBatchTimesName);
  if (is_folder_) return usual;
  const std::string own =
      absl::StrCat(absl::StripSuffix(rows, ".jsonl"), ".", kBatchTimesName);
  if (files_.count(own) > 0 || IsFile(own)) return own;
  // The file of another run may be there, or be written now.
  File& file = files_[usual];
  if (file.fd.valid() || OpenFile(usual, &file).ok()) return usual;
  files_.erase(usual);
  return own;
}

absl::Status RowOutput::WriteBatches(const std::vector<Batch>& batches,
                                     const std::string& file) {
  const std::string path =
      options_.batches.empty() ? BatchesBeside(PathOf(file)) : options_.batches;
  ASSIGN_OR_RETURN(RecordWriter* const writer, WriterAt(path));
  std::string text;
  for (const Batch& batch : batches) AppendRecord(batch, &text);
  return writer->WriteText(text);
}

absl::Status RowOutput::Write(const Row& row, const std::string& file) {
  ASSIGN_OR_RETURN(RecordWriter* const writer, WriterOf(file));
  RETURN_IF_ERROR(writer->Write(row));
  if (options_.on_row) options_.on_row(row);
  return absl::OkStatus();
}

RunHead MakeRunHead(const MachineInfo& machine, const RunConfig& config,
                    const std::string& config_text, double copy_bytes_per_s,
                    absl::Time now) {
  RunHead head;
  head.env = EnvRecord(machine, now);
  head.run.set_run_id(NewRunId());
  head.run.set_config(config_text);
  for (const absl::string_view word :
       absl::StrSplit(Root().Read("/proc/self/cmdline").value_or(""), '\0',
                      absl::SkipEmpty())) {
    head.run.add_command(WithoutQueries(word));
  }
  head.run.set_label(config.label());
  head.run.set_note(config.note());
  head.run.set_copy_bytes_per_s(copy_bytes_per_s);
  head.run.set_env_id(head.env.env_id());
  head.run.set_started_at(TimeText(now));
  head.identity.run_id = head.run.run_id();
  head.identity.env_id = head.env.env_id();
  head.identity.slurm_job_id = SlurmJobId();
  head.identity.machine_profile = head.env.machine_profile();
  head.identity.hardware = head.env.cpu().model();
  if (machine.cpu.usable_cores > 0 &&
      machine.cpu.usable_cores < MachineCores(machine)) {
    head.identity.usable_cpus = machine.cpu.usable_cores;
  }
  if (!machine.gpu.gpus.empty()) {
    head.identity.gpu = machine.gpu.gpus[0].name;
    head.identity.gpu_memory_bytes = machine.gpu.gpus[0].memory_bytes;
  }
  return head;
}

}  // namespace feedrate
