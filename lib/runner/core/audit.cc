#include "lib/runner/core/audit.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/text.h"
#include "lib/catalogue/catalogue.h"
#include "lib/draw/text.h"
#include "lib/hash/sha256.h"
#include "lib/records/worker.pb.h"
#include "lib/runner/core/rows.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

// With fewer epochs, loaders of torch that were still warming up looked like
// leaks. Of many epochs, an evenly spread part is used.
constexpr size_t kSoakEpochs = 40;
// Ten epochs each, or more.
constexpr size_t kSoakParts = 4;
constexpr size_t kMostSoakEpochs = 1000;
// A page.
constexpr double kLeakBytes = 4096;
// A mixture that keeps its weights is called wrong once in a thousand times.
constexpr double kWeightsLevel = 0.001;

}  // namespace

BatchIds BatchIdsOf(const EpochReply& reply) {
  BatchIds epoch;
  for (const BatchCounts& batch : reply.ids()) {
    epoch.emplace_back(batch.list().begin(), batch.list().end());
  }
  if (reply.unreadable() > 0) {
    if (epoch.empty()) epoch.emplace_back();
    epoch.back().insert(epoch.back().end(), reply.unreadable(), -1);
  }
  return epoch;
}

std::string ScheduleSha256(const BatchIds& epoch) {
  std::string text;
  for (const std::vector<int64_t>& batch : epoch) {
    absl::StrAppend(&text, absl::StrJoin(batch, " "), "\n");
  }
  return Sha256Hex(text);
}

bool IsShuffled(const BatchIds& epoch) {
  std::vector<int64_t> ids;
  for (const std::vector<int64_t>& batch : epoch) {
    ids.insert(ids.end(), batch.begin(), batch.end());
  }
  return !std::is_sorted(ids.begin(), ids.end());
}

absl::Status CheckResumes(int resumes, bool is_audit) {
  if (resumes < 1 || resumes > 100) {
    return absl::InvalidArgumentError("--resumes must be 1 to 100");
  }
  if (resumes == 1 || is_audit) return absl::OkStatus();
  return absl::InvalidArgumentError("--resumes is a part of --audit; add it");
}

std::vector<int64_t> InterruptionsOf(int64_t batches, int resumes) {
  std::vector<int64_t> after;
  for (int r = 1; r <= resumes; ++r) {
    const int64_t at = std::max<int64_t>(1, batches * r / (resumes + 1));
    if (after.empty() || at > after.back()) after.push_back(at);
  }
  return after;
}

AuditGrowth GrowthOf(absl::Span<const double> pss_bytes, double seconds) {
  AuditGrowth growth;
  growth.set_seconds(seconds);
  growth.set_leak_bytes(kLeakBytes);
  growth.set_verdict("cannot_tell");
  pss_bytes.remove_prefix(
      std::min(pss_bytes.size(), std::max<size_t>(2, pss_bytes.size() / 5)));
  growth.set_epochs(static_cast<int64_t>(pss_bytes.size()));
  if (pss_bytes.size() < kSoakEpochs) return growth;
  growth.set_first_bytes(static_cast<int64_t>(pss_bytes.front()));
  growth.set_last_bytes(static_cast<int64_t>(pss_bytes.back()));
  const size_t step = (pss_bytes.size() - 1) / kMostSoakEpochs + 1;
  std::vector<double> values;
  for (size_t i = 0; i < pss_bytes.size(); i += step) {
    values.push_back(pss_bytes[i] / static_cast<double>(step));
  }
  const Slope all = *SlopeOf(values);
  // A leak grows all the time. Caches and allocators grow in steps, with rests
  // between them.
  double least = all.interval.low;
  for (size_t part = 0; part < kSoakParts; ++part) {
    const size_t begin = values.size() * part / kSoakParts;
    const size_t end = values.size() * (part + 1) / kSoakParts;
    const Slope slope =
        *SlopeOf(absl::MakeSpan(values).subspan(begin, end - begin));
    least = std::min(least, slope.median);
  }
  growth.set_slope_bytes(all.median);
  growth.set_slope_low_bytes(all.interval.low);
  growth.set_slope_high_bytes(all.interval.high);
  growth.set_verdict(least > kLeakBytes ? "leak" : "steady");
  return growth;
}

Audit StartAudit(const Job& job, const std::string& run_id) {
  Audit audit;
  audit.set_job_id(job.job_id());
  audit.set_scenario(job.scenario());
  audit.set_mode(job.mode());
  audit.set_library(job.library());
  audit.set_transform(job.transform());
  audit.set_device(job.device());
  audit.set_num_items(job.num_items());
  audit.set_batch_size(job.batch_size());
  audit.set_workers(job.workers());
  audit.set_dataset(job.dataset());
  audit.set_seed(job.seed());
  audit.set_env_set(job.env_set());
  audit.set_container(ContainerOf(job));
  audit.set_run_id(run_id);
  audit.set_status("ok");
  return audit;
}

