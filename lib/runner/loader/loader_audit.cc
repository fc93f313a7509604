#include "lib/runner/loader/loader_audit.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "lib/audit/loader_run.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/stopwatch.h"
#include "lib/machine/process_counters.h"
#include "lib/machine/root.h"
#include "lib/records/worker.pb.h"
#include "lib/runner/core/audit.h"
#include "lib/runner/core/job_mode.h"
#include "lib/runner/core/rows.h"
#include "lib/runner/core/run_context.h"
#include "lib/runner/loader/loader_job.h"
#include "lib/worker/child.h"

namespace feedrate {
namespace {

// An audit is not timed, so an epoch may take long before it counts as hung.
constexpr double kPatience = 20;

class LoaderAudit {
 public:
  // All outlive this object.
  LoaderAudit(const RunContext& context, const Job& job,
              const JobPolicy& policy, const LoaderInputs::Input& input)
      : context_(context), job_(job), policy_(policy), input_(input) {}

  absl::Status Run(const LoaderWorkOptions& options, Audit* audit) {
    RETURN_IF_ERROR(SetSpec());
    RETURN_IF_ERROR(AuditEpochs(audit));
    for (const int ranks : {2, 4}) {
      RETURN_IF_ERROR(AuditRanksOf(ranks, audit));
    }
    std::vector<AuditResume> resumes;
    RETURN_IF_ERROR(Interrupt(options.resumes, &resumes));
    JudgeLoader(
        run_, [this](int64_t item) { return NameOfItem(item); }, audit);
    for (size_t r = 0; r < resumes.size(); ++r) {
      if (static_cast<int>(r) == audit->resumes_size()) audit->add_resumes();
      audit->mutable_resumes(static_cast<int>(r))->MergeFrom(resumes[r]);
    }
    if (options.soak_s <= 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(*audit->mutable_growth(), Soak(options.soak_s));
    return absl::OkStatus();
  }

 private:
  using Child = std::unique_ptr<MeasuredChild>;

  absl::Status SetSpec() {
    ASSIGN_OR_RETURN(spec_,
                     LoaderSpecOfInput(context_.catalogue, job_, input_));
    if (!spec_.batch_transform().empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(job_.transform(),
                       " mixes items; audit with a transform that keeps "
                       "colors, such as HorizontalFlip"));
    }
    spec_.set_on_error("fail");
    spec_.set_shuffle(true);
    spec_.set_drop_last(false);
    // As loaders are used in training.
    spec_.set_persistent(spec_.workers() > 0);
    return absl::OkStatus();
  }

  absl::StatusOr<Child> Start(const LoaderSpec& spec) {
    PrepareReply reply;
    ASSIGN_OR_RETURN(Child child,
                     SpawnLoader(context_, job_, spec, input_.fd, &reply));
    version_ = reply.version();
    return child;
  }

  EpochCommand Command(int64_t epoch) const {
    EpochCommand command;
    command.set_seed(SeedOfRun(job_, 0));
    command.set_count(input_.items);
    command.set_ids(true);
    command.set_epoch(epoch);
    return command;
  }

  absl::StatusOr<EpochReply> Take(const EpochCommand& command,
                                  MeasuredChild* child) const {
    return child->Epoch(command, spec_.batch_size(),
                        absl::Seconds(kPatience * policy_.warm_up.hang_s));
  }

  // An epoch of a process that is killed afterwards.
  absl::StatusOr<EpochReply> InNewProcess(const LoaderSpec& spec,
                                          const EpochCommand& command) {
    ASSIGN_OR_RETURN(const Child child, Start(spec));
    return Take(command, child.get());
  }

  // The first epoch of a new process.
  absl::StatusOr<BatchIds> FirstEpoch(const LoaderSpec& spec, uint64_t seed) {
    EpochCommand command = Command(0);
    command.set_seed(seed);
    ASSIGN_OR_RETURN(const EpochReply reply, InNewProcess(spec, command));
    return BatchIdsOf(reply);
  }

  std::string NameOfItem(int64_t item) const {
    // Clips.
    if (input_.files == nullptr && input_.paths != nullptr &&
        item < static_cast<int64_t>(input_.paths->size())) {
      return BaseName((*input_.paths)[item]);
    }
    const bool is_file =
        input_.files != nullptr && input_.files->source != "shards" &&
        item < static_cast<int64_t>(input_.files->files.size());
    return is_file ? BaseName(input_.files->files[item].path)
                   : absl::StrCat("item ", item);
  }

  // Coverage and order.
  absl::Status AuditEpochs(Audit* audit) {
    run_.items = input_.items;
    ASSIGN_OR_RETURN(const Child child, Start(spec_));
    audit->set_library_version(version_);
    for (const int64_t epoch : {0, 1}) {
      ASSIGN_OR_RETURN(const EpochReply reply,
                       Take(Command(epoch), child.get()));
      if (reply.items() > 0 && reply.unreadable() == reply.items()) {
        return absl::FailedPreconditionError(absl::StrCat(
            "no item of ", job_.dataset(), " shows an id after ",
            job_.transform(), "; use --dataset=synthetic:ids and a transform ",
            "that keeps colors, such as HorizontalFlip"));
      }
      run_.epochs.push_back(BatchIdsOf(reply));
    }
    const BatchIds& whole = run_.epochs[0];
    AuditOrder* const order = audit->mutable_order();
    order->set_schedule_sha256(ScheduleSha256(whole));
    order->set_shuffled(IsShuffled(whole));
    order->set_differs_between_epochs(whole != run_.epochs[1]);
    const uint64_t seed = Command(0).seed();
    ASSIGN_OR_RETURN(const BatchIds again, FirstEpoch(spec_, seed));
    order->set_same_for_same_seed(again == whole);
    ASSIGN_OR_RETURN(const BatchIds other, FirstEpoch(spec_, seed + 1));
    order->set_differs_between_seeds(other != whole);
    LoaderSpec workers = spec_;
    workers.set_workers(spec_.workers() == 1 ? 2 : 1);
    workers.set_persistent(true);
    order->set_other_workers(workers.workers());
    ASSIGN_OR_RETURN(const BatchIds elsewhere, FirstEpoch(workers, seed));
    order->set_same_for_other_workers(elsewhere == whole);
    return absl::OkStatus();
  }

