#include "lib/runner/mixture/mixture_work.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "lib/base/status_macros.h"
#include "lib/loader/mixture/dataset_stream.h"
#include "lib/loader/mixture/lerobot.h"
#include "lib/machine/process_counters.h"
#include "lib/machine/root.h"
#include "lib/measure/subject.h"
#include "lib/media/parallel.h"
#include "lib/records/job.pb.h"
#include "lib/records/loader.pb.h"
#include "lib/records/row.pb.h"
#include "lib/records/worker.pb.h"
#include "lib/runner/core/audit.h"
#include "lib/runner/core/job_settings.h"
#include "lib/runner/core/measured_process.h"
#include "lib/runner/core/rows.h"
#include "lib/runner/core/run_context.h"
#include "lib/runner/core/workers.h"
#include "lib/runner/mixture/mixture_row.h"
#include "lib/worker/child.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

// Memory for libraries and threads of a loader, besides its batches.
constexpr int64_t kLoaderBytes = int64_t{512} << 20;
// No working loader needs longer per sample, on average.
constexpr double kSlowestSampleS = 0.05;
// Seconds until a run is under way.
constexpr double kFirstLookS = 0.3;

// Limits of the runs so far, by their samples. A limit takes long, and
// the runs of a round, one per library and metadata, have the same
// samples.
using KnownLimits = std::map<std::string, absl::StatusOr<double>>;

// Every run has its own process, so that each starts from nothing. Its batches
// are written as records before its row.
class MixtureWork : public JobWork {
 public:
  // All outlive this object.
  MixtureWork(const RunContext& context, const Job& job,
              const JobPolicy& policy, const MixtureWorkOptions& options,
              MixtureInputs* inputs, KnownLimits* limits)
      : context_(context),
        job_(job),
        policy_(policy),
        options_(options),
        inputs_(inputs),
        limits_(limits) {}

  absl::StatusOr<int64_t> ExpectedMemory() override;
  absl::Status Prepare() override;
  absl::Status Measure(int run_index, Row* row) override;
  bool alive() const override { return child_ != nullptr && child_->alive(); }
  void End() override;
  std::string timed_unit() const override { return "batch"; }

 private:
  absl::Status GetInput();
  absl::Status MeasureInChild(int run_index, Row* row);
  absl::StatusOr<EpochReply> RunEpoch(uint64_t seed);
  absl::Status WriteBatches(int run_index, std::vector<Batch>* batches);
  // A failed teardown does not invalidate the run.
  absl::Status TearDown(Row* row);
  void AddLeftOut(Row* row) const;
  void AddLimit(int run_index, Row* row) const;

  const RunContext& context_;
  const Job& job_;
  const JobPolicy& policy_;
  const MixtureWorkOptions& options_;
  MixtureInputs* const inputs_;
  KnownLimits* const limits_;
  const MixtureInput* input_ = nullptr;
  MixtureSettingsOfJob settings_;
  std::unique_ptr<MeasuredChild> child_;
  std::unique_ptr<ChildSubject> subject_;
};

absl::Status MixtureWork::GetInput() {
  const TimeAccount::Entry entry(context_.account, Spending::kMedia);
  ASSIGN_OR_RETURN(settings_, ParseMixtureSettings(job_));
  settings_.spec.on_error = options_.on_error;
  ASSIGN_OR_RETURN(input_, inputs_->Get(job_));
  dataset_ = input_->dataset;
  return absl::OkStatus();
}

absl::StatusOr<int64_t> MixtureWork::ExpectedMemory() {
  RETURN_IF_ERROR(GetInput());
  // A process that waits for its turn has no batches yet.
  return kLoaderBytes;
}

absl::Status MixtureWork::Prepare() {
  RETURN_IF_ERROR(GetInput());
  ASSIGN_OR_RETURN(PrepareCommand command,
                   PrepareCommandOfJob(context_.catalogue, job_));
  *command.mutable_mixture() = CommandOf(settings_.spec);
  LibraryServer* server = nullptr;
  {
    const TimeAccount::Entry entry(context_.account, Spending::kImport);
    ASSIGN_OR_RETURN(server, context_.servers->Get(job_));
  }
  const TimeAccount::Entry entry(context_.account, Spending::kPrepare);
  ASSIGN_OR_RETURN(
      child_, MeasuredChild::Spawn(server, job_.library(), input_->list.get(),
                                   context_.limits.memory_bytes));
  ASSIGN_OR_RETURN(const PrepareReply reply,
                   child_->Prepare(command, PrepareLimit(context_)));
  version_ = reply.version();
  subject_ = std::make_unique<ChildSubject>(child_.get(), reply.clock_pair_s(),
                                            EnergyOf(context_, job_));
  return absl::OkStatus();
}