void FailAudit(const absl::Status& failure, Audit* audit) {
  audit->set_status(StatusOfFailure(failure));
  audit->set_reason(std::string(failure.message()));
}

namespace {

bool HasEqualBatches(const AuditRanks& ranks) {
  return std::set<int64_t>(ranks.batches().begin(), ranks.batches().end())
             .size() <= 1;
}

void AddResumeFaults(const AuditResume& resume, Audit* audit) {
  if (resume.reason() == kNoMechanism) return;
  // It gave a state, and could not continue with it.
  if (!resume.reason().empty()) {
    audit->add_faults(
        absl::StrCat("its own state cannot be continued: ", resume.reason()));
    return;
  }
  const std::string after =
      absl::StrCat("continued after batch ", resume.after_batches(), ": ");
  // Samples of mixtures have no ids to compare.
  if (audit->mode() == "mixture" && !resume.same_batches()) {
    audit->add_faults(
        absl::StrCat(after, "other batches than without interruption"));
  }
}

}  // namespace

void JudgeAudit(Audit* audit) {
  if (audit->status() != "ok") return;
  if (audit->coverage().unreadable() > 0) {
    audit->add_faults(absl::StrCat(
        Counted(audit->coverage().unreadable(), "item"), " without id in ",
        Counted(audit->coverage().epochs(), "epoch")));
  }
  if (audit->has_order() && !audit->order().same_for_same_seed()) {
    audit->add_faults("the same seed gives another order");
  }
  if (audit->has_order() && !audit->order().differs_between_seeds()) {
    audit->add_faults("another seed gives the same order");
  }
  for (const AuditResume& resume : audit->resumes()) {
    AddResumeFaults(resume, audit);
  }
  if (audit->growth().verdict() == "leak") {
    audit->add_faults(
        absl::StrFormat("memory grows by %.0f kB per epoch [%.0f, %.0f]",
                        audit->growth().slope_bytes() / 1e3,
                        audit->growth().slope_low_bytes() / 1e3,
                        audit->growth().slope_high_bytes() / 1e3));
  }
  for (const AuditWeights& weights : audit->weights()) {
    if (!weights.reason().empty() || weights.p_value() >= kWeightsLevel) {
      continue;
    }
    audit->add_faults(absl::StrFormat(
        "%s: weights are not kept: mixture error %.1f%%, p %.2g",
        weights.stream(), 100 * weights.mixture_error(), weights.p_value()));
  }
  if (!audit->faults().empty()) {
    audit->set_verdict("fail");
  } else if (audit->growth().verdict() == "cannot_tell") {
    audit->set_reason(absl::StrCat(
        audit->growth().epochs(),
        " epochs are too few to say whether memory grows; give --soak longer"));
  } else {
    audit->set_verdict("pass");
  }
}

ExitCode ExitCodeOfAudits(absl::Span<const Audit> audits) {
  bool has_fault = false, has_pass = false, has_failed = false;
  bool cannot_tell = false;
  for (const Audit& audit : audits) {
    has_fault |= audit.verdict() == "fail";
    has_pass |= audit.verdict() == "pass";
    has_failed |= audit.status() != "ok" && audit.status() != "unsupported";
    cannot_tell |= audit.status() == "ok" && audit.verdict().empty();
  }
  if (has_fault) return ExitCode::kCheckSaidNo;
  if (cannot_tell && !has_failed) return ExitCode::kCannotTell;
  return has_pass && !has_failed ? ExitCode::kDone : ExitCode::kRunFailed;
}

