#include "lib/audit/audit_report.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/text.h"
#include "lib/draw/document.h"
#include "lib/draw/svg.h"
#include "lib/draw/text.h"

namespace feedrate {
namespace {

std::string Answer(const Audit& audit) {
  if (audit.status() != "ok") return audit.status();
  return audit.verdict().empty() ? "cannot tell" : audit.verdict();
}

std::string Processes(const Audit& audit) {
  return Counted(audit.training().world_size(), "process", "es");
}

std::string Kills(const Audit& audit) {
  return absl::StrCat(audit.training().kills(),
                      audit.training().kills() == 1 ? " kill" : " kills");
}

std::string MemoryText(const AuditTraining& training) {
  return absl::StrCat(BytesText(training.first_rss_bytes()), " to ",
                      BytesText(training.last_rss_bytes()));
}

// "after 12 batches: 31 lost, 31 again".
std::string RestartText(const AuditResume& restart) {
  if (!restart.reason().empty()) return restart.reason();
  if (restart.after_batches() == 0) return "at the start of an epoch";
  return absl::StrCat("after ", Counted(restart.after_batches(), "batch", "es"),
                      " of an epoch: ", restart.lost(), " lost, ",
                      restart.repeated_items(), " again");
}

}  // namespace

std::string TrainingText(absl::Span<const AuditedTraining> trainings) {
  std::string text;
  for (const AuditedTraining& one : trainings) {
    const Audit& audit = one.audit;
    const AuditTraining& training = audit.training();
    absl::StrAppend(&text, Answer(audit), ": ", audit.library(), " (",
                    Processes(audit), ", ", Kills(audit), ")\n");
    for (const std::string& fault : audit.faults()) {
      absl::StrAppend(&text, "  FAULT  ", fault, "\n");
    }
    if (!audit.reason().empty()) {
      absl::StrAppend(&text, "  ", audit.reason(), "\n");
    }
    for (const std::string& note : audit.notes()) {
      absl::StrAppend(&text, "  note   ", note, "\n");
    }
    for (int i = 0; i < training.restarts_size(); ++i) {
      absl::StrAppend(&text, "  restart ", i + 1, ": ",
                      RestartText(training.restarts(i)), "\n");
    }
    absl::StrAppend(&text, "  ", Counted(audit.coverage().epochs(), "epoch"),
                    " of ", Counted(audit.num_items(), "item"), ", ",
                    Counted(training.samples(), "sample"), " seen, ",
                    training.unreadable(), " unreadable, ", training.mixed(),
                    " mixed\n  ", PercentText(training.wait_share()),
                    " of the time waiting for data; memory ",
                    MemoryText(training), "\n");
  }
  return PrintableLines(text);
}

std::string TrainingMarkdown(absl::Span<const AuditedTraining> trainings) {
  std::string text;
  for (const AuditedTraining& one : trainings) {
    const Audit& audit = one.audit;
    absl::StrAppend(&text, "**audit: ", Answer(audit), "** ",
                    MarkdownCode(audit.library()), ": ", Processes(audit), ", ",
                    Kills(audit), ", ",
                    Counted(audit.training().samples(), "sample"), ", ",
                    Counted(audit.faults_size(), "fault"), "\n\n");
    for (const std::string& fault : audit.faults()) {
      absl::StrAppend(&text, "- ", MarkdownText(fault), "\n");
    }
    if (!audit.reason().empty()) {
      absl::StrAppend(&text, "- ", MarkdownText(audit.reason()), "\n");
    }
  }
  return text;
}

std::string TrainingJunit(absl::Span<const AuditedTraining> trainings) {
  size_t failures = 0, skipped = 0;
  std::string cases;
  for (const AuditedTraining& one : trainings) {
    const Audit& audit = one.audit;
    std::string inner;
    if (!audit.faults().empty()) {
      ++failures;
      std::string all;
      for (const std::string& fault : audit.faults()) {
        absl::StrAppend(&all, fault, "\n");
      }
      inner = absl::StrCat("<failure message=\"", XmlText(audit.faults(0)),
                           "\">", XmlText(all), "</failure>");
    } else if (audit.verdict() != "pass") {
      ++skipped;
      inner =
          absl::StrCat("<skipped message=\"", XmlText(audit.reason()), "\"/>");
    }
    absl::StrAppend(
        &cases, "    <testcase classname=\"feedrate.audit\" name=\"",
        XmlText(absl::StrCat(audit.library(), " (", Processes(audit), ")")),
        "\">", inner, "</testcase>\n");
  }
  const std::string numbers =
      absl::StrCat("tests=\"", trainings.size(), "\" failures=\"", failures,
                   "\" errors=\"0\" skipped=\"", skipped, "\"");
  return absl::StrCat(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites "
      "name=\"feedrate\" ",
      "tests=\"", trainings.size(), "\" failures=\"", failures,
      "\" errors=\"0\">\n  <testsuite name=\"audit\" ", numbers, ">\n", cases,
      "  </testsuite>\n</testsuites>\n");
}

namespace {

// More marks than this make a page slow and a picture black.
constexpr size_t kMostMarks = 20000;

// Colors of the palette that everybody can tell apart: blue, amber, vermilion.
const char kOnce[] = "f0";
const char kAgain[] = "f4";
const char kNever[] = "f1";

struct Mark {
  double x, y;
  const char* css;
};

// Items over time: a dot where an item is seen, in another color if the epoch
// had it already, and marks at the end of an epoch for items that it lacks.
class Picture {
 public:
  Picture(const AuditItems& items, const TrainingRun& run,
          int64_t epoch_samples, double width)
      : items_(std::max<int64_t>(1, items.items())),
        width_(width),
        history_(HistoryOf(run, epoch_samples)) {}

