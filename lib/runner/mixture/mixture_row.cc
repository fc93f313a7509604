#include "lib/runner/mixture/mixture_row.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "lib/planning/variants.h"
#include "lib/records/fields.h"
#include "lib/runner/core/rows.h"
#include "lib/stats/quantiles.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

constexpr char kIndicative[] = "indicative";
constexpr char kSkippedFiles[] = "skipped_files";

// What the measured batches contain of each source, in the order of the
// sources.
struct Totals {
  std::vector<int64_t> samples;
  std::vector<int64_t> dominated;
  std::vector<double> stall_s;
  int64_t all = 0;
  int64_t switches = 0;
};

size_t IndexOf(const std::vector<MixtureSource>& sources,
               const std::string& name) {
  size_t at = 0;
  while (sources[at].name != name) ++at;
  return at;
}

Totals AddUp(const std::vector<Batch>& batches,
             const std::vector<MixtureSource>& sources) {
  Totals totals;
  totals.samples.resize(sources.size());
  totals.dominated.resize(sources.size());
  totals.stall_s.resize(sources.size());
  const Batch* before = nullptr;
  for (const Batch& batch : batches) {
    if (batch.warmup()) continue;
    for (const BatchCount& count : batch.counts()) {
      totals.samples[IndexOf(sources, count.dataset())] += count.samples();
      totals.all += count.samples();
    }
    const size_t dominant = IndexOf(sources, batch.dominant());
    ++totals.dominated[dominant];
    totals.stall_s[dominant] += batch.wait_s();
    totals.switches +=
        before != nullptr && before->dominant() != batch.dominant();
    before = &batch;
  }
  return totals;
}

// Where frames come from, and what records do not have.
void AddNames(const MixtureSource& source, const std::string& metadata,
              MixtureDataset* share) {
  if (source.image != MixtureSource().image) share->set_image(source.image);
  if (metadata != "full") return;
  if (source.action.empty()) share->add_filled("action");
  if (source.state.empty()) share->add_filled("state");
  if (source.instruction.empty()) share->add_filled("instruction");
  if (source.episode_id.empty()) share->add_filled("episode_id");
}

void SetShares(const EpochReply& reply, const Totals& totals,
               const std::vector<MixtureSource>& sources, Mixture* mixture) {
  const std::set<std::string> left_out(reply.left_out().begin(),
                                       reply.left_out().end());
  double weights = 0;
  for (const MixtureSource& source : sources) {
    if (left_out.count(source.name) == 0) weights += source.weight;
  }
  double distance = 0;
  int64_t unique = 0;
  for (size_t i = 0; i < sources.size(); ++i) {
    if (left_out.count(sources[i].name) > 0) continue;
    MixtureDataset* const share = mixture->add_shares();
    share->set_dataset(sources[i].name);
    share->set_weight_share(sources[i].weight / weights);
    share->set_sample_share(static_cast<double>(totals.samples[i]) /
                            static_cast<double>(totals.all));
    share->set_stall_s(totals.stall_s[i]);
    share->set_samples(totals.samples[i]);
    share->set_dominated(totals.dominated[i]);
    AddNames(sources[i], mixture->metadata(), share);
    distance += std::abs(share->sample_share() - share->weight_share());
    unique += totals.dominated[i] > 0;
  }
  mixture->set_mixture_error(distance / 2);
  mixture->set_unique_dominant(unique);
  mixture->set_datasets(mixture->shares_size());
}

// Some reasons name the file themselves.
std::string FaultText(const LoaderFault& fault) {
  if (absl::StrContains(fault.reason(), fault.path())) return fault.reason();
  return absl::StrCat(fault.path(), ": ", fault.reason());
}

// What could not be used, with the first of it.
std::string SkippedText(const Mixture& mixture) {
  std::string text =
      absl::StrCat(mixture.skipped(), " skipped over all passes");
  if (mixture.faults_size() > 0) {
    absl::StrAppend(&text, ", the first: ", FaultText(mixture.faults(0)));
  }
  return text;
}

}  // namespace

bool HasSkipped(const Row& row) {
  return std::count(row.labels().begin(), row.labels().end(), kSkippedFiles) >
         0;
}

absl::Status CheckCounts(const EpochReply& reply, size_t sources) {
  int64_t items = 0;
  for (const BatchCounts& batch : reply.counts()) {
    int64_t samples = 0;
    for (int i = 0; i + 1 < batch.list_size(); i += 2) {
      if (batch.list(i) >= static_cast<int64_t>(sources)) {
        return absl::DataLossError(absl::StrCat(
            "counted samples of data set ", batch.list(i), " of ", sources));
      }
      samples += batch.list(i + 1);
    }
    if (samples == 0) {
      return absl::DataLossError("counted no sample in a batch");
    }
    items += samples;
  }
  if (items == reply.items() && reply.counts_size() == reply.batches()) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat(
      "counted ", items, " samples in ", reply.counts_size(), " of ",
      reply.batches(), " batches with ", reply.items(), " items"));
}

