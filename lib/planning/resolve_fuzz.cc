// Any bytes as a run config, with the real matrix and policy: an error in one
// line, or a config that resolves to itself and jobs that can be planned.
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "lib/catalogue/catalogue.h"
#include "lib/catalogue/published_numbers.h"
#include "lib/config/load.h"
#include "lib/config/run_config.pb.h"
#include "lib/config/text_proto.h"
#include "lib/planning/jobs.h"
#include "lib/planning/plan_summary.h"
#include "lib/planning/resolve.h"

namespace feedrate {
namespace {

// A sweep can ask for billions of jobs; the first show what is wrong.
constexpr int kJobs = 500;

const Catalogue& TheCatalogue() {
  static const auto& catalogue =
      *new absl::StatusOr<Catalogue>(Catalogue::Load("configs"));
  CHECK(catalogue.ok()) << catalogue.status();
  return *catalogue;
}

const PublishedNumbers& ThePublishedNumbers() {
  static const auto& numbers =
      *new absl::StatusOr<PublishedNumbers>(PublishedNumbers::Load("configs"));
  CHECK(numbers.ok()) << numbers.status();
  return *numbers;
}

void CheckError(const absl::Status& status) {
  CHECK(status.code() == absl::StatusCode::kInvalidArgument) << status;
  CHECK(absl::StartsWith(status.message(), "f:")) << status;
}

void PlanJobs(const LoadedConfig& loaded, const RunConfig& config) {
  const CostModel cost(TheCatalogue().policy(), ThePublishedNumbers());
  PlanSummary summary("f", config);
  int jobs = 0;
  PlanOutput output;
  output.job = [&](const Job& job) {
    CHECK_EQ(job.job_id().size(), 16u);
    CHECK_GE(job.cost_s(), 0);
    summary.AddJob(job);
    return ++jobs < kJobs ? absl::OkStatus()
                          : absl::CancelledError("enough jobs");
  };
  output.excluded = [&](const ExcludedCell& cell) {
    CHECK(!cell.reason.empty());
    summary.AddExcluded(cell);
  };
  const absl::Status status = ForEachJob(
      {config, loaded.places, TheCatalogue(), cost, nullptr}, output);
  if (!status.ok() && jobs < kJobs) {
    CHECK_EQ(jobs, 0) << status;
    CheckError(status);
  }
  CHECK(!summary.ToText().empty());
}

void PlanText(absl::string_view text) {
  LoadedConfig loaded;
  loaded.path = "f";
  loaded.places = Places("f");
  if (!ParseTextProto(text, "f", &loaded.config, &loaded.places).ok()) return;
  const absl::StatusOr<RunConfig> config = Resolve(loaded, TheCatalogue());
  if (!config.ok()) return CheckError(config.status());
  LoadedConfig again = loaded;
  again.config = *config;
  const absl::StatusOr<RunConfig> twice = Resolve(again, TheCatalogue());
  CHECK(twice.ok()) << twice.status();
  CHECK_EQ(PrintTextProto(*twice), PrintTextProto(*config));
  PlanJobs(loaded, *config);
}

}  // namespace
}  // namespace feedrate

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  feedrate::PlanText(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
