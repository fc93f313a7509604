#include <algorithm>
#include <map>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "docs/generator/markdown.h"
#include "docs/generator/pages.h"
#include "lib/base/status_macros.h"
#include "lib/config/transforms.pb.h"
#include "lib/draw/text.h"

namespace feedrate {
namespace {

using Members = std::vector<const Transform*>;

bool IsMatched(const Implementation& impl) {
  return impl.params_profile() == "matched";
}

// Libraries with an implementation in the set, public ones first, each group
// in the order of the matrix.
std::vector<const Library*> LibrariesOf(const Catalogue& catalogue,
                                        const Members& members) {
  absl::flat_hash_set<absl::string_view> having;
  for (const Transform* t : members) {
    for (const Implementation& impl : t->implementations()) {
      having.insert(impl.library());
    }
  }
  std::vector<const Library*> libraries;
  for (const Library& l : catalogue.matrix().libraries()) {
    if (having.contains(l.name())) libraries.push_back(&l);
  }
  std::stable_sort(libraries.begin(), libraries.end(),
                   [](const Library* a, const Library* b) {
                     return a->origin() == "public" && b->origin() != "public";
                   });
  return libraries;
}

// The call with what is passed, what is done around it, and its modes.
std::string Call(const Implementation& impl) {
  std::string call = Code(absl::StrCat(
      impl.native_op(), "(", absl::StrJoin(impl.params(), ", "), ")"));
  if (!impl.wrap().empty()) absl::StrAppend(&call, "; ", impl.wrap());
  if (impl.modes().empty()) return call;
  return absl::StrCat(call, " (", absl::StrJoin(impl.modes(), ", "), " only)");
}

std::string PaperCell(const Transform& t, const Library& library) {
  const Implementation* impl = FindImplementation(t, library.name(), "paper");
  return impl == nullptr ? "–" : Call(*impl);
}

std::string MatchedCell(const Transform& t, const Library& library) {
  const Implementation* impl = FindImplementation(t, library.name(), "matched");
  if (impl == nullptr) return "–";
  const std::string call = Call(*impl);
  return absl::StrCat(call == PaperCell(t, library) ? "as above" : call,
                      impl->same_work_note().empty() ? "" : ". ",
                      impl->same_work_note());
}

std::string SupportSection(const std::vector<const Library*>& libraries,
                           const Members& members) {
  Table table({"library", "transforms", "of these not in mode micro"},
              {Align::kLeft, Align::kRight, Align::kRight});
  for (const Library* library : libraries) {
    int all = 0;
    int not_micro = 0;
    for (const Transform* t : members) {
      const Implementation* impl =
          FindImplementation(*t, library->name(), "paper");
      if (impl == nullptr) continue;
      ++all;
      if (!HasMode(*impl, "micro")) ++not_micro;
    }
    table.AddRow({absl::StrCat(Code(library->name()),
                               library->origin() == "ours" ? " (ours)" : ""),
                  absl::StrCat(all), absl::StrCat(not_micro)});
  }
  return absl::StrCat("## Who has how many\n\n",
                      table.ToMarkdown(Table::Cells::kMarkdown), "\n");
}

std::string MembersSection(const std::vector<const Library*>& libraries,
                           const Members& members) {
  std::vector<std::string> header = {"transform"};
  for (const Library* l : libraries) header.push_back(l->name());
  Table table = TextTable(header);
  for (const Transform* t : members) {
    std::vector<std::string> row = {absl::StrCat("**", t->name(), "**")};
    for (const Library* l : libraries) row.push_back(PaperCell(*t, *l));
    table.AddRow(row);
  }
  return absl::StrCat(
      "## Members\n\nWhat each library is asked for in the profile `paper`, as "
      "it would write it; – where it has none. U(a,b) is drawn evenly from a "
      "to "
      "b for each call. After a semicolon: what is done around the call. What "
      "is left to the library, and what comes of it, is in configs/transforms/."
      "\n\n",
      table.ToMarkdown(Table::Cells::kMarkdown), "\n");
}

// What a transform means, and how each library is brought to do it.
std::string MatchedSection(const std::vector<const Library*>& libraries,
                           const Members& members) {
  std::vector<std::string> header = {"transform", "reference"};
  for (const Library* l : libraries) header.push_back(l->name());
  Table table = TextTable(header);
  bool any = false;
  for (const Transform* t : members) {
    if (!t->has_reference()) continue;
    any = true;
    const Reference& reference = t->reference();
    std::vector<std::string> row = {
        absl::StrCat("**", t->name(), "**"),
        reference.unchecked().empty()
            ? Code(absl::StrCat(reference.op(), "(",
                                absl::StrJoin(reference.params(), ", "), ")"))
            : reference.unchecked()};
    for (const Library* l : libraries) row.push_back(MatchedCell(*t, *l));
    table.AddRow(row);
  }
  if (!any) return "";
  return absl::StrCat(
      "## Matched\n\nWhat each transform means (an operation of lib/reference) "
      "and, in the profile `matched`, how each library is asked for just that. "
      "The measured result is in [equivalence.md](../equivalence.md).\n\n",
      table.ToMarkdown(Table::Cells::kMarkdown), "\n");
}

std::string DifferentWorkSection(const Members& members) {
  std::string text =
      "## Different work under one name\n\nRatios between these libraries say "
      "little: with the profile `paper` they are not asked for the same.\n\n";
  for (const Transform* t : members) {
    for (const Implementation& impl : t->implementations()) {
      if (IsMatched(impl) || impl.same_work_note().empty()) continue;
      absl::StrAppend(&text, "- **", t->name(), "**, ", impl.library(), ": ",
                      impl.same_work_note(), "\n");
    }
  }
  return absl::StrCat(text, "\n");
}

std::string TrainingSection(const Members& members) {
  if (members.empty()) return "";
  Table table = TextTable({"recipe", "batch", "library", "call"});
  for (const Transform* t : members) {
    for (const Implementation& impl : t->implementations()) {
      table.AddRow(
          {t->name(), t->batch_transform(), impl.library(), Call(impl)});
    }
  }
  return absl::StrCat(
      "## Training\n\nRecipes that models are trained with, for loaders "
      "(`--transform_set=training`). Batch: what is done to the whole batch "
      "once it is made.\n\n",
      table.ToMarkdown(Table::Cells::kMarkdown), "\n");
}

std::string LeftOutSection(const TransformSet& set, const Scenario& scenario) {
  std::string left_out;
  std::map<std::string, std::vector<std::string>> by_library;
  for (const Transform& t : set.transforms()) {
    if (!t.left_out().empty()) {
      absl::StrAppend(&left_out, "- **", t.name(), "**: ", t.left_out(), "\n");
    } else if (!t.has_set() &&
               PublicLibraries(scenario, t) < kLibrariesOfAMember) {
      by_library[t.implementations(0).library()].push_back(t.name());
    }
  }
  std::string text = "## Not members\n\n";
  if (!left_out.empty()) {
    absl::StrAppend(&text, "Two libraries have them, and yet:\n\n", left_out,
                    "\n");
  }
  absl::StrAppend(&text,
                  "Only one library has them, so there is nothing to "
                  "compare:\n\n");
  for (const auto& [library, names] : by_library) {
    absl::StrAppend(&text, "- ", library, ": ", absl::StrJoin(names, ", "),
                    "\n");
  }
  return text;
}

}  // namespace

absl::StatusOr<std::string> TransformsPage(const Catalogue& catalogue,
                                           const Scenario& scenario) {
  ASSIGN_OR_RETURN(const TransformSet* set, catalogue.Transforms(scenario));
  const Members members = SetMembers(scenario, *set);
  const std::vector<const Library*> libraries = LibrariesOf(catalogue, members);
  return absl::StrCat(
      kGeneratedNote, "# Transforms of ", scenario.name(), "\n\n",
      scenario.description(), " ", Count(members.size(), "transform"),
      " are members of the set: those that at least ", kLibrariesOfAMember,
      " of the libraries ", absl::StrJoin(scenario.public_libraries(), ", "),
      " have and that are not left out on purpose. The facts are in "
      "configs/transforms/",
      scenario.transforms(), ".\n\n", SupportSection(libraries, members),
      MembersSection(libraries, members), DifferentWorkSection(members),
      MatchedSection(libraries, members),
      TrainingSection(SetMembers(scenario, *set, kTrainingSet)),
      LeftOutSection(*set, scenario));
}

}  // namespace feedrate