  Svg Draw() {
    Collect();
    Svg svg(width_, kHeight, "items over time");
    const double right = width_ - 10;
    const double scale = (right - kLeft) / std::max<double>(1, time_);
    svg.Line(kLeft, kBottom, right, kBottom, "axis");
    svg.Line(kLeft, kTop, kLeft, kBottom, "axis");
    svg.Text(kLeft - 6, kTop + 8, absl::StrCat(items_ - 1), Svg::Anchor::kEnd,
             "t");
    svg.Text(kLeft - 6, kBottom, "0", Svg::Anchor::kEnd, "t");
    svg.Text(12, (kTop + kBottom) / 2, "item", Svg::Anchor::kMiddle, "t", -90);
    for (const auto& [at, name] : epochs_) {
      const double x = kLeft + at * scale;
      svg.Line(x, kTop, x, kBottom, "grid");
      svg.Text(x + 3, kBottom + 14, name, Svg::Anchor::kStart, "t");
    }
    const size_t step = marks_.size() / kMostMarks + 1;
    for (const char* css : {kOnce, kAgain, kNever}) {
      std::string data;
      for (size_t i = 0; i < marks_.size(); ++i) {
        const Mark& mark = marks_[i];
        if (mark.css != css || (css == kOnce && i % step != 0)) continue;
        const double size = css == kOnce ? 1.4 : 3;
        absl::StrAppendFormat(&data, "M%.1f %.1fh%.1fv%.1fh-%.1fz",
                              kLeft + mark.x * scale - size / 2,
                              Y(mark.y) - size / 2, size, size, size);
      }
      if (!data.empty()) svg.Path(data, css);
    }
    for (const auto& [at, name] : restarts_) {
      const double x = kLeft + at * scale;
      svg.Line(x, kTop, x, kBottom, "ref");
      svg.Text(x + 3, kTop - 4, name, Svg::Anchor::kStart, "t");
    }
    return svg;
  }

 private:
  static constexpr double kHeight = 330, kLeft = 56, kTop = 22, kBottom = 296;

  double Y(double item) const {
    return kBottom -
           (item + 0.5) * (kBottom - kTop) / static_cast<double>(items_);
  }

