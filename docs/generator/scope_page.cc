#include <map>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "docs/generator/markdown.h"
#include "docs/generator/pages.h"
#include "lib/base/status_macros.h"
#include "lib/config/matrix.pb.h"
#include "lib/config/policy.pb.h"
#include "lib/config/transforms.pb.h"
#include "lib/draw/text.h"

namespace feedrate {
namespace {

std::string OrDash(absl::string_view text) {
  return text.empty() ? "–" : std::string(text);
}

constexpr char kDeviceRules[] =
    "## Device rules\n\n"
    "| device | mode | library | rule |\n"
    "|---|---|---|---|\n"
    "| `cpu` | micro | all | Decoded inputs in memory, one thread, one call "
    "for "
    "each item. |\n"
    "| `cuda` | micro | all | Items are on the device before the clock starts, "
    "and the transform runs there; it is synchronized before and after the "
    "loop. No copy from the host is timed. |\n"
    "| `cpu` | pipeline | all | The whole recipe runs in the loader's workers: "
    "crop to 224, transform, normalize, to tensor. |\n"
    "| `cuda` | pipeline | all | Workers crop on the CPU; the batch is copied "
    "to the device, and transform and normalization run there. Peaks of "
    "allocated and reserved memory are reset before each run; the largest of "
    "all runs counts. |\n"
    "| `cuda` | pipeline | torchvision | The transform runs in a loop over the "
    "samples of the batch, then one normalization over the whole batch. Rows "
    "are labeled per_sample_loop. |\n"
    "| `cuda` | pipeline | kornia | The transform runs on the whole batch, "
    "with "
    "parameters drawn for each sample. |\n\n";

std::string InputLayouts(const Policy& policy) {
  Table table = TextTable(
      {"library", "media", "mode", "type", "layout", "range", "remark"});
  for (const InputLayout& i : policy.input_layouts()) {
    table.AddRow({absl::StrJoin(i.library(), ", "), i.media(),
                  i.has_mode() ? i.mode() : "all", i.dtype(), i.layout(),
                  OrDash(i.range()), i.note()});
  }
  return absl::StrCat(
      "## What the libraries get\n\nAll libraries get the same pixels, in the "
      "form each expects. The conversion is not timed unless the remark says "
      "so.\n\n",
      table.ToMarkdown(Table::Cells::kMarkdown), "\n");
}

std::string SlowTransforms(const Policy& policy) {
  std::string text =
      "## Slow transforms\n\nBefore every job, a preflight processes the first "
      "items once, without warm-up. If the transform takes at least the limit "
      "per item, or the preflight takes too long, the job ends as "
      "`early_stopped` with the preflight's measurements.\n\n";
  Table table({"media", "limit (s per item)", "preflight (items)",
               "preflight at most (s)", "shown as"},
              {Align::kLeft, Align::kRight, Align::kRight, Align::kRight,
               Align::kLeft});
  for (const MediaPolicy& m : policy.media()) {
    table.AddRow({m.media(), absl::StrCat(m.slow_threshold_s()),
                  absl::StrCat(m.preflight_items()),
                  absl::StrCat(m.max_preflight_s()), Code(m.slow_marker())});
  }
  return absl::StrCat(text, table.ToMarkdown(Table::Cells::kMarkdown), "\n");
}

std::string Items(const Policy& policy) {
  std::string text =
      "## Items\n\nThe first `num_items` files of the whole folder, sorted by "
      "path. Transforms are applied with probability 1. The public benchmark "
      "does not seed its libraries. The frames of a clip are spread evenly "
      "from the first to the last, at positions rounded down; a short video "
      "repeats its last frame. Libraries without a reader of their own get "
      "clips that OpenCV decodes.\n\n";
  for (const MediaPolicy& m : policy.media()) {
    absl::StrAppend(&text, "- ", m.media(), ": files ending in ",
                    absl::StrJoin(m.extensions(), ", "), ".\n");
  }
  return absl::StrCat(text, "\n");
}

std::string Modes(const Policy& policy) {
  Table table = TextTable({"mode", "media", "run by", "items", "batch", "scope",
                           "threads", "batch of the main tables"});
  for (const ModePolicy& m : policy.modes()) {
    std::vector<std::string> main;
    for (const MainBatchSize& b : m.main_batch_sizes()) {
      main.push_back(absl::StrCat(b.scenario(), b.has_device() ? " on " : "",
                                  b.device(), ": ", b.batch_size()));
    }
    table.AddRow(
        {m.mode(), m.media(), Code(m.tool()),
         m.default_num_items() == 0 ? "all"
                                    : absl::StrCat(m.default_num_items()),
         m.default_batch_size() == 0 ? "–"
                                     : absl::StrCat(m.default_batch_size()),
         Code(m.default_scope()), Code(m.default_thread_policy()),
         OrDash(absl::StrJoin(main, "; "))});
  }
  return absl::StrCat(
      "## Modes\n\nDefaults for configs that set nothing else. Rows with a "
      "batch size other than that of the main tables are labeled "
      "`exploratory`.\n\n",
      table.ToMarkdown(Table::Cells::kMarkdown), "\n");
}

std::string RunsAndTiming(const Policy& policy) {
  const RunsPolicy& r = policy.runs();
  const TimingPolicy& t = policy.timing();
  const MeasuringPolicy& m = policy.measuring();
  return absl::StrCat(
      "## Runs and timing\n\n- ", r.default_num_runs(),
      " runs unless a config says otherwise, also in the paper's tables. Fewer "
      "than ",
      r.warn_below(),
      " give a warning.\n- A job gets more runs while the 95% interval of its "
      "median is wider than ",
      m.stable_within() * 100, "% to either side, for up to ",
      m.repeat_budget(),
      " times the timed part of the planned runs.\n- A runner waits for a "
      "quiet machine for up to ",
      m.quiet_share(),
      " times the time that it has run, and takes samples again next to which "
      "a probe of the core is ",
      m.slow_core() * 100,
      "% above the smallest.\n- A loader row takes at least ", t.min_time_s(),
      " s and ", Count(t.min_batches(), "batch"),
      "; whole epochs repeat until both are reached.\n- The public benchmark "
      "times micro rows in 1 process after 1 untimed pass, values of at least "
      "0.001 s; its intervals of 95% are 1.96 standard errors to either side, "
      "and it calls 5% of the median a regression.\n\n");
}

std::string Warmup(const Policy& policy) {
  Table table = TextTable({"mode", "media", "library", "untimed passes",
                           "most passes", "on items", "stable when"});
  for (const WarmupPolicy& w : policy.warmup()) {
    const bool window = w.window() > 0;
    table.AddRow(
        {w.mode(), w.has_media() ? w.media() : "all",
         w.has_library() ? w.library() : "all", absl::StrCat(w.passes()),
         window ? absl::StrCat(w.max_iterations()) : "–",
         window ? absl::StrCat(w.subset_items()) : "–",
         window ? absl::StrCat("from pass ", w.window() * w.min_windows(),
                               " on, the last ", w.window(), " are within ",
                               w.stable_within() * 100, "% of the mean of all")
                : "–"});
  }
  return absl::StrCat(
      "## Warm-up\n\nUntimed passes run over the items in mode micro and over "
      "batches in mode pipeline. The other columns describe the public "
      "benchmark's compatibility timer.\n\n",
      table.ToMarkdown(Table::Cells::kMarkdown), "\n");
}

std::string Loader(const Policy& policy) {
  const LoaderPolicy& l = policy.loader();
  return absl::StrCat(
      "## Loader\n\n- Workers: ", l.default_workers(),
      " unless a config says otherwise, 8 in the paper; mode micro takes only ",
      l.micro_workers(), ".\n- Workers of Python loaders start by fork and ",
      l.persistent_workers() ? "live on between epochs"
                             : "start and stop inside every timed epoch",
      ".\n- Items come ", l.shuffle() ? "in random order" : "in order",
      "; the last, smaller batch is ", l.drop_last() ? "dropped" : "kept",
      "; each worker prepares ", l.prefetch_factor(),
      " batches ahead.\n- Host memory is pinned on `cuda` in ",
      Codes(l.pin_memory_scopes()),
      ".\n- A DALI graph has as many threads as workers, but at least 1.\n\n");
}

std::string Threads(const Policy& policy) {
  Table table = TextTable({"thread policy", "modes", "sets", "what it is for"});
  for (const ThreadPolicy& t : policy.threads()) {
    // A map of protobuf has no order; a page must have one.
    const std::map<std::string, std::string> environment(
        t.environment().begin(), t.environment().end());
    std::vector<std::string> sets;
    for (const auto& [name, value] : environment) {
      sets.push_back(absl::StrCat(name, "=", value));
    }
    if (t.has_opencv_threads()) {
      sets.push_back(
          absl::StrCat("cv::setNumThreads(", t.opencv_threads(), ")"));
    }
    if (t.has_opencv_opencl() && !t.opencv_opencl()) {
      sets.push_back("OpenCL off");
    }
    if (t.has_torch_intra_op()) {
      sets.push_back(absl::StrCat("torch intra-op ", t.torch_intra_op()));
    }
    if (t.has_torch_inter_op()) {
      sets.push_back(absl::StrCat("torch inter-op ", t.torch_inter_op()));
    }
    table.AddRow({Code(t.name()), absl::StrJoin(t.modes(), ", "),
                  sets.empty() ? "nothing" : absl::StrJoin(sets, ", "),
                  t.note()});
  }
  return absl::StrCat("## Threads\n\n",
                      table.ToMarkdown(Table::Cells::kMarkdown), "\n");
}

std::string Normalization(const Policy& policy) {
  const NormalizePolicy& n = policy.normalize();
  return absl::StrCat("## Normalization\n\nValues are divided by ",
                      n.input_scale(), ", then mean (",
                      absl::StrJoin(n.mean(), ", "), ") and deviation (",
                      absl::StrJoin(n.std(), ", "),
                      "), repeated for each group of three channels.\n\n");
}

std::string Estimates(const Policy& policy) {
  const CostPolicy& c = policy.cost();
  Table table({"media", "mode", "device", "items per second"},
              {Align::kLeft, Align::kLeft, Align::kLeft, Align::kRight});
  for (const DefaultThroughput& d : c.default_throughput()) {
    table.AddRow(
        {d.media(),
         d.has_model() ? absl::StrCat(d.mode(), " ", d.model()) : d.mode(),
         d.device(), absl::StrCat(d.items_per_s())});
  }
  return absl::StrCat(
      "## Estimates\n\nWithout rows of earlier runs (`plan --rows`), `cost_s` "
      "comes "
      "from the published number of the cell "
      "(configs/published/), else from this table; ",
      c.passes_per_run(), " passes per run and ", c.job_overhead_s(),
      " s per job are added. A training takes its samples once.\n\n",
      table.ToMarkdown(Table::Cells::kMarkdown), "\n");
}

std::string Campaign(const Policy& policy) {
  std::vector<std::string> order;
  for (const PaperStep& p : policy.paper_order()) {
    order.push_back(
        absl::StrCat(p.scenario(), p.has_mode() ? " " : "", p.mode()));
  }
  const CloudPolicy& c = policy.cloud();
  Table table({"step", "seconds", "tries", "seconds between"},
              {Align::kLeft, Align::kRight, Align::kRight, Align::kRight});
  for (const Timeout& t : policy.timeouts()) {
    table.AddRow({t.step(), absl::StrCat(t.seconds()),
                  absl::StrCat(t.has_tries() ? t.tries() : 1),
                  t.has_interval_s() ? absl::StrCat(t.interval_s()) : "–"});
  }
  Table versions = TextTable({"package", "version in `paper`"});
  for (const PinnedVersion& v : policy.pinned_versions()) {
    versions.AddRow({v.package(), v.version()});
  }
  return absl::StrCat("## Campaign\n\nTables are made in this order: ",
                      absl::StrJoin(order, "; "),
                      ". A config that names no machine gets ",
                      c.machine_type(), " in ", c.zone(), " with a disk of ",
                      c.disk_size_gb(), " GB (at least ", c.min_disk_size_gb(),
                      ").\n\n", table.ToMarkdown(Table::Cells::kMarkdown),
                      "\nBesides the libraries under test:\n\n",
                      versions.ToMarkdown(Table::Cells::kMarkdown));
}

// The policy in words.
std::string PolicySection(const Policy& policy) {
  return absl::StrCat(kDeviceRules, InputLayouts(policy),
                      SlowTransforms(policy), Items(policy), Modes(policy),
                      RunsAndTiming(policy), Warmup(policy), Loader(policy),
                      Threads(policy), Normalization(policy), Estimates(policy),
                      Campaign(policy));
}

constexpr char kScopeIntroduction[] =
    "# Scope\n\n"
    "This page says what feedrate measures, what it leaves out and why, and "
    "which rules it follows. The facts come from configs/matrix.textproto, "
    "configs/policy.textproto and configs/transforms/; each transform set has "
    "[a page of its own](transform_sets/).\n\n"
    "Measured: images and clips, on the CPU (`cpu`) and on NVIDIA GPUs "
    "(`cuda`). Not measured: Apple GPUs (`mps`), which the public benchmark "
    "treats as optional and keeps out of its tables; training quality; the "
    "accuracy of a transform beyond whether it does the same work.\n\n";

std::string PageOf(const Scenario& scenario) {
  return absl::StrCat("transform_sets/", scenario.short_name(), ".md");
}

absl::StatusOr<std::string> ScenariosSection(const Catalogue& catalogue) {
  Table table = TextTable(
      {"scenario", "one item", "channels", "transforms", "public libraries"});
  for (const Scenario& s : catalogue.matrix().scenarios()) {
    std::string transforms = "–";
    if (!s.transforms().empty()) {
      ASSIGN_OR_RETURN(const TransformSet* set, catalogue.Transforms(s));
      transforms =
          absl::StrCat("[", SetMembers(s, *set).size(), "](", PageOf(s), ")");
    }
    table.AddRow({Code(s.name()), s.description(), absl::StrCat(s.channels()),
                  transforms, absl::StrJoin(s.public_libraries(), ", ")});
  }
  return absl::StrCat("## Scenarios\n\n",
                      table.ToMarkdown(Table::Cells::kMarkdown), "\n");
}

std::string LibrariesSection(const Matrix& matrix) {
  Table table = TextTable(
      {"library", "origin", "version in `paper`", "environment", "what it is"});
  for (const Library& l : matrix.libraries()) {
    std::vector<std::string> groups;
    if (!l.env_group().empty()) groups.push_back(l.env_group());
    if (!l.video_env_group().empty()) groups.push_back(l.video_env_group());
    table.AddRow({Code(l.name()), l.origin(), l.paper_version(), Codes(groups),
                  l.description()});
  }
  return absl::StrCat(
      "## Libraries\n\nOnly the public benchmark's libraries decide which "
      "transforms are in a set, and only they are in configs/paper/. The other "
      "libraries were added here.\n\n",
      table.ToMarkdown(Table::Cells::kMarkdown), "\n");
}

std::string StatusInWords(const Combination& c) {
  switch (c.status()) {
    case SUPPORTED:
      return "yes";
    case OPTIONAL:
      return "optional";
    case REJECTED:
      return "no";
    case HOST_CPU:
      return "on the host's CPU";
    default:
      return "?";
  }
}

std::string CombinationsSection(const Matrix& matrix) {
  std::string text =
      "## Supported combinations\n\nA combination that is not listed cannot be "
      "requested. `optional`: the row runs, is labeled `optional`, and no "
      "coverage check requires it. `on the host's CPU`: requested on `cuda`, "
      "the row runs on the CPU of the GPU machine and is labeled `host_cpu`.\n";
  for (const Scenario& s : matrix.scenarios()) {
    Table table = TextTable(
        {"library", "mode", "device", "scopes", "runs", "labels", "remark"});
    for (const Combination& c : matrix.combinations()) {
      if (!absl::c_linear_search(c.scenario(), s.name())) continue;
      table.AddRow({absl::StrJoin(c.library(), ", "), c.mode(),
                    absl::StrJoin(c.device(), ", "), Codes(c.scopes()),
                    StatusInWords(c), Codes(c.labels()), c.reason()});
    }
    absl::StrAppend(&text, "\n### ", s.name(), "\n\n",
                    table.ToMarkdown(Table::Cells::kMarkdown));
  }
  return absl::StrCat(text, "\n");
}

std::string ExceptionsTable(const Matrix& matrix, CellStatus status) {
  Table table = TextTable(
      {"scenario", "library", "mode", "device", "transforms", "reason"});
  for (const CellException& e : matrix.exceptions()) {
    if (e.status() != status) continue;
    table.AddRow({absl::StrJoin(e.scenario(), ", "), e.library(),
                  e.has_mode() ? e.mode() : "all",
                  e.has_device() ? e.device() : "all",
                  absl::StrJoin(e.transforms(), ", "), e.reason()});
  }
  return table.ToMarkdown(Table::Cells::kMarkdown);
}

std::string ExceptionsSection(const Matrix& matrix) {
  return absl::StrCat(
      "## Cells left out\n\n### Excluded\n\nNo job is planned; `plan "
      "--emit=table` lists them.\n\n",
      ExceptionsTable(matrix, EXCLUDED),
      "\n### Unsupported\n\nA job is planned but does not run; its row has the "
      "status `unsupported`, as in the published tables.\n\n",
      ExceptionsTable(matrix, UNSUPPORTED), "\n");
}

// Members of the first scenario's set that no library has in `scenario`.
std::vector<std::string> Missing(const Scenario& first,
                                 const TransformSet& first_set,
                                 const TransformSet& set) {
  absl::flat_hash_set<absl::string_view> names;
  for (const Transform& t : set.transforms()) names.insert(t.name());
  std::vector<std::string> missing;
  for (const Transform* t : SetMembers(first, first_set)) {
    if (!names.contains(t->name())) missing.push_back(t->name());
  }
  return missing;
}

absl::StatusOr<std::string> CandidatesSection(const Catalogue& catalogue) {
  std::string text = absl::StrCat(
      "## Transforms left out\n\nA transform needs ", kLibrariesOfAMember,
      " public libraries to be a member. These have fewer, or are left out on "
      "purpose:\n\n");
  const Scenario& first = catalogue.matrix().scenarios(0);
  ASSIGN_OR_RETURN(const TransformSet* first_set, catalogue.Transforms(first));
  for (const Scenario& s : catalogue.matrix().scenarios()) {
    if (s.transforms().empty()) continue;
    ASSIGN_OR_RETURN(const TransformSet* set, catalogue.Transforms(s));
    int single = 0;
    for (const Transform& t : set->transforms()) {
      if (!t.left_out().empty()) {
        absl::StrAppend(&text, "- ", s.name(), ", **", t.name(),
                        "**: ", t.left_out(), "\n");
      } else if (PublicLibraries(s, t) < kLibrariesOfAMember) {
        ++single;
      }
    }
    absl::StrAppend(&text, "- ", s.name(), ": ", Count(single, "candidate"),
                    " of one library, [listed ", "there](", PageOf(s),
                    "#not-members).\n");
    const std::vector<std::string> missing = Missing(first, *first_set, *set);
    if (!missing.empty()) {
      absl::StrAppend(&text, "- ", s.name(), ": no library has ",
                      absl::StrJoin(missing, ", "), ".\n");
    }
  }
  return absl::StrCat(text, "\n");
}

}  // namespace

absl::StatusOr<std::string> ScopePage(const Catalogue& catalogue) {
  const Matrix& matrix = catalogue.matrix();
  ASSIGN_OR_RETURN(const std::string scenarios, ScenariosSection(catalogue));
  ASSIGN_OR_RETURN(const std::string candidates, CandidatesSection(catalogue));
  return absl::StrCat(kGeneratedNote, kScopeIntroduction, scenarios,
                      LibrariesSection(matrix), CombinationsSection(matrix),
                      ExceptionsSection(matrix), candidates,
                      PolicySection(catalogue.policy()));
}

}  // namespace feedrate
