#include "lib/analysis/coverage_plausible.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/analysis/coverage_codes.h"
#include "lib/analysis/coverage_findings.h"
#include "lib/analysis/fingerprint.h"
#include "lib/analysis/planned_jobs.h"
#include "lib/analysis/row_book.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/matrix.pb.h"
#include "lib/config/policy.pb.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

// One measured number.
struct Measured {
  double throughput;
  uint64_t numbers;
  int job;
  int position;  // In the job's runs.
};

bool IsMeasured(const RowBook& book, const RunState& run) {
  return !run.zero && book.Text(run.status) == "ok";
}

std::vector<Measured> AllMeasured(const PlannedJobs& jobs,
                                  const RowBook& book) {
  std::vector<Measured> all;
  for (int job = 0; job < jobs.size(); ++job) {
    const std::vector<RunState>& runs = book.runs(job);
    for (int i = 0; i < runs.size(); ++i) {
      if (!IsMeasured(book, runs[i]) || !jobs.HasRun(job, runs[i].run_index)) {
        continue;
      }
      all.push_back({runs[i].throughput, runs[i].numbers, job, i});
    }
  }
  return all;
}

// Blames each of `group`, naming another one of it.
void BlameGroup(const PlannedJobs& jobs, const RowBook& book,
                const std::vector<Measured>& group,
                std::vector<std::pair<Measured, std::string>>* blamed) {
  for (size_t i = 0; i < group.size(); ++i) {
    const Measured& other = group[i == 0 ? 1 : 0];
    std::string what = absl::StrCat(
        "throughput ", group[i].throughput, " is to the last bit that of ",
        Subject(jobs.Get(other.job)), " run ",
        book.runs(other.job)[other.position].run_index);
    if (group.size() > 2) {
      absl::StrAppend(&what, " and ", group.size() - 2, " more");
    }
    blamed->push_back({group[i], std::move(what)});
  }
}

double Median(std::vector<double> values) {
  const size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + middle, values.end());
  const double upper = values[middle];
  if (values.size() % 2 == 1) return upper;
  return (*std::max_element(values.begin(), values.begin() + middle) + upper) /
         2;
}

// What an image row and its clip row have in common.
uint64_t PairKey(const Job& job, const Scenario& scenario) {
  Fingerprint print;
  print.Add(job.library()).Add(job.transform()).Add(job.mode());
  print.Add(job.scope()).Add(job.device()).Add(job.params_profile());
  return print.Number(scenario.channels()).value();
}

}  // namespace

void FindIdentical(const PlannedJobs& jobs, const RowBook& book,
                   const Catalogue& catalogue, CoverageFindings* findings) {
  std::vector<Measured> all = AllMeasured(jobs, book);
  const bool alone =
      all.size() <= catalogue.policy().coverage().identical_alone_rows();
  const auto key = [alone](const Measured& m) {
    return std::make_tuple(m.throughput, alone ? 0 : m.numbers);
  };
  std::sort(all.begin(), all.end(), [&](const Measured& a, const Measured& b) {
    return std::make_tuple(key(a), a.job, a.position) <
           std::make_tuple(key(b), b.job, b.position);
  });
  std::vector<std::pair<Measured, std::string>> blamed;
  for (size_t start = 0; start < all.size();) {
    size_t end = start + 1;
    while (end < all.size() && key(all[end]) == key(all[start])) ++end;
    if (end - start > 1) {
      BlameGroup(jobs, book, {all.begin() + start, all.begin() + end}, &blamed);
    }
    start = end;
  }
  std::sort(blamed.begin(), blamed.end(), [](const auto& a, const auto& b) {
    return std::make_tuple(a.first.job, a.first.position) <
           std::make_tuple(b.first.job, b.first.position);
  });
  for (const auto& [measured, what] : blamed) {
    const RunState& run = book.runs(measured.job)[measured.position];
    findings->AddRun(CoverageCode::kIdentical, measured.job,
                     jobs.Get(measured.job), run.run_index, book.Place(run),
                     what);
  }
}

void FindFastVideo(const PlannedJobs& jobs, const RowBook& book,
                   const Catalogue& catalogue, CoverageFindings* findings) {
  const double bound = catalogue.policy().coverage().video_over_image();
  if (bound <= 0) return;
  // The fastest median of an image job, by what it shares with a clip job.
  absl::flat_hash_map<uint64_t, double> images;
  std::vector<int> clips;
  for (int i = 0; i < jobs.size(); ++i) {
    if (book.runs(i).empty()) continue;
    const Job job = jobs.Get(i);
    const Scenario* scenario = catalogue.FindScenario(job.scenario());
    if (scenario == nullptr || job.transform().empty()) continue;
    if (scenario->media() == "clip") {
      clips.push_back(i);
      continue;
    }
    std::vector<double> values;
    for (const RunState& run : book.runs(i)) {
      if (IsMeasured(book, run)) values.push_back(run.throughput);
    }
    if (values.empty()) continue;
    double& fastest = images[PairKey(job, *scenario)];
    fastest = std::max(fastest, Median(std::move(values)));
  }
  for (const int i : clips) {
    const Job job = jobs.Get(i);
    const auto image =
        images.find(PairKey(job, *catalogue.FindScenario(job.scenario())));
    if (image == images.end()) continue;
    for (const RunState& run : book.runs(i)) {
      if (!IsMeasured(book, run) || !jobs.HasRun(i, run.run_index)) continue;
      const double ratio = run.throughput / image->second;
      if (ratio <= bound) continue;
      findings->AddRun(
          CoverageCode::kVideoSpeed, i, job, run.run_index, book.Place(run),
          absl::StrFormat("%.4g clips/s are %.3g times the %.4g images/s of "
                          "the same transform; at most %g is believed",
                          run.throughput, ratio, image->second, bound));
    }
  }
}

}  // namespace feedrate
