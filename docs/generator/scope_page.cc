#include "docs/generator/scope_page.h"

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "docs/generator/policy_section.h"
#include "docs/generator/words.h"
#include "lib/base/status_macros.h"
#include "lib/catalogue/catalogue.h"
#include "lib/catalogue/transform_set.h"
#include "lib/config/matrix.pb.h"
#include "lib/config/transforms.pb.h"
#include "lib/draw/text.h"

namespace feedrate {
namespace {

constexpr char kIntroduction[] =
    "# Scope\n\n"
    "What feedrate measures, what it leaves out and why, and the rules it "
    "follows. The facts are in configs/matrix.textproto, "
    "configs/policy.textproto and configs/transforms/; the transform sets have "
    "[pages of their own](transform_sets/).\n\n"
    "In: images and clips, on the CPU (`cpu`) and on NVIDIA GPUs (`cuda`). "
    "Out: Apple GPUs (`mps`), which the public benchmark treats as optional "
    "and keeps out of its tables; training quality; accuracy of a transform "
    "beyond whether it is the same work.\n\n";

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
  return absl::StrCat("## Scenarios\n\n", table.ToMarkdown(), "\n");
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
      "## Libraries\n\nOnly libraries of the public benchmark decide which "
      "transforms are in a set, and only they are in configs/paper/. The "
      "others were added here.\n\n",
      table.ToMarkdown(), "\n");
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
      "## What goes together\n\nWhat is not listed cannot be asked for. "
      "Optional rows run, are labelled `optional`, and no coverage check asks "
      "for them. On the host's CPU: asked for on `cuda`, it runs on the CPU of "
      "the GPU machine and is labelled `host_cpu`.\n";
  for (const Scenario& s : matrix.scenarios()) {
    Table table = TextTable(
        {"library", "mode", "device", "scopes", "runs", "labels", "remark"});
    for (const Combination& c : matrix.combinations()) {
      if (c.scenario() != s.name()) continue;
      table.AddRow({c.library(), c.mode(), c.device(), Codes(c.scopes()),
                    StatusInWords(c), Codes(c.labels()), c.reason()});
    }
    absl::StrAppend(&text, "\n### ", s.name(), "\n\n", table.ToMarkdown());
  }
  return absl::StrCat(text, "\n");
}

std::string ExceptionsTable(const Matrix& matrix, CellStatus status) {
  Table table = TextTable(
      {"scenario", "library", "mode", "device", "transforms", "reason"});
  for (const CellException& e : matrix.exceptions()) {
    if (e.status() != status) continue;
    table.AddRow({e.scenario(), e.library(), e.has_mode() ? e.mode() : "all",
                  e.has_device() ? e.device() : "all",
                  absl::StrJoin(e.transforms(), ", "), e.reason()});
  }
  return table.ToMarkdown();
}

std::string ExceptionsSection(const Matrix& matrix) {
  return absl::StrCat(
      "## Cells left out\n\n### Excluded\n\nNo job is planned; `plan "
      "--emit=table` lists them.\n\n",
      ExceptionsTable(matrix, EXCLUDED),
      "\n### Unsupported\n\nA job is planned and answered by a row of status "
      "`unsupported` without running, as in the published tables.\n\n",
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
      " public libraries to be a member. What has fewer, or is left out on "
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
  return absl::StrCat(kGeneratedNote, kIntroduction, scenarios,
                      LibrariesSection(matrix), CombinationsSection(matrix),
                      ExceptionsSection(matrix), candidates,
                      PolicySection(catalogue.policy()));
}

}  // namespace feedrate