  void Collect() {
    size_t life = 0;
    for (size_t e = 0; e < history_.epochs.size(); ++e) {
      const SeenEpoch& epoch = history_.epochs[e];
      epochs_.emplace_back(time_, absl::StrCat("epoch ", e + 1));
      std::set<int64_t> seen;
      for (const Piece& piece : epoch.pieces) {
        if (piece.life != life) {
          life = piece.life;
          restarts_.emplace_back(time_, absl::StrCat("restart ", life));
        }
        AddPiece(piece, &seen);
      }
      if (epoch.replacement || !epoch.whole) continue;
      for (int64_t id = 0; id < items_; ++id) {
        if (seen.count(id) == 0) {
          marks_.push_back({time_ - 1, static_cast<double>(id), kNever});
        }
      }
    }
  }

  void AddPiece(const Piece& piece, std::set<int64_t>* seen) {
    size_t steps = 0;
    for (const auto& rank : piece.ranks) steps = std::max(steps, rank.size());
    for (size_t step = 0; step < steps; ++step) {
      for (const auto& rank : piece.ranks) {
        if (step >= rank.size()) continue;
        for (const int64_t id : rank[step]->ids) {
          time_ += 1;
          if (id < 0 || id >= items_) continue;
          const bool is_new = seen->insert(id).second;
          marks_.push_back(
              {time_, static_cast<double>(id), is_new ? kOnce : kAgain});
        }
      }
    }
  }

  const int64_t items_;
  const double width_;
  const History history_;
  double time_ = 0;
  std::vector<Mark> marks_;
  std::vector<std::pair<double, std::string>> epochs_;
  std::vector<std::pair<double, std::string>> restarts_;
};

Section SectionOf(const AuditItems& items, const AuditedTraining& one,
                  size_t index) {
  const Audit& audit = one.audit;
  const AuditTraining& training = audit.training();
  Section section;
  section.id = absl::StrCat("training-", index);
  section.title = absl::StrCat(Processes(audit), ": ", Answer(audit));
  KeyNumbers numbers;
  numbers.numbers = {
      {absl::StrCat(audit.faults_size()), "faults"},
      {absl::StrCat(audit.num_items()), "items"},
      {absl::StrCat(training.samples()), "samples seen"},
      {absl::StrCat(training.unreadable()), "unreadable"},
      {absl::StrCat(training.kills()), "kills"},
      {PercentText(training.wait_share()), "waiting for data"},
      {BytesText(training.last_rss_bytes()), "memory at the end"},
  };
  section.blocks.emplace_back(numbers);
  for (const std::string& fault : audit.faults()) {
    section.blocks.emplace_back(Paragraph{fault, true});
  }
  if (!audit.reason().empty()) {
    section.blocks.emplace_back(Paragraph{audit.reason(), true});
  }
  for (const std::string& note : audit.notes()) {
    section.blocks.emplace_back(Paragraph{absl::StrCat("Note: ", note)});
  }
  for (int i = 0; i < training.restarts_size(); ++i) {
    section.blocks.emplace_back(Paragraph{absl::StrCat(
        "Restart ", i + 1, ": ", RestartText(training.restarts(i)), ".")});
  }
  for (const TrainingRun& run : one.runs) {
    Figure figure;
    figure.id = absl::StrCat("items-", run.name);
    figure.caption = absl::StrCat(
        run.lives.size() > 1 ? "With kills" : "Without kills",
        ": the items that the model trained on, over time. Small dots were "
        "seen once in their epoch, large ones again; marks at the end of an "
        "epoch are items that it never had. Steps that the weights forgot are "
        "not drawn.");
    const int64_t epoch_samples = EpochSamples(one.runs[0], items.items());
    figure.draw = [items, run, epoch_samples](ScaleType, double width) {
      return Picture(items, run, epoch_samples, width).Draw();
    };
    section.blocks.emplace_back(figure);
  }
  return section;
}

}  // namespace

std::string TrainingHtml(const AuditItems& items,
                         absl::Span<const AuditedTraining> trainings) {
  Document document;
  document.title = "Which samples did the training see?";
  if (!trainings.empty()) document.subtitle = trainings[0].audit.library();
  for (size_t i = 0; i < trainings.size(); ++i) {
    document.sections.push_back(SectionOf(items, trainings[i], i));
  }
  return ToHtml(document);
}

}  // namespace feedrate