absl::StatusOr<EpochReply> MixtureWork::RunEpoch(uint64_t seed) {
  EpochCommand command;
  command.set_seed(seed);
  command.set_count(settings_.samples());
  const double hang_s =
      context_.limits.hang_s > 0
          ? context_.limits.hang_s
          : policy_.warm_up.hang_s +
                kSlowestSampleS * static_cast<double>(command.count());
  const TimeAccount::Entry entry(context_.account, Spending::kTimed);
  ASSIGN_OR_RETURN(
      EpochReply reply,
      child_->Epoch(command, settings_.spec.batch_size, absl::Seconds(hang_s),
                    static_cast<int64_t>(input_->sources.size())));
  if (reply.items() != command.count()) {
    return absl::UnknownError(absl::StrCat("delivered ", reply.items(),
                                           " samples when asked for ",
                                           command.count()));
  }
  RETURN_IF_ERROR(CheckCounts(reply, input_->sources.size()));
  return reply;
}

absl::Status MixtureWork::WriteBatches(int run_index,
                                       std::vector<Batch>* batches) {
  for (Batch& batch : *batches) {
    batch.set_job_id(job_.job_id());
    batch.set_run_index(run_index);
    batch.set_run_id(context_.identity.run_id);
  }
  return context_.output->WriteBatches(*batches, job_.output());
}

absl::Status MixtureWork::TearDown(Row* row) {
  Mixture* const mixture = row->mutable_mixture();
  const absl::StatusOr<StopReply> stopped =
      child_->Stop(absl::Seconds(options_.teardown_limit_s));
  if (stopped.ok()) {
    mixture->set_teardown_s(stopped->teardown_s());
    return absl::OkStatus();
  }
  if (absl::IsCancelled(stopped.status())) return stopped.status();
  // The child is dead, or refused and will be killed.
  mixture->set_teardown_killed(true);
  mixture->set_teardown_s(options_.teardown_limit_s);
  LoaderFault* const fault = mixture->add_faults();
  fault->set_path("teardown");
  fault->set_reason(std::string(stopped.status().message()));
  return absl::OkStatus();
}

void MixtureWork::AddLeftOut(Row* row) const {
  Mixture* const mixture = row->mutable_mixture();
  for (size_t i = 0; i < input_->left_out.size(); ++i) {
    mixture->add_left_out(input_->left_out[i]);
    mixture->set_skipped(mixture->skipped() + 1);
    LoaderFault* const fault = mixture->add_faults();
    fault->set_path(input_->left_out[i]);
    fault->set_reason(input_->left_out_reasons[i]);
  }
}

void MixtureWork::AddLimit(int run_index, Row* row) const {
  // How fast videos can be decoded depends on the order of frames.
  for (const MixtureSource& source : input_->sources) {
    if (IsLerobotShard(source.shards.empty() ? "" : source.shards[0])) return;
  }
  const MixtureSpec& spec = settings_.spec;
  MixtureLimitOptions options;
  options.seed = SeedOfRun(job_, run_index);
  options.samples = std::min(options.samples, settings_.samples());
  options.threads = UsableProcessors();
  if (spec.decode_parallelism > 0) {
    options.threads = std::min(options.threads, spec.decode_parallelism);
  }
  // Measured next to the first of these runs, so that all see about the same
  // state of the machine.
  std::string key = absl::StrCat(job_.dataset(), " ", options.seed, " ",
                                 options.samples, " ", options.threads);
  for (const auto& [name, value] : std::map<std::string, std::string>(
           job_.settings().begin(), job_.settings().end())) {
    if (name == "metadata" || name == "action_chunk") continue;
    absl::StrAppend(&key, " ", name, "=", value);
  }
  auto known = limits_->find(key);
  if (known == limits_->end()) {
    known =
        limits_
            ->emplace(key, MixtureDecodeLimit(input_->sources, spec, options))
            .first;
  }
  const absl::StatusOr<double>& limit = known->second;
  if (!limit.ok()) {
    LoaderFault* const fault = row->mutable_mixture()->add_faults();
    fault->set_path("jpeg_decode limit");
    fault->set_reason(std::string(limit.status().message()));
  } else if (*limit > 0) {
    SetLimit("jpeg_decode", *limit, row);
  }
}

absl::Status MixtureWork::Measure(int run_index, Row* row) {
  const absl::Status status = MeasureInChild(run_index, row);
  End();
  return status;
}

