// The report on audited trainings: a page for a terminal, HTML, Markdown,
// JUnit.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "lib/audit/history.h"
#include "lib/records/audit_worker.pb.h"
#include "lib/records/loader.pb.h"

namespace feedrate {

// A training at one world size, with the runs behind it.
struct AuditedTraining {
  Audit audit;
  // Without kills, then with them if there were any.
  std::vector<TrainingRun> runs;
};

std::string TrainingText(absl::Span<const AuditedTraining> trainings);
// One line per training for the summary of a CI job, faults below.
std::string TrainingMarkdown(absl::Span<const AuditedTraining> trainings);
// A test case per training and kind.
std::string TrainingJunit(absl::Span<const AuditedTraining> trainings);
// With a picture per run: items over time.
std::string TrainingHtml(const AuditItems& items,
                         absl::Span<const AuditedTraining> trainings);

}  // namespace feedrate