  absl::Status AuditRanksOf(int ranks, Audit* audit) {
    std::vector<Child> children;
    std::vector<BatchIds> epochs;
    absl::Status failure;
    for (int rank = 0; rank < ranks && failure.ok(); ++rank) {
      LoaderSpec spec = spec_;
      spec.set_rank(rank);
      spec.set_ranks(ranks);
      absl::StatusOr<Child> child = Start(spec);
      failure = child.status();
      if (failure.ok()) children.push_back(*std::move(child));
    }
    for (const Child& child : children) {
      if (!failure.ok()) break;
      const absl::StatusOr<EpochReply> reply = Take(Command(0), child.get());
      failure = reply.status();
      if (failure.ok()) epochs.push_back(BatchIdsOf(*reply));
    }
    if (absl::IsCancelled(failure)) return failure;
    if (failure.ok()) {
      run_.ranks.push_back(std::move(epochs));
      return absl::OkStatus();
    }
    AuditRanks* const found = audit->add_ranks();
    found->set_ranks(ranks);
    found->set_reason(std::string(failure.message()));
    // A library that has no ranks says so; it does not crash or hang.
    const std::string status = StatusOfFailure(failure);
    if (status != "failed") {
      audit->add_faults(
          absl::StrCat(ranks, " ranks: ", status, ": ", found->reason()));
    }
    return absl::OkStatus();
  }

  // Takes the first epoch in pieces, and says of each resume what it took.
  absl::Status Interrupt(int resumes, std::vector<AuditResume>* found) {
    const BatchIds& whole = run_.epochs[0];
    const std::vector<int64_t> after =
        InterruptionsOf(static_cast<int64_t>(whole.size()), resumes);
    BatchIds all;
    EpochCommand command = Command(0);
    for (size_t piece = 0; piece <= after.size(); ++piece) {
      command.clear_batches();
      if (piece < after.size()) {
        command.set_batches(after[piece] - (piece > 0 ? after[piece - 1] : 0));
      }
      const absl::StatusOr<EpochReply> reply = InNewProcess(spec_, command);
      if (absl::IsCancelled(reply.status())) return reply.status();
      if (!reply.ok()) {
        if (piece == 0) return reply.status();
        found->back().set_reason(std::string(reply.status().message()));
        run_.pieces.clear();
        return absl::OkStatus();
      }
      run_.pieces.push_back(BatchIdsOf(*reply));
      const BatchIds& ids = run_.pieces.back();
      all.insert(all.end(), ids.begin(), ids.end());
      if (piece > 0) {
        const bool is_last = piece == after.size();
        found->back().set_same_batches(
            all.size() <= whole.size() &&
            std::equal(all.begin(), all.end(), whole.begin()) &&
            (!is_last || all.size() == whole.size()));
        found->back().set_first_batch_s(reply->first_batch_s());
        if (is_last) break;
      }
      AuditResume& next = found->emplace_back();
      if (!reply->has_state()) {
        next.set_reason(piece == 0 ? kNoMechanism
                                   : "it saved no state once it was continued");
        run_.pieces.clear();
        return absl::OkStatus();
      }
      next.set_state_bytes(static_cast<int64_t>(reply->state().size()));
      command.set_state(reply->state());
    }
    return absl::OkStatus();
  }

  absl::StatusOr<AuditGrowth> Soak(double soak_s) {
    ASSIGN_OR_RETURN(const Child child, Start(spec_));
    const Stopwatch watch;
    std::vector<double> pss_bytes;
    for (int64_t epoch = 0; epoch == 0 || watch.Seconds() < soak_s; ++epoch) {
      RETURN_IF_ERROR(Take(Command(epoch), child.get()).status());
      const std::optional<int64_t> bytes = TreePssBytes(
          Root(), static_cast<pid_t>(child->server_pid()),
          static_cast<pid_t>(child->pid()), "feedrate-corpus", PssOf::kWritten);
      if (bytes.has_value()) pss_bytes.push_back(static_cast<double>(*bytes));
    }
    return GrowthOf(pss_bytes, watch.Seconds());
  }

  const RunContext& context_;
  const Job& job_;
  const JobPolicy& policy_;
  const LoaderInputs::Input& input_;
  LoaderSpec spec_;
  std::string version_;
  // What it delivered.
  LoaderRun run_;
};

}  // namespace

absl::StatusOr<Audit> AuditLoader(const RunContext& context, const Job& job,
                                  const JobPolicy& policy,
                                  const LoaderInputs::Input& input,
                                  const LoaderWorkOptions& options) {
  Audit audit = StartAudit(job, context.identity.run_id);
  audit.set_num_items(input.items);
  const absl::Status status =
      LoaderAudit(context, job, policy, input).Run(options, &audit);
  if (absl::IsCancelled(status)) return status;
  if (!status.ok()) FailAudit(status, &audit);
  JudgeAudit(&audit);
  return audit;
}

}  // namespace feedrate