absl::Status MixtureWork::MeasureInChild(int run_index, Row* row) {
  Cache cache;
  RETURN_IF_ERROR(LookAtPages(input_->paths, options_.cold, &cache));
  const pid_t pid = static_cast<pid_t>(child_->pid());
  const std::optional<ReadBytes> read_before = TreeReadBytes(Root(), pid);
  TreeWatch memory(static_cast<pid_t>(child_->server_pid()), pid, kFirstLookS);
  const NoiseCounters before = subject_->Count();
  ASSIGN_OR_RETURN(const EpochReply reply,
                   RunEpoch(SeedOfRun(job_, run_index)));
  const NoiseCounters after = subject_->Count();
  const std::optional<int64_t> peak_bytes = memory.Stop();
  const std::optional<ReadBytes> read_after = TreeReadBytes(Root(), pid);
  if (read_before.has_value() && read_after.has_value()) {
    cache.set_bytes_read(
        std::max<int64_t>(read_after->device - read_before->device, 0));
  }
  std::vector<Batch> batches =
      BatchesOf(reply, input_->sources, settings_.warmup);
  SetMixture(reply, batches, input_->sources, settings_, row);
  SetCache(cache, options_.cold, row);
  row->mutable_mixture()->set_label(job_.label());
  row->mutable_mixture()->set_note(job_.note());
  SetEnergy(EnergyBetween(before.energy, after.energy), row);
  SetNoise(context_.noise->JudgeLoader(before, after, reply.elapsed_s(),
                                       reply.cpu_s()),
           row);
  if (peak_bytes.has_value()) row->set_rss_peak_bytes(*peak_bytes);
  RETURN_IF_ERROR(WriteBatches(run_index, &batches));
  RETURN_IF_ERROR(TearDown(row));
  AddLeftOut(row);
  AddLimit(run_index, row);
  return absl::OkStatus();
}

void MixtureWork::End() {
  subject_ = nullptr;
  child_ = nullptr;
}

// Streams of a mixture against its weights: ranks, and one that is interrupted.
class MixtureAudit {
 public:
  // All outlive this object.
  MixtureAudit(const RunContext& context, const Job& job,
               const JobPolicy& policy, const MixtureInput& input,
               MixtureSettingsOfJob settings, int resumes)
      : context_(context),
        job_(job),
        policy_(policy),
        input_(input),
        settings_(std::move(settings)),
        resumes_(resumes) {
    // These samples are not drawn.
    settings_.spec.prime_each_dataset_samples = 0;
  }

  absl::Status Run(Audit* audit) {
    constexpr int kRanks = 4;
    std::vector<BatchCounts> first;
    for (int rank = 0; rank < kRanks; ++rank) {
      ASSIGN_OR_RETURN(const EpochReply reply, Take(Command(rank)));
      if (rank == 0) first = {reply.counts().begin(), reply.counts().end()};
      *audit->add_weights() =
          Weights(absl::StrCat("rank ", rank, " of ", kRanks), reply, {});
    }
    audit->set_library_version(version_);
    return Interrupt(first, audit);
  }

 private:
  // Ranks of a mixture are streams with seeds of their own.
  EpochCommand Command(int rank) const {
    EpochCommand command;
    command.set_seed(SeedOfRun(job_, rank));
    command.set_count(settings_.samples());
    command.set_ids(true);
    return command;
  }

  AuditWeights Weights(const std::string& stream, const EpochReply& reply,
                       std::vector<BatchCounts> batches) const {
    batches.insert(batches.end(), reply.counts().begin(), reply.counts().end());
    return WeightsOf(stream, batches, input_.sources,
                     {reply.left_out().begin(), reply.left_out().end()},
                     settings_.spec.mix_block_length);
  }

  // An epoch of a process that is killed afterwards.
  absl::StatusOr<EpochReply> Take(const EpochCommand& command) {
    ASSIGN_OR_RETURN(PrepareCommand prepare,
                     PrepareCommandOfJob(context_.catalogue, job_));
    *prepare.mutable_mixture() = CommandOf(settings_.spec);
    ASSIGN_OR_RETURN(LibraryServer* const server, context_.servers->Get(job_));
    ASSIGN_OR_RETURN(
        const std::unique_ptr<MeasuredChild> child,
        MeasuredChild::Spawn(server, job_.library(), input_.list.get(),
                             context_.limits.memory_bytes));
    ASSIGN_OR_RETURN(const PrepareReply prepared,
                     child->Prepare(prepare, PrepareLimit(context_)));
    version_ = prepared.version();
    ASSIGN_OR_RETURN(
        EpochReply reply,
        child->Epoch(command, settings_.spec.batch_size,
                     absl::Seconds(policy_.warm_up.hang_s +
                                   kSlowestSampleS * command.count()),
                     static_cast<int64_t>(input_.sources.size())));
    RETURN_IF_ERROR(CheckCounts(reply, input_.sources.size()));
    return reply;
  }

