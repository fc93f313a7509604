#include "lib/analysis/report/report.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "lib/analysis/report/cell.h"
#include "lib/analysis/report/changes.h"
#include "lib/analysis/report/input.h"
#include "lib/analysis/report/setting.h"
#include "lib/analysis/report/setting_section.h"
#include "lib/analysis/report/side_sections.h"
#include "lib/analysis/report/summary_section.h"
#include "lib/analysis/report/targets.h"
#include "lib/analysis/report/verdicts.h"
#include "lib/draw/document.h"

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
  section.id = absl::StrCat("mode-", mode);
  section.title = absl::StrCat("Mode ", mode.empty() ? "unknown" : mode);
  return section;
}

void Add(absl::optional<Section> section, Document* document) {
  if (section.has_value()) document->sections.push_back(*std::move(section));
}

void AddSettings(const std::vector<Setting>& settings,
                 const SpeedUpOptions& options, Document* document) {
  absl::optional<std::string> mode;
  for (const Setting& setting : settings) {
    if (mode != setting.mode) {
      mode = setting.mode;
      document->sections.push_back(HeadingOf(*mode));
    }
    document->sections.push_back(SettingSection(setting, options));
  }
}

}  // namespace

Document BuildReport(const ReportInput& input, const ReportOptions& options) {
  const std::vector<ReportCell> cells = CellsOf(input.rows);
  const std::vector<Setting> settings = SettingsOf(cells);
  Document document;
  document.title = options.title;
  document.subtitle = SubtitleOf(input);
  document.sections.push_back(
      SummarySection(input, cells, settings, options.speed_ups));
  if (options.targets != nullptr) {
    document.sections.push_back(TargetsSection(*options.targets));
  }
  if (options.baseline != nullptr) {
    const std::vector<ReportCell> before = CellsOf(options.baseline->rows);
    document.sections.push_back(ChangesSection(ChangesBetween(before, cells)));
  }
  Add(VerdictsSection(input.verdicts), &document);
  AddSettings(settings, options.speed_ups, &document);
  Add(LoaderSection(cells), &document);
  Add(MixtureSection(input), &document);
  Add(MemorySection(cells), &document);
  Add(NoiseSection(cells), &document);
  Add(EnvironmentSection(input), &document);
  Add(NotMeasuredSection(cells), &document);
  Add(RepeatSection(input), &document);
  return document;
}

}  // namespace feedrate
