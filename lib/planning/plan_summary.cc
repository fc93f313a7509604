#include "lib/planning/plan_summary.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/draw/text.h"

namespace feedrate {
namespace {

// More names of one kind are counted, not listed.
constexpr size_t kListed = 8;
// Seconds. Nobody waits for it, and digits would only push columns apart.
constexpr double kForever = 1e9;

std::string Listed(const std::vector<std::string>& names) {
  if (names.size() <= kListed) return absl::StrJoin(names, ", ");
  const std::vector<std::string> first(names.begin(), names.begin() + kListed);
  return absl::StrCat(absl::StrJoin(first, ", "), " and ",
                      names.size() - kListed, " more");
}

}  // namespace

std::string DurationText(double seconds) {
  if (!(seconds < kForever)) return "over 30 years";
  const int64_t whole = std::llround(seconds);
  if (whole < 60) return absl::StrCat(whole, " s");
  if (whole < 3600) return absl::StrFormat("%d:%02d", whole / 60, whole % 60);
  return absl::StrFormat("%d:%02d:%02d", whole / 3600, whole / 60 % 60,
                         whole % 60);
}

void PlanSummary::Reasons::Add(const std::string& reason,
                               const std::string& cell) {
  auto [entry, is_new] = cells.try_emplace(reason);
  if (is_new) order.push_back(reason);
  entry->second.push_back(cell);
}

std::string PlanSummary::Reasons::ToText() const {
  Table table({"reason", "cells", "which"},
              {Align::kLeft, Align::kRight, Align::kLeft});
  for (const std::string& reason : order) {
    const std::vector<std::string>& which = cells.at(reason);
    table.AddRow({reason, absl::StrCat(which.size()), Listed(which)});
  }
  return table.ToText();
}

PlanSummary::PlanSummary(std::string config_path, const RunConfig& resolved)
    : config_path_(std::move(config_path)), config_(resolved) {
  for (const std::string& library : resolved.selection().libraries()) {
    library_order_.push_back(library);
    libraries_[library];
  }
}

void PlanSummary::AddJob(const Job& job) {
  LibraryTotals& totals = libraries_[job.library()];
  ++totals.jobs;
  totals.runs += job.run_indexes_size();
  totals.cost_s += job.cost_s();
  if (!job.cost_basis().empty()) ++bases_[job.cost_basis()];
  totals.devices.insert(job.device());
  totals.labels.insert(job.labels().begin(), job.labels().end());
  auto [file, is_new] = files_.try_emplace(job.output(), 0);
  if (is_new) file_order_.push_back(job.output());
  ++file->second;
  if (!job.has_unsupported_reason()) return;
  ++totals.unsupported;
  unsupported_.Add(job.unsupported_reason(),
                   absl::StrCat(job.library(), " ", job.transform()));
}

void PlanSummary::AddExcluded(const ExcludedCell& cell) {
  excluded_.Add(cell.reason, absl::StrCat(cell.library, " ", cell.transform));
}

void PlanSummary::AddDone(const Job&) { ++done_; }

std::string PlanSummary::Title() const {
  const Selection& selection = config_.selection();
  const Execution& execution = config_.execution();
  std::string text = absl::StrCat(config_path_, "\n", selection.scenario(), " ",
                                  selection.mode(), " (", execution.scope(),
                                  ") on ", execution.device(), ", ");
  if (config_.data().has_num_items()) {
    absl::StrAppend(&text, config_.data().num_items(), " items of ");
  } else {
    absl::StrAppend(&text, "all of ");
  }
  absl::StrAppend(&text, config_.data().id());
  if (execution.has_batch_size()) {
    absl::StrAppend(&text, ", batch ", execution.batch_size(), ", ",
                    execution.workers(), " workers");
  }
  absl::StrAppend(&text, ", ", execution.num_runs(),
                  execution.num_runs() == 1 ? " run, " : " runs, ",
                  execution.thread_policy(), ", parameters ",
                  selection.params_profile(), ", versions ",
                  selection.env_set(), "\n");
  for (const SweepAxis& axis : config_.sweep()) {
    absl::StrAppend(&text, "sweep ", axis.name(), " over ",
                    absl::StrJoin(axis.values(), ", "), "\n");
  }
  return text;
}

std::string PlanSummary::LibraryTable() const {
  Table table({"library", "device", "jobs", "runs", "unsupported", "estimate",
               "labels"},
              {Align::kLeft, Align::kLeft, Align::kRight, Align::kRight,
               Align::kRight, Align::kRight, Align::kLeft});
  LibraryTotals all;
  for (const std::string& name : library_order_) {
    const LibraryTotals& totals = libraries_.at(name);
    table.AddRow({name, absl::StrJoin(totals.devices, " "),
                  absl::StrCat(totals.jobs), absl::StrCat(totals.runs),
                  absl::StrCat(totals.unsupported), DurationText(totals.cost_s),
                  absl::StrJoin(totals.labels, " ")});
    all.jobs += totals.jobs;
    all.runs += totals.runs;
    all.unsupported += totals.unsupported;
    all.cost_s += totals.cost_s;
  }
  table.AddRule();
  table.AddRow({"all", "", absl::StrCat(all.jobs), absl::StrCat(all.runs),
                absl::StrCat(all.unsupported), DurationText(all.cost_s), ""});
  return table.ToText();
}

std::string PlanSummary::BasisText() const {
  std::vector<std::string> parts;
  for (const auto& [basis, words] :
       {std::make_pair("rows", "measured rows"),
        std::make_pair("published", "published numbers"),
        std::make_pair("default", "the policy's defaults")}) {
    const auto found = bases_.find(basis);
    if (found == bases_.end()) continue;
    parts.push_back(absl::StrCat(words, " (", found->second,
                                 found->second == 1 ? " job)" : " jobs)"));
  }
  if (parts.empty()) return "";
  return absl::StrCat("The estimates rest on ", absl::StrJoin(parts, ", "),
                      bases_.count("rows") > 0
                          ? ".\n"
                          : "; --rows=FILE uses rows of earlier runs.\n");
}

std::string PlanSummary::ToText() const {
  std::string text = absl::StrCat(Title(), "\n", LibraryTable(), BasisText());
  if (!needs_.cpus_basis.empty()) {
    absl::StrAppend(&text, "The machine needs ", needs_.ToText(), ".\n");
  }
  if (done_ > 0) {
    absl::StrAppend(&text, "\n", done_,
                    done_ == 1 ? " job has all its runs already and is"
                               : " jobs have all their runs already and are",
                    " left out.\n");
  }
  if (!file_order_.empty()) {
    Table files({"expected file", "jobs"}, {Align::kLeft, Align::kRight});
    const std::string& folder = config_.output().path();
    for (const std::string& file : file_order_) {
      files.AddRow(
          {folder == "-"
               ? file
               : absl::StrCat(folder, folder.back() == '/' ? "" : "/", file),
           absl::StrCat(files_.at(file))});
    }
    absl::StrAppend(&text, "\n", files.ToText());
  }
  if (!excluded_.order.empty()) {
    absl::StrAppend(&text, "\nLeft out, no job:\n", excluded_.ToText());
  }
  if (!unsupported_.order.empty()) {
    absl::StrAppend(&text, "\nUnsupported, a job that is answered at once:\n",
                    unsupported_.ToText());
  }
  return text;
}

}  // namespace feedrate
