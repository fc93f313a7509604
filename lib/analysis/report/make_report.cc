#include "lib/analysis/report/make_report.h"

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/optional.h"
#include "lib/analysis/mixture/mixture_report.h"
#include "lib/analysis/mixture/mixture_run.h"
#include "lib/analysis/report/claims_and_targets.h"
#include "lib/analysis/report/comparison_sections.h"
#include "lib/analysis/report/history_section.h"
#include "lib/analysis/report/report_data.h"
#include "lib/analysis/report/sections.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/tool/exit_code.h"
#include "lib/config/targets.pb.h"
#include "lib/draw/axes.h"
#include "lib/draw/document.h"
#include "lib/gate/history.h"

namespace feedrate {
namespace {

struct Heading {
  const char* mode;
  const char* id;
  const char* title;
  const char* text;
};

constexpr Heading kHeadings[] = {
    {"pipeline", "pipelines", "Pipelines",
     "From source to batch, everything included: what a training loop gets."},
    {"mixture", "mixtures", "Mixtures",
     "Many data sets mixed by weight into one stream."},
    {"train", "training", "Training", "Whole training steps."},
    {"decode", "decoding", "Decoding", "From files to pixels, nothing else."},
    {"micro", "micro", "Micro: a profiler, not training throughput",
     "One transform on decoded inputs, in one thread or on one GPU. It says "
     "where time goes; in a pipeline other things may bind."},
};

Section HeadingOf(const std::string& mode) {
  Section section;
  for (const Heading& heading : kHeadings) {
    if (heading.mode != mode) continue;
    section.id = heading.id;
    section.title = heading.title;
    section.blocks.emplace_back(Paragraph{heading.text});
    return section;
  }
  section.id = IdFrom(absl::StrCat("mode ", mode));
  section.title = absl::StrCat("Mode ", mode.empty() ? "unknown" : mode);
  return section;
}

void Add(absl::optional<Section> section, Document* document) {
  if (section.has_value()) document->sections.push_back(*std::move(section));
}

void AddSettings(const std::vector<Setting>& settings,
                 const SpeedUpOptions& options, Document* document) {
  std::map<std::string, int> of_mode;
  for (const Setting& setting : settings) ++of_mode[setting.mode];
  absl::optional<std::string> mode;
  for (const Setting& setting : settings) {
    if (mode != setting.mode) {
      mode = setting.mode;
      document->sections.push_back(HeadingOf(*mode));
    }
    document->sections.push_back(SettingSection(setting, options));
    // The link to the only setting of a mode would lead where the mode's does.
    document->sections.back().in_contents = of_mode[setting.mode] > 1;
  }
}

}  // namespace

Document BuildReport(const ReportInput& input, const ReportOptions& options) {
  const std::vector<ReportCell> cells = CellsOf(input.rows);
  const std::vector<Setting> settings = SettingsOf(cells);
  Document document;
  document.title = options.title;
  document.subtitle = SubtitleOf(input);
  if (!input.rows.empty() || options.history.empty()) {
    document.sections.push_back(
        SummarySection(input, cells, settings, options.speed_ups));
  }
  if (options.targets != nullptr) {
    document.sections.push_back(TargetsSection(*options.targets));
  }
  if (options.baseline != nullptr) {
    const std::vector<ReportCell> before = CellsOf(options.baseline->rows);
    document.sections.push_back(ChangesSection(ChangesBetween(before, cells)));
  }
  Add(VerdictsSection(input.verdicts), &document);
  Add(WhereSection(input), &document);
  Add(HistorySection(options.history, options.commit_url), &document);
  AddSettings(settings, options.speed_ups, &document);
  Add(LoaderSection(cells), &document);
  Add(StepsSection(cells), &document);
  Add(MixtureSection(input), &document);
  Add(MemorySection(cells), &document);
  Add(NoiseSection(cells), &document);
  Add(EnvironmentSection(input), &document);
  Add(NotMeasuredSection(cells), &document);
  Add(RepeatSection(input), &document);
  return document;
}

namespace {

// The exit code that is more important to a script.
ExitCode Worse(ExitCode a, ExitCode b) {
  for (const ExitCode code : {ExitCode::kCallersMistake, ExitCode::kCheckSaidNo,
                              ExitCode::kInvalid, ExitCode::kCannotTell}) {
    if (a == code || b == code) return code;
  }
  return ExitCode::kDone;
}

// Whatever is judged or shown lacks the records that are refused.
ExitCode CodeOfRefused(const ReportRequest& request, const ReportInput& input) {
  if (input.refused_records == 0) return ExitCode::kDone;
  request.warn(absl::StrCat(
      Counted(input.refused_records, "record"),
      input.refused_records == 1 ? " is" : " are",
      " refused and not used; mend or delete the lines that are named above"));
  return ExitCode::kCallersMistake;
}

absl::Status WriteFigures(const Document& document, const std::string& folder) {
  RETURN_IF_ERROR(MakeFolder(folder));
  for (const Section& section : document.sections) {
    for (const Block& block : section.blocks) {
      const Figure* figure = absl::get_if<Figure>(&block);
      if (figure == nullptr) continue;
      RETURN_IF_ERROR(WriteFileAtomically(
          JoinPath(folder, absl::StrCat(figure->id, ".svg")),
          figure->draw(ScaleType::kLinear, kWideFigure).ToFile()));
      if (!figure->has_log) continue;
      RETURN_IF_ERROR(WriteFileAtomically(
          JoinPath(folder, absl::StrCat(figure->id, "-log.svg")),
          figure->draw(ScaleType::kLog, kWideFigure).ToFile()));
    }
  }
  return absl::OkStatus();
}

absl::Status WriteMixtureSummary(const ReportInput& input,
                                 const std::string& folder) {
  if (input.batches.empty()) return absl::OkStatus();
  return WriteFileAtomically(
      JoinPath(folder, kMixtureSummaryName),
      MixtureSummary(FirstRuns(MixtureRunsOf(input.rows, input.batches))));
}

absl::StatusOr<ExitCode> CheckClaimsOf(const ReportRequest& request,
                                       const ReportInput& input,
                                       std::ostream& out) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(request.claims));
  ASSIGN_OR_RETURN(const std::vector<Claim> claims,
                   FindClaims(text, request.claims));
  if (claims.empty()) {
    request.warn(absl::StrCat(
        request.claims,
        ": no number carries a reference to rows; write one after it as "
        "<!-- rows: EXPRESSION -->"));
    return ExitCode::kInvalid;
  }
  ASSIGN_OR_RETURN(const std::vector<ClaimResult> results,
                   CheckClaims(claims, request.claims, input.rows));
  out << PrintableLines(ClaimsText(results, request.claims));
  const bool all = std::all_of(results.begin(), results.end(),
                               [](const auto& result) { return result.holds; });
  return all ? ExitCode::kDone : ExitCode::kCheckSaidNo;
}