namespace {

std::string CoverageCell(const AuditCoverage& coverage) {
  std::vector<std::string> parts;
  if (coverage.missing() > 0) {
    parts.push_back(absl::StrCat(coverage.missing(), " missing"));
  }
  if (coverage.duplicates() > 0) {
    parts.push_back(absl::StrCat(coverage.duplicates(), " too many"));
  }
  if (coverage.unreadable() > 0) {
    parts.push_back(absl::StrCat(coverage.unreadable(), " without id"));
  }
  return parts.empty() ? "yes" : absl::StrJoin(parts, ", ");
}

std::string OrderCell(const AuditOrder& order) {
  if (!order.shuffled()) return "not shuffled";
  if (!order.same_for_same_seed()) return "not repeatable";
  if (!order.differs_between_seeds()) return "ignores the seed";
  return order.differs_between_epochs() ? "new each epoch, repeatable"
                                        : "same each epoch";
}

std::string RanksCell(const Audit& audit) {
  std::vector<std::string> parts;
  for (const AuditRanks& ranks : audit.ranks()) {
    if (!ranks.reason().empty()) {
      parts.push_back("not done");
      break;
    }
    std::vector<std::string> faults;
    if (!HasEqualBatches(ranks)) faults.push_back("unequal batches");
    if (ranks.shared_items() > 0) {
      faults.push_back(absl::StrCat(ranks.shared_items(), " shared"));
    }
    if (ranks.missing() > 0) {
      faults.push_back(absl::StrCat(ranks.missing(), " missing"));
    }
    if (ranks.duplicates() > 0) {
      faults.push_back(absl::StrCat(ranks.duplicates(), " too many"));
    }
    parts.push_back(absl::StrCat(
        ranks.ranks(), ": ",
        faults.empty() ? "disjoint, equal" : absl::StrJoin(faults, ", ")));
  }
  return absl::StrJoin(parts, "; ");
}

std::string ResumeCell(const Audit& audit) {
  int64_t lost = 0, repeated = 0;
  bool is_exact = true;
  for (const AuditResume& resume : audit.resumes()) {
    if (!resume.reason().empty()) return resume.reason();
    lost += resume.lost();
    repeated += resume.repeated_items();
    is_exact = is_exact && resume.same_batches();
  }
  if (audit.resumes().empty()) return "";
  const std::string what =
      lost + repeated > 0 ? absl::StrCat(lost, " lost, ", repeated, " repeated")
      : is_exact          ? "exact"
                          : "all items";
  return absl::StrFormat("%s, %.2f s", what, audit.resumes(0).first_batch_s());
}

std::string GrowthCell(const Audit& audit) {
  if (!audit.has_growth()) return "";
  const AuditGrowth& growth = audit.growth();
  if (growth.verdict() == "cannot_tell") return "too few epochs";
  return absl::StrFormat("%s, %.1f kB per epoch [%.1f, %.1f]", growth.verdict(),
                         growth.slope_bytes() / 1e3,
                         growth.slope_low_bytes() / 1e3,
                         growth.slope_high_bytes() / 1e3);
}

std::string LoaderTable(absl::Span<const Audit> audits) {
  Table table({"loader", "version", "verdict", "exactly once", "order",
               "any workers", "ranks", "resume", "growth"},
              std::vector<Align>(9, Align::kLeft));
  for (const Audit& audit : audits) {
    if (audit.mode() == "mixture") continue;
    const bool ok = audit.status() == "ok";
    std::vector<std::string> cells(9);
    cells[0] =
        absl::StrCat(audit.library(), audit.container().empty() ? "" : " on ",
                     audit.container());
    cells[1] = audit.library_version();
    cells[2] = !ok                       ? audit.status()
               : audit.verdict().empty() ? "cannot tell"
                                         : audit.verdict();
    if (ok) {
      cells[3] = CoverageCell(audit.coverage());
      cells[4] = OrderCell(audit.order());
      cells[5] = audit.order().same_for_other_workers() ? "same batches"
                                                        : "other batches";
      cells[6] = RanksCell(audit);
      cells[7] = ResumeCell(audit);
      cells[8] = GrowthCell(audit);
    }
    table.AddRow(std::move(cells));
  }
  return table.empty() ? "" : table.ToText();
}

std::string WeightsTable(absl::Span<const Audit> audits) {
  Table table({"loader", "verdict", "stream", "draws", "mixture error", "p"},
              {Align::kLeft, Align::kLeft, Align::kLeft, Align::kRight,
               Align::kRight, Align::kRight});
  for (const Audit& audit : audits) {
    for (const AuditWeights& weights : audit.weights()) {
      if (!weights.reason().empty()) {
        table.AddRow({audit.library(), audit.verdict(),
                      absl::StrCat(weights.stream(), ": ", weights.reason()),
                      "", "", ""});
        continue;
      }
      table.AddRow({audit.library(), audit.verdict(), weights.stream(),
                    absl::StrCat(weights.draws()),
                    absl::StrFormat("%.1f%%", 100 * weights.mixture_error()),
                    absl::StrFormat("%.3f", weights.p_value())});
    }
  }
  return table.empty() ? "" : table.ToText();
}

}  // namespace

std::string AuditTable(absl::Span<const Audit> audits) {
  std::string text = absl::StrCat(LoaderTable(audits), WeightsTable(audits));
  for (const Audit& audit : audits) {
    const std::string name =
        absl::StrCat(audit.library(), ", ", audit.transform(), ": ");
    if (audit.status() != "ok") {
      absl::StrAppend(&text, name, audit.status(), ": ", audit.reason(), "\n");
    } else if (audit.verdict().empty()) {
      absl::StrAppend(&text, name, audit.reason(), "\n");
    }
    for (const std::string& fault : audit.faults()) {
      absl::StrAppend(&text, name, fault, "\n");
    }
    for (const AuditRanks& ranks : audit.ranks()) {
      if (ranks.reason().empty()) continue;
      absl::StrAppend(&text, name, ranks.ranks(), " ranks: ", ranks.reason(),
                      "\n");
      break;
    }
  }
  return PrintableLines(text);
}

}  // namespace feedrate
