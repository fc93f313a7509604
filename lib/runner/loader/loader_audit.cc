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

  absl::Status Run(double soak_s, Audit* audit) {
    RETURN_IF_ERROR(SetSpec());
    RETURN_IF_ERROR(AuditEpochs(audit));
    for (const int ranks : {2, 4}) {
      RETURN_IF_ERROR(AuditRanksOf(ranks, audit));
    }
    ASSIGN_OR_RETURN(*audit->mutable_resume(), AuditOfResume());
    if (soak_s <= 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(*audit->mutable_growth(), Soak(soak_s));
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
    const auto name = [this](int64_t item) { return NameOfItem(item); };
    std::vector<BatchIds> epochs;
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
      epochs.push_back(BatchIdsOf(reply));
      AddCoverage(epochs.back(), input_.items, reply.unreadable(), name,
                  audit->mutable_coverage());
    }
    whole_ = epochs[0];
    AuditOrder* const order = audit->mutable_order();
    order->set_schedule_sha256(ScheduleSha256(whole_));
    order->set_shuffled(IsShuffled(whole_));
    order->set_differs_between_epochs(epochs[0] != epochs[1]);
    const uint64_t seed = Command(0).seed();
    ASSIGN_OR_RETURN(const BatchIds again, FirstEpoch(spec_, seed));
    order->set_same_for_same_seed(again == whole_);
    ASSIGN_OR_RETURN(const BatchIds other, FirstEpoch(spec_, seed + 1));
    order->set_differs_between_seeds(other != whole_);
    LoaderSpec workers = spec_;
    workers.set_workers(spec_.workers() == 1 ? 2 : 1);
    workers.set_persistent(true);
    order->set_other_workers(workers.workers());
    ASSIGN_OR_RETURN(const BatchIds elsewhere, FirstEpoch(workers, seed));
    order->set_same_for_other_workers(elsewhere == whole_);
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
    AuditRanks* const found = audit->add_ranks();
    if (failure.ok()) {
      *found = CompareRanks(epochs, input_.items);
      return absl::OkStatus();
    }
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

  absl::StatusOr<AuditResume> AuditOfResume() {
    EpochCommand command = Command(0);
    command.set_batches(
        std::max<int64_t>(1, static_cast<int64_t>(whole_.size()) / 2));
    ASSIGN_OR_RETURN(const EpochReply before, InNewProcess(spec_, command));
    AuditResume found;
    if (!before.has_state()) {
      found.set_reason(kNoMechanism);
      return found;
    }
    command.clear_batches();
    command.set_state(before.state());
    const absl::StatusOr<EpochReply> after = InNewProcess(spec_, command);
    if (absl::IsCancelled(after.status())) return after.status();
    if (!after.ok()) {
      found.set_reason(std::string(after.status().message()));
      return found;
    }
    found = CompareResumed(BatchIdsOf(before), BatchIdsOf(*after), whole_,
                           input_.items);
    found.set_first_batch_s(after->first_batch_s());
    found.set_state_bytes(static_cast<int64_t>(before.state().size()));
    return found;
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
  // The first epoch.
  BatchIds whole_;
};

}  // namespace

absl::StatusOr<Audit> AuditLoader(const RunContext& context, const Job& job,
                                  const JobPolicy& policy,
                                  const LoaderInputs::Input& input,
                                  double soak_s) {
  Audit audit = StartAudit(job, context.identity.run_id);
  audit.set_num_items(input.items);
  const absl::Status status =
      LoaderAudit(context, job, policy, input).Run(soak_s, &audit);
  if (absl::IsCancelled(status)) return status;
  if (!status.ok()) FailAudit(status, &audit);
  JudgeAudit(&audit);
  return audit;
}

}  // namespace feedrate
