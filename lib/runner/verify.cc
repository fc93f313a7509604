#include "lib/runner/verify.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/draw/text.h"
#include "lib/records/records.pb.h"
#include "lib/runner/job_run.h"
#include "lib/runner/row_builder.h"
#include "lib/runner/run_context.h"

namespace feedrate {
namespace {

Verification VerificationOf(const Job& job) {
  Verification verification;
  verification.set_scenario(job.scenario());
  verification.set_library(job.library());
  verification.set_transform(job.transform());
  verification.set_params_profile(job.params_profile());
  verification.set_env_set(job.env_set());
  verification.set_device(job.device());
  verification.set_status("ok");
  return verification;
}

void AddOnce(const std::string& name, std::vector<std::string>* names) {
  if (std::find(names->begin(), names->end(), name) == names->end()) {
    names->push_back(name);
  }
}

std::string CellText(const Verification& verification) {
  return verification.status() == "ok" ? verification.equivalence().label()
                                       : verification.status();
}

std::string WhyText(const Verification& verification) {
  const std::string& label = verification.equivalence().label();
  if (verification.status() != "ok") return verification.reason();
  return label == "exact" || label == "equivalent"
             ? ""
             : verification.equivalence().reference();
}

}  // namespace

absl::StatusOr<std::vector<Verification>> VerifyJobs(
    const RunContext& context, const std::vector<Job>& jobs,
    const std::function<void(const Job&)>& begins) {
  std::vector<Verification> verifications;
  for (const Job& job : jobs) {
    begins(job);
    Verification& verification =
        verifications.emplace_back(VerificationOf(job));
    if (job.has_unsupported_reason()) {
      verification.set_status("unsupported");
      verification.set_reason(job.unsupported_reason());
      continue;
    }
    JobRun run(&context, job);
    absl::Status status = run.Prepare();
    if (status.ok()) status = run.CheckEquivalence();
    if (status.code() == absl::StatusCode::kCancelled) return status;
    verification.set_library_version(context.servers->VersionOf(job));
    if (status.ok()) {
      *verification.mutable_equivalence() = run.equivalence();
    } else {
      verification.set_status(StatusOfFailure(status));
      verification.set_reason(std::string(status.message()));
    }
  }
  return verifications;
}

std::string VerificationTable(const std::vector<Verification>& verifications) {
  std::vector<std::string> libraries, transforms;
  std::map<std::pair<std::string, std::string>, const Verification*> cells;
  for (const Verification& verification : verifications) {
    AddOnce(verification.library(), &libraries);
    AddOnce(verification.transform(), &transforms);
    cells[{verification.transform(), verification.library()}] = &verification;
  }
  std::vector<std::string> header = {"transform"};
  header.insert(header.end(), libraries.begin(), libraries.end());
  Table table(header, std::vector<Align>(header.size(), Align::kLeft));
  std::string reasons;
  for (const std::string& transform : transforms) {
    std::vector<std::string> row = {transform};
    for (const std::string& library : libraries) {
      const auto cell = cells.find({transform, library});
      row.push_back(cell == cells.end() ? "–" : CellText(*cell->second));
      const std::string why = cell == cells.end() ? "" : WhyText(*cell->second);
      if (!why.empty()) {
        absl::StrAppend(&reasons, transform, ", ", library, ": ", row.back(),
                        ": ", why, "\n");
      }
    }
    table.AddRow(std::move(row));
  }
  return absl::StrCat(table.ToText(), reasons.empty() ? "" : "\n", reasons);
}

}  // namespace feedrate