absl::Status WriteDocument(const ReportRequest& request,
                           const Document& document, std::ostream& out) {
  const std::string text = request.markdown
                               ? ToMarkdown(document, request.svg_folder)
                               : ToHtml(document);
  if (request.output.empty() || request.output == "-") {
    out << text;
    return absl::OkStatus();
  }
  return WriteFileAtomically(request.output, text);
}

bool WantsDocument(const ReportRequest& request) {
  return !request.output.empty() || request.markdown ||
         (request.svg_folder.empty() && request.targets.empty() &&
          request.claims.empty());
}

// Whether the document goes to standard output, so that nothing else may.
bool OwnsOutput(const ReportRequest& request) {
  return WantsDocument(request) &&
         (request.output.empty() || request.output == "-");
}

}  // namespace

absl::StatusOr<ExitCode> MakeReport(const ReportRequest& request,
                                    std::ostream& out) {
  RETURN_IF_ERROR(CheckCommitUrl(request.commit_url));
  ASSIGN_OR_RETURN(const ReportInput input,
                   ReadReportInput(request.paths, request.warn));
  ExitCode code = CodeOfRefused(request, input);
  ReportOptions options;
  options.commit_url = request.commit_url;
  if (!request.history.empty()) {
    ASSIGN_OR_RETURN(
        const std::vector<HistoryEntry> entries,
        ReadHistory(absl::StrSplit(request.history, ',', absl::SkipEmpty()), {},
                    request.warn));
    options.history = HistoryOf(entries, HistoryOptions());
  }
  if (input.rows.empty() && input.verdicts.empty() && input.batches.empty() &&
      input.profiles.empty() && options.history.empty()) {
    request.warn(
        "the files have neither rows nor verdicts nor batches; a runner, "
        "compare_baseline and mixture write them");
    return Worse(code, ExitCode::kInvalid);
  }
  if (!request.relative_to.empty() && !input.rows.empty()) {
    std::set<std::string> libraries;
    for (const Row& row : input.rows) libraries.insert(row.library());
    libraries.erase(kNullLibrary);
    RETURN_IF_ERROR(CheckChoice("--relative_to", request.relative_to,
                                {libraries.begin(), libraries.end()}));
  }
  options.title = request.title;
  options.speed_ups = {request.relative_to, request.any_work};

  ReportInput baseline;
  if (!request.baseline.empty()) {
    ASSIGN_OR_RETURN(
        baseline, ReadReportInput(
                      absl::StrSplit(request.baseline, ',', absl::SkipEmpty()),
                      request.warn));
    code = Worse(code, CodeOfRefused(request, baseline));
    options.baseline = &baseline;
    const std::vector<ReportCell> before = CellsOf(baseline.rows);
    if (ChangesBetween(before, CellsOf(input.rows)).changes.empty()) {
      code = Worse(code, ExitCode::kInvalid);
      request.warn(
          "nothing is comparable: the baseline has no job of these rows on "
          "the same machine profile");
    }
  }
  TargetsReport targets;
  if (!request.targets.empty()) {
    ASSIGN_OR_RETURN(const Targets wanted, LoadTargets(request.targets));
    ASSIGN_OR_RETURN(targets, JudgeTargets(wanted, input.rows));
    options.targets = &targets;
    if (targets.AnyMissed()) {
      code = Worse(code, ExitCode::kCheckSaidNo);
    } else if (targets.CannotTell()) {
      code = Worse(code, ExitCode::kCannotTell);
    }
    if (!OwnsOutput(request)) out << PrintableLines(TargetsText(targets));
  }
  if (!request.claims.empty()) {
    if (OwnsOutput(request)) {
      return absl::InvalidArgumentError(
          "--check_claims and a report both want standard output; give the "
          "report a file with --output");
    }
    ASSIGN_OR_RETURN(const ExitCode claims, CheckClaimsOf(request, input, out));
    code = Worse(code, claims);
  }
  if (!WantsDocument(request) && request.svg_folder.empty()) return code;
  const Document document = BuildReport(input, options);
  if (!request.svg_folder.empty()) {
    RETURN_IF_ERROR(WriteFigures(document, request.svg_folder));
    RETURN_IF_ERROR(WriteMixtureSummary(input, request.svg_folder));
  }
  if (WantsDocument(request)) {
    RETURN_IF_ERROR(WriteDocument(request, document, out));
  }
  return code;
}

}  // namespace feedrate
