#include "lib/runner/loader_report.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/draw/text.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

std::string NameOf(const Row& row) {
  return absl::StrCat(row.library(), " ", row.transform());
}

std::string SecondsText(double seconds) {
  return absl::StrFormat("%.3f", seconds);
}

std::string StagesText(const LoaderStats& loader) {
  if (loader.stages().empty()) return "";
  Table table({"stage", "busy s", "waits for input s", "waits for room s",
               "queue in use"},
              {Align::kLeft, Align::kRight, Align::kRight, Align::kRight,
               Align::kRight});
  for (const LoaderStage& stage : loader.stages()) {
    table.AddRow({stage.name(), SecondsText(stage.busy_s()),
                  SecondsText(stage.wait_in_s()),
                  SecondsText(stage.wait_out_s()),
                  absl::StrFormat("%.0f%%", 100 * stage.queue_fill())});
  }
  return table.ToText();
}

}  // namespace

std::string DiagnosisText(const Row& row) {
  if (!row.loader().has_diagnosis()) return "";
  const LoaderDiagnosis& diagnosis = row.loader().diagnosis();
  std::string text = absl::StrCat(NameOf(row), "\n", StagesText(row.loader()));
  for (const LoaderAblation& ablation : diagnosis.ablations()) {
    absl::StrAppendFormat(&text, "%s: %.0f items/s\n", ablation.name(),
                          ablation.throughput());
  }
  absl::StrAppend(&text, diagnosis.verdict().empty()
                             ? "no verdict: this loader leaves nothing out\n"
                             : absl::StrCat(diagnosis.verdict(), ": ",
                                            diagnosis.explanation(), "\n"));
  return text;
}

std::string UtilisationText(const Row& row) {
  const LoaderStats& loader = row.loader();
  if (!loader.has_consumer_utilisation()) return "";
  return absl::StrFormat(
      "%s: accelerator utilisation %.1f%% with a step of %.1f ms; MLPerf "
      "Storage passes from %.0f%% on: %s\n",
      NameOf(row), 100 * loader.consumer_utilisation(),
      1e3 * loader.consumer_step_s(), 100 * loader.utilisation_mark(),
      loader.consumer_utilisation() >= loader.utilisation_mark() ? "pass"
                                                                 : "fail");
}

std::string FaultsText(const Row& row) {
  const LoaderStats& loader = row.loader();
  if (loader.errors_total() == 0) return "";
  std::string text =
      absl::StrCat(NameOf(row), ": left out ", loader.errors_total(), " items");
  if (!loader.errors().empty()) {
    const LoaderFault& first = loader.errors(0);
    absl::StrAppend(&text, "; the first: ",
                    first.path().empty() ? absl::StrCat("item ", first.item())
                                         : first.path(),
                    ": ", first.reason());
  }
  return absl::StrCat(text, "\n");
}

}  // namespace feedrate
