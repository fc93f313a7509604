#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "docs/generator/markdown.h"
#include "docs/generator/pages.h"
#include "lib/base/status_macros.h"
#include "lib/config/matrix.pb.h"
#include "lib/config/transforms.pb.h"
#include "lib/draw/text.h"
#include "lib/records/json.h"
#include "lib/records/record_io.h"

namespace feedrate {
namespace {

constexpr char kIntroduction[] =
    "# Equivalence\n\n"
    "You can compare the speed of two libraries only if both do the same "
    "work. So the output of each library is compared with a reference: the "
    "transform written from its definition in double precision "
    "(lib/reference), independent of every library. Each comparison uses "
    "three images and gives one label:\n\n"
    "- **exact**: the same bytes, or the same floats up to rounding\n"
    "- **equivalent**: the same shape and, where each value depends on one "
    "pixel, no value off by more than 2/255; elsewhere a PSNR of at least 40 "
    "dB that no shift of half a pixel improves. Noise is compared in "
    "distribution\n"
    "- **different**: neither; the reason is below the table\n"
    "- **noop**: the output is the input, and should not be\n"
    "- **unchecked**: drawn again for each call, so there is nothing to "
    "compare with\n\n"
    "The parameter profile `matched` asks every library for exactly what the "
    "reference does; `paper` uses the parameters of the public benchmark, "
    "whatever the result. [transform_sets](transform_sets/) lists the "
    "parameters. To measure this page again, run `make equivalence`.\n\n";

using Cells =
    std::map<std::pair<std::string, std::string>, const Verification*>;

// The verifications of one scenario and profile.
struct Part {
  std::string scenario;
  std::string profile;
  std::vector<std::string> libraries;
  std::vector<std::string> transforms;
  Cells cells;  // by transform and library
};

void AddOnce(const std::string& name, std::vector<std::string>* names) {
  if (std::find(names->begin(), names->end(), name) == names->end()) {
    names->push_back(name);
  }
}

// In the order of their first verification.
std::vector<Part> PartsOf(const std::vector<Verification>& verifications) {
  std::vector<Part> parts;
  for (const Verification& v : verifications) {
    auto part = std::find_if(parts.begin(), parts.end(), [&](const Part& p) {
      return p.scenario == v.scenario() && p.profile == v.params_profile();
    });
    if (part == parts.end()) {
      parts.push_back({v.scenario(), v.params_profile(), {}, {}, {}});
      part = parts.end() - 1;
    }
    AddOnce(v.library(), &part->libraries);
    AddOnce(v.transform(), &part->transforms);
    part->cells[{v.transform(), v.library()}] = &v;
  }
  return parts;
}

const Verification* CellOf(const Part& part, const std::string& transform,
                           const std::string& library) {
  const auto cell = part.cells.find({transform, library});
  return cell == part.cells.end() ? nullptr : cell->second;
}

bool SameWork(const Verification* v) {
  return v != nullptr && (v->equivalence().label() == "exact" ||
                          v->equivalence().label() == "equivalent");
}

// The label, and for one that is not exact how far it is.
std::string CellText(const Verification* v) {
  if (v == nullptr) return "–";
  if (v->status() != "ok") return v->status();
  const Equivalence& e = v->equivalence();
  if (e.label() != "equivalent" && e.label() != "different") return e.label();
  std::string text = e.label();
  if (e.has_psnr_db()) {
    absl::StrAppend(&text, absl::StrFormat(" (%.3g/255, %.0f dB)",
                                           e.max_abs_diff(), e.psnr_db()));
  }
  return text;
}

std::string TableOf(const Part& part) {
  std::vector<std::string> header = {"transform"};
  header.insert(header.end(), part.libraries.begin(), part.libraries.end());
  Table table = TextTable(header);
  for (const std::string& transform : part.transforms) {
    std::vector<std::string> row = {transform};
    for (const std::string& library : part.libraries) {
      row.push_back(CellText(CellOf(part, transform, library)));
    }
    table.AddRow(row);
  }
  return table.ToMarkdown(Table::Cells::kMarkdown);
}

std::string CountsOf(const Part& part, const Scenario& scenario) {
  const std::set<std::string> known(scenario.public_libraries().begin(),
                                    scenario.public_libraries().end());
  int two = 0;
  int public_two = 0;
  for (const std::string& transform : part.transforms) {
    int all = 0;
    int of_public = 0;
    for (const std::string& library : part.libraries) {
      if (!SameWork(CellOf(part, transform, library))) continue;
      ++all;
      of_public += static_cast<int>(known.count(library));
    }
    two += all >= 2;
    public_two += of_public >= 2;
  }
  return absl::StrCat("Two or more libraries do the same work in ", two, " of ",
                      Count(part.transforms.size(), "transform"),
                      ", two or more of ",
                      absl::StrJoin(scenario.public_libraries(), ", "), " in ",
                      public_two, ".\n\n");
}

std::string VersionsOf(const Part& part) {
  std::map<std::string, std::string> versions;
  for (const auto& cell : part.cells) {
    if (cell.second->library_version().empty()) continue;
    versions[cell.second->library()] = cell.second->library_version();
  }
  std::vector<std::string> texts;
  for (const std::string& library : part.libraries) {
    texts.push_back(absl::StrCat(library, " ", versions[library]));
  }
  return absl::StrCat("Versions: ", absl::StrJoin(texts, ", "), ".\n\n");
}

const Transform* FindTransform(const TransformSet& set,
                               const std::string& name) {
  for (const Transform& transform : set.transforms()) {
    if (transform.name() == name) return &transform;
  }
  return nullptr;
}

// What the catalogue says of a library that does other work: the note on these
// parameters, what they come to, or the note on the library's nearest.
std::string NoteOn(const Transform& transform, const Verification& v) {
  const Implementation* asked =
      FindImplementation(transform, v.library(), v.params_profile());
  const Implementation* nearest =
      FindImplementation(transform, v.library(), "matched");
  if (asked != nullptr) {
    if (!asked->same_work_note().empty()) return asked->same_work_note();
    if (!asked->effective().empty()) return asked->effective();
  }
  return nearest == nullptr ? "" : nearest->same_work_note();
}

// What was measured, and what the catalogue knows of it.
std::string ReasonOf(const Verification& v, const TransformSet& set) {
  if (v.status() != "ok") return absl::StrCat(v.status(), ": ", v.reason());
  std::string reason = v.equivalence().reference();
  if (v.equivalence().label() != "different") return reason;
  const Transform* transform = FindTransform(set, v.transform());
  const std::string note = transform == nullptr ? "" : NoteOn(*transform, v);
  if (!note.empty()) absl::StrAppend(&reason, ". ", note);
  return reason;
}

// Libraries with one reason share a line.
std::string ReasonsOf(const Part& part, const TransformSet& set) {
  std::string text;
  for (const std::string& transform : part.transforms) {
    std::vector<std::string> reasons;
    std::map<std::string, std::vector<std::string>> libraries;
    for (const std::string& library : part.libraries) {
      const Verification* v = CellOf(part, transform, library);
      if (v == nullptr || SameWork(v)) continue;
      const std::string reason = ReasonOf(*v, set);
      AddOnce(reason, &reasons);
      libraries[reason].push_back(library);
    }
    for (const std::string& reason : reasons) {
      absl::StrAppend(&text, "- **", transform, "**, ",
                      absl::StrJoin(libraries[reason], ", "), ": ", reason,
                      "\n");
    }
  }
  if (text.empty()) return "";
  return absl::StrCat("Different work, or not checked:\n\n", text, "\n");
}

}  // namespace

absl::StatusOr<std::vector<Verification>> ReadVerifications(
    const std::string& path) {
  std::vector<Verification> verifications;
  std::string complaint;
  RecordReader reader(
      [&](absl::string_view record, JsonReader& json) {
        if (record != "verification") return absl::OkStatus();
        Verification verification;
        RETURN_IF_ERROR(json.Read(&verification));
        verifications.push_back(std::move(verification));
        return absl::OkStatus();
      },
      [&](const std::string& problem) { complaint = problem; });
  RETURN_IF_ERROR(reader.ReadFile(path));
  if (!complaint.empty()) return absl::InvalidArgumentError(complaint);
  return verifications;
}

absl::StatusOr<std::string> EquivalencePage(
    const Catalogue& catalogue,
    const std::vector<Verification>& verifications) {
  std::string text = absl::StrCat(kGeneratedNote, kIntroduction);
  for (const Part& part : PartsOf(verifications)) {
    const Scenario* scenario = catalogue.FindScenario(part.scenario);
    if (scenario == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("no scenario ", part.scenario));
    }
    ASSIGN_OR_RETURN(const TransformSet* set, catalogue.Transforms(*scenario));
    absl::StrAppend(&text, "## ", part.scenario, ", ", part.profile, "\n\n",
                    CountsOf(part, *scenario), VersionsOf(part), TableOf(part),
                    "\n", ReasonsOf(part, *set));
  }
  return text;
}

}  // namespace feedrate