std::vector<Batch> BatchesOf(const EpochReply& reply,
                             const std::vector<MixtureSource>& sources,
                             int64_t warmup) {
  std::vector<Batch> batches;
  std::vector<bool> seen(sources.size());
  for (int i = 0; i < reply.counts_size(); ++i) {
    Batch& batch = batches.emplace_back();
    batch.set_batch_index(i);
    batch.set_time_s(reply.times_s(i));
    batch.set_wait_s(reply.samples_s(i));
    batch.set_warmup(i < warmup);
    std::vector<int64_t> samples(sources.size());
    const auto& counts = reply.counts(i).list();
    for (int j = 0; j + 1 < counts.size(); j += 2) {
      samples[counts[j]] += counts[j + 1];
    }
    for (size_t j = 0; j < samples.size(); ++j) {
      if (samples[j] == 0) continue;
      BatchCount* const count = batch.add_counts();
      count->set_dataset(sources[j].name);
      count->set_samples(samples[j]);
      batch.set_items(batch.items() + samples[j]);
      if (!seen[j]) batch.add_first_seen(sources[j].name);
      seen[j] = true;
    }
    // The first one with the largest count.
    const auto most = std::max_element(samples.begin(), samples.end());
    batch.set_dominant(sources[most - samples.begin()].name);
  }
  return batches;
}

void SetMixture(const EpochReply& reply, const std::vector<Batch>& batches,
                const std::vector<MixtureSource>& sources,
                const MixtureSettingsOfJob& settings, Row* row) {
  const absl::Span<const double> times_s = reply.times_s();
  const auto warmup = static_cast<size_t>(settings.warmup);
  const size_t measured = batches.size() - warmup;
  std::vector<double> intervals;
  for (size_t i = warmup; i < batches.size(); ++i) {
    const double before = i == 0 ? 0 : times_s[i - 1];
    intervals.push_back(times_s[i] - before);
  }
  const double elapsed_s =
      times_s[batches.size() - 1] - (warmup == 0 ? 0 : times_s[warmup - 1]);
  const Totals totals = AddUp(batches, sources);
  row->set_status("ok");
  row->set_unit("sample");
  row->set_timed_unit("batch");
  row->set_elapsed_s(elapsed_s);
  row->set_items(totals.all);
  SetSamples(intervals, row);
  Mixture* const mixture = row->mutable_mixture();
  AddSameFields(reply, mixture);
  if (elapsed_s > 0) {
    row->set_throughput(static_cast<double>(totals.all) / elapsed_s);
    mixture->set_batches_per_s(static_cast<double>(measured) / elapsed_s);
  }
  mixture->set_samples_per_s(row->throughput());
  mixture->set_batches(static_cast<int64_t>(measured));
  mixture->set_warmup_batches(settings.warmup);
  mixture->set_batch_p50_s(row->p50_s());
  mixture->set_batch_p90_s(row->p90_s());
  mixture->set_batch_p99_s(row->p99_s());
  mixture->set_metadata(settings.spec.metadata);
  if (measured > 1) {
    mixture->set_dominant_switch_rate(static_cast<double>(totals.switches) /
                                      static_cast<double>(measured - 1));
  }
  SetShares(reply, totals, sources, mixture);
  mixture->set_skipped(reply.errors_total());
  for (const LoaderError& error : reply.errors()) {
    AddSameFields(error, mixture->add_faults());
  }
  if (mixture->skipped() > 0) {
    row->add_labels(kSkippedFiles);
    row->set_reason(SkippedText(*mixture));
  }
  if (settings.steps < kMixtureSteps || settings.warmup < kMixtureWarmup) {
    row->add_labels(kIndicative);
  }
}

AuditWeights WeightsOf(const std::string& stream,
                       const std::vector<BatchCounts>& batches,
                       const std::vector<MixtureSource>& sources,
                       const std::vector<std::string>& left_out, int block) {
  std::vector<double> samples(sources.size());
  double all = 0;
  for (const BatchCounts& batch : batches) {
    for (int i = 0; i + 1 < batch.list_size(); i += 2) {
      samples[batch.list(i)] += static_cast<double>(batch.list(i + 1));
      all += static_cast<double>(batch.list(i + 1));
    }
  }
  double weights = 0;
  std::vector<double> own(sources.size());
  for (size_t i = 0; i < sources.size(); ++i) {
    if (std::count(left_out.begin(), left_out.end(), sources[i].name) > 0) {
      continue;
    }
    own[i] = sources[i].weight;
    weights += own[i];
  }
  AuditWeights found;
  found.set_stream(stream);
  const double draws = all / block;
  found.set_draws(static_cast<int64_t>(draws));
  if (!(draws > 0 && weights > 0)) return found;
  constexpr double kFewestDraws = 5;
  double distance = 0, chi_square = 0, rare_expected = 0, rare_draws = 0;
  int cells = 0;
  const auto add_cell = [&](double expected, double observed) {
    ++cells;
    chi_square += (observed - expected) * (observed - expected) / expected;
  };
  for (size_t i = 0; i < sources.size(); ++i) {
    const double expected = draws * own[i] / weights;
    distance += std::abs(samples[i] / all - own[i] / weights);
    if (expected >= kFewestDraws) {
      add_cell(expected, samples[i] / block);
    } else {
      rare_expected += expected;
      rare_draws += samples[i] / block;
    }
  }
  if (rare_expected > 0) add_cell(rare_expected, rare_draws);
  const auto drawn = std::count_if(own.begin(), own.end(),
                                   [](double weight) { return weight > 0; });
  if (cells < 2 && drawn > 1) {
    found.set_reason(absl::StrCat("too few draws to tell, ", found.draws(),
                                  "; use more of them: --sweep=steps=N"));
    return found;
  }
  found.set_mixture_error(distance / 2);
  found.set_chi_square(chi_square);
  found.set_p_value(cells > 1 ? ChiSquareTail(chi_square, cells - 1) : 1);
  return found;
}