  absl::Status Interrupt(const std::vector<BatchCounts>& whole, Audit* audit) {
    EpochCommand command = Command(0);
    const std::vector<int64_t> after =
        InterruptionsOf(static_cast<int64_t>(whole.size()), resumes_);
    command.set_batches(after[0]);
    ASSIGN_OR_RETURN(EpochReply reply, Take(command));
    std::vector<BatchCounts> all = {reply.counts().begin(),
                                    reply.counts().end()};
    for (size_t r = 0; r < after.size(); ++r) {
      AuditResume& resume = *audit->add_resumes();
      if (!reply.has_state()) {
        resume.set_reason(kNoMechanism);
        AuditWeights* const resumed = audit->add_weights();
        resumed->set_stream("resumed");
        resumed->set_reason(resume.reason());
        return absl::OkStatus();
      }
      const bool is_last = r + 1 == after.size();
      command.set_batches(is_last ? 0 : after[r + 1] - after[r]);
      command.set_state(reply.state());
      command.set_count(command.count() - reply.items());
      resume.set_after_batches(after[r]);
      resume.set_state_bytes(static_cast<int64_t>(reply.state().size()));
      ASSIGN_OR_RETURN(reply, Take(command));
      resume.set_first_batch_s(reply.first_batch_s());
      if (is_last) *audit->add_weights() = Weights("resumed", reply, all);
      all.insert(all.end(), reply.counts().begin(), reply.counts().end());
      const auto same = [](const BatchCounts& a, const BatchCounts& b) {
        return std::equal(a.list().begin(), a.list().end(), b.list().begin(),
                          b.list().end());
      };
      resume.set_same_batches(
          all.size() <= whole.size() &&
          (!is_last || all.size() == whole.size()) &&
          std::equal(all.begin(), all.end(), whole.begin(), same));
    }
    return absl::OkStatus();
  }

  const RunContext& context_;
  const Job& job_;
  const JobPolicy& policy_;
  const MixtureInput& input_;
  MixtureSettingsOfJob settings_;
  const int resumes_;
  std::string version_;
};

class MixtureMode : public JobMode {
 public:
  explicit MixtureMode(const MixtureWorkOptions& options) : options_(options) {}

  bool Covers(const Job& job) const override { return IsMixtureJob(job); }
  // The harness adds only two clock readings between batches.
  bool HasNullJob() const override { return false; }
  std::string JobsTitle() const override { return "mixtures"; }
  std::string JobTitle(const Job& job) const override { return job.library(); }
  absl::Status Check(const Catalogue&, const Job& job) override {
    return ParseMixtureSettings(job).status();
  }
  absl::Status LoadInput(const RunInputs& inputs, const Job& job) override {
    if (inputs_ == nullptr) {
      const auto progress = inputs.progress;
      inputs_ = std::make_unique<MixtureInputs>(
          inputs.dataset, options_.on_error,
          [progress](int64_t done, int64_t total) {
            progress("shards", done, total);
          });
    }
    return inputs_->Get(job).status();
  }
  std::unique_ptr<JobWork> MakeWork(const RunContext& context, const Job& job,
                                    const JobPolicy& policy) override {
    return std::make_unique<MixtureWork>(context, job, policy, options_,
                                         inputs_.get(), &limits_);
  }
  absl::StatusOr<Audit> AuditJob(const RunContext& context, const Job& job,
                                 const JobPolicy& policy) override {
    ASSIGN_OR_RETURN(MixtureSettingsOfJob settings, ParseMixtureSettings(job));
    settings.spec.on_error = options_.on_error;
    ASSIGN_OR_RETURN(const MixtureInput* const input, inputs_->Get(job));
    Audit audit = StartAudit(job, context.identity.run_id);
    const absl::Status status =
        MixtureAudit(context, job, policy, *input, std::move(settings),
                     options_.resumes)
            .Run(&audit);
    if (absl::IsCancelled(status)) return status;
    if (!status.ok()) FailAudit(status, &audit);
    JudgeAudit(&audit);
    return audit;
  }

 private:
  const MixtureWorkOptions options_;
  std::unique_ptr<MixtureInputs> inputs_;
  KnownLimits limits_;
};

}  // namespace

std::shared_ptr<JobMode> MakeMixtureMode(const MixtureWorkOptions& options) {
  return std::make_shared<MixtureMode>(options);
}

}  // namespace feedrate