std::string MixtureText(const Row& row) {
  const std::string who =
      absl::StrCat(row.library(), ", run ", row.run_index(), ": ");
  if (!row.has_mixture()) {
    if (row.reason().empty()) return "";
    return absl::StrCat(who, row.status(), ": ", row.reason(), "\n");
  }
  const Mixture& mixture = row.mixture();
  std::string text;
  if (mixture.skipped() > 0) {
    absl::StrAppend(&text, who, SkippedText(mixture), "\n");
  }
  if (mixture.left_out_size() > 0) {
    absl::StrAppend(&text, who,
                    "left out: ", absl::StrJoin(mixture.left_out(), ", "),
                    "\n");
  }
  if (mixture.teardown_killed()) {
    absl::StrAppend(&text, who, "the teardown did not end within ",
                    mixture.teardown_s(), " s and was killed\n");
  }
  return text;
}

namespace {

// One setting of one library.
struct Point {
  std::string library;
  std::map<std::string, std::string> settings;
  std::map<int, double> runs;  // Samples per second by run index.
};

// The settings that have a row, in the order of `job_ids`.
std::vector<Point> PointsOf(const std::vector<Row>& rows,
                            const std::vector<std::string>& job_ids) {
  std::map<std::string, Point> by_job;
  for (const Row& row : rows) {
    Point& point = by_job[row.job_id()];
    point.library = row.library();
    point.settings = {row.settings().begin(), row.settings().end()};
    point.settings["batch_size"] = absl::StrCat(row.batch_size());
    if (row.status() == "ok") point.runs[row.run_index()] = row.throughput();
  }
  std::vector<Point> points;
  for (const std::string& job_id : job_ids) {
    auto node = by_job.extract(job_id);
    if (!node.empty()) points.push_back(std::move(node.mapped()));
  }
  return points;
}

// Names of the settings that differ.
std::set<std::string> Varied(const std::vector<Point>& points) {
  std::set<std::string> names;
  for (const Point& point : points) {
    for (const auto& [name, value] : point.settings) {
      const auto first = points[0].settings.find(name);
      if (first == points[0].settings.end() || first->second != value) {
        names.insert(name);
      }
    }
  }
  return names;
}

std::string NameOf(const Point& point, const std::set<std::string>& varied) {
  std::string name = point.library;
  for (const auto& [setting, value] : point.settings) {
    if (varied.count(setting) > 0)
      absl::StrAppend(&name, " ", setting, "=", value);
  }
  return name;
}

std::string ComparedText(const Point& point, const Point& first) {
  std::vector<double> ratios;
  for (const auto& [run, throughput] : point.runs) {
    const auto other = first.runs.find(run);
    if (other != first.runs.end() && other->second > 0) {
      ratios.push_back(throughput / other->second);
    }
  }
  if (ratios.empty()) return ", no run in common with the first";
  const double median = Median(ratios);
  const absl::optional<Interval> interval =
      MedianInterval(absl::MakeSpan(ratios));
  if (!interval.has_value()) {
    return absl::StrFormat(", %.2f of the first in %d runs: too few to tell",
                           median, ratios.size());
  }
  const bool apart = interval->low > 1 || interval->high < 1;
  return absl::StrFormat(", %.2f [%.2f, %.2f] of the first%s", median,
                         interval->low, interval->high,
                         apart ? "" : ": no difference shown");
}

}  // namespace

std::string MixtureSummary(const std::vector<Row>& rows,
                           const std::vector<std::string>& job_ids) {
  const std::vector<Point> points = PointsOf(rows, job_ids);
  if (points.size() < 2) return "";
  const std::set<std::string> varied = Varied(points);
  std::string text;
  for (const Point& point : points) {
    const std::string name = NameOf(point, varied);
    if (point.runs.empty()) {
      absl::StrAppend(&text, name, ": no run is ok; its rows say why\n");
      continue;
    }
    std::vector<double> rates;
    for (const auto& run : point.runs) rates.push_back(run.second);
    absl::StrAppendFormat(&text, "%s: %.0f samples/s", name, Median(rates));
    if (&point != &points[0]) {
      absl::StrAppend(&text, ComparedText(point, points[0]));
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

}  // namespace feedrate
