#include "lib/catalogue/check_catalogue.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/catalogue/catalogue.h"

namespace feedrate {

// Never destroyed, so that no exit order can bite.
const std::vector<std::string>& KnownModes() {
  static const auto& words = *new std::vector<std::string>{
      "micro", "pipeline", "decode", "mixture", "train"};
  return words;
}

const std::vector<std::string>& KnownMedia() {
  static const auto& words =
      *new std::vector<std::string>{"image", "clip", "sample"};
  return words;
}

const std::vector<std::string>& KnownDevices() {
  static const auto& words = *new std::vector<std::string>{"cpu", "cuda"};
  return words;
}

const std::vector<std::string>& KnownProfiles() {
  static const auto& words = *new std::vector<std::string>{"paper", "matched"};
  return words;
}

const std::vector<std::string>& KnownLabels() {
  static const auto& words = *new std::vector<std::string>{
      "memory_limited", "per_sample_loop", "exploratory", "indicative",  "cold",
      "partly_cold",    "host_cpu",        "optional",    "cpu_fallback"};
  return words;
}

const std::vector<std::string>& KnownSets() {
  static const auto& words = *new std::vector<std::string>{"paper", "training"};
  return words;
}

void Checker::Enter(absl::string_view field, int index,
                    absl::string_view name) {
  field_ = field;
  index_ = index;
  name_ = name;
}

void Checker::Present(absl::string_view field, absl::string_view value) {
  if (value.empty()) Complain(absl::StrCat(field, " is missing"));
}

void Checker::OneOf(absl::string_view field, absl::string_view value,
                    const std::vector<std::string>& known) {
  if (value.empty()) return Complain(absl::StrCat(field, " is missing"));
  if (std::find(known.begin(), known.end(), value) != known.end()) return;
  Complain(absl::StrCat(field, " \"", value, "\" is unknown",
                        DidYouMean(value, known)));
}

void Checker::EachOneOf(
    absl::string_view field,
    const google::protobuf::RepeatedPtrField<std::string>& values,
    const std::vector<std::string>& known) {
  for (const std::string& value : values) OneOf(field, value, known);
}

void Checker::That(bool good, absl::string_view problem) {
  if (!good) Complain(problem);
}

void Checker::Complain(absl::string_view problem) {
  if (!status_.ok()) return;
  std::string place(file_);
  if (!field_.empty()) {
    absl::StrAppend(&place, ": ", field_, "[", index_, "]");
    if (!name_.empty()) absl::StrAppend(&place, " (", name_, ")");
  }
  status_ = absl::InvalidArgumentError(absl::StrCat(place, ": ", problem));
}

namespace {

using Names = std::vector<std::string>;
using View = absl::string_view;

template <typename Entries>
Names NamesOf(const Entries& entries) {
  Names names;
  names.reserve(entries.size());
  for (const auto& entry : entries) names.push_back(entry.name());
  return names;
}

// What the parts of a matrix are checked against.
struct Context {
  Names scenarios;
  Names libraries;
  absl::flat_hash_map<absl::string_view, absl::string_view> media_of_scenario;
  const Policy& policy;
};

// The scopes that the policy gives a mode. Empty: the policy lacks the mode.
Names ScopesOf(const Policy& policy, absl::string_view mode,
               absl::string_view media) {
  for (const ModePolicy& m : policy.modes()) {
    if (m.mode() == mode && m.media() == media) {
      return Names(m.scopes().begin(), m.scopes().end());
    }
  }
  return {};
}

absl::Status CheckScenarios(const Matrix& matrix, const Context& context,
                            const std::string& file) {
  Checker check(file);
  check.That(matrix.scenarios_size() > 0, "no scenarios");
  absl::flat_hash_set<absl::string_view> seen;
  for (int i = 0; i < matrix.scenarios_size(); ++i) {
    const Scenario& s = matrix.scenarios(i);
    check.Enter("scenarios", i, s.name());
    check.Present("name", s.name());
    check.That(seen.insert(s.name()).second, "this name is taken");
    check.Present("short_name", s.short_name());
    check.OneOf("media", s.media(), KnownMedia());
    check.That(s.channels() >= 1, "channels must be at least 1");
    const bool clip = s.media() == "clip";
    check.That(clip == (s.clip_length() > 0),
               clip ? "clips need a clip_length of at least 1"
                    : "images have no clip_length");
    check.That(s.public_libraries_size() > 0, "no public_libraries");
    check.EachOneOf("public library", s.public_libraries(), context.libraries);
  }
  return check.status();
}

absl::Status CheckLibraries(const Matrix& matrix, const std::string& file) {
  Checker check(file);
  check.That(matrix.libraries_size() > 0, "no libraries");
  absl::flat_hash_set<absl::string_view> seen;
  for (int i = 0; i < matrix.libraries_size(); ++i) {
    const Library& l = matrix.libraries(i);
    check.Enter("libraries", i, l.name());
    check.Present("name", l.name());
    check.That(seen.insert(l.name()).second, "this name is taken");
    check.OneOf("origin", l.origin(), {"public", "ours"});
    if (l.has_transforms_of()) {
      check.OneOf("transforms_of", l.transforms_of(),
                  NamesOf(matrix.libraries()));
    }
    if (l.has_loader_source()) {
      check.OneOf("loader_source", l.loader_source(), {"files", "shards"});
    }
    check.EachOneOf("container", l.containers(), ContainerNames());
    if (l.has_engine_decode()) {
      check.OneOf("engine_decode", l.engine_decode(),
                  {"reported", "unreported"});
    }
  }
  return check.status();
}

void CheckScopes(const Combination& c, const Context& context, Checker* check) {
  check->That(c.scopes_size() > 0, "no scopes");
  for (const std::string& scenario : c.scenario()) {
    const auto media = context.media_of_scenario.find(scenario);
    if (media == context.media_of_scenario.end()) continue;
    const Names known = ScopesOf(context.policy, c.mode(), media->second);
    if (known.empty()) {
      check->That(false, "the policy has no such mode for this media");
      return;
    }
    check->EachOneOf("scope", c.scopes(), known);
  }
}

absl::Status CheckCombinations(const Matrix& matrix, const Context& context,
                               const std::string& file) {
  Checker check(file);
  absl::flat_hash_set<CombinationKey> seen;
  for (int i = 0; i < matrix.combinations_size() && check.ok(); ++i) {
    const Combination& c = matrix.combinations(i);
    const std::string name = absl::StrCat(
        absl::StrJoin(c.scenario(), "+"), ", ", absl::StrJoin(c.library(), "+"),
        ", ", c.mode(), ", ", absl::StrJoin(c.device(), "+"));
    check.Enter("combinations", i, name);
    check.EachOneOf("scenario", c.scenario(), context.scenarios);
    check.EachOneOf("library", c.library(), context.libraries);
    check.OneOf("mode", c.mode(), KnownModes());
    check.EachOneOf("device", c.device(), KnownDevices());
    CheckScopes(c, context, &check);
    check.That(!KeysOf(c).empty(), "scenario, library or device is missing");
    for (const CombinationKey& key : KeysOf(c)) {
      check.That(seen.insert(key).second,
                 "another combination has one of its scopes");
    }
    check.That(c.status() != COMBINATION_STATUS_UNSPECIFIED,
               "status is missing");
    // Text may give a number, and protobuf takes any.
    check.That(CombinationStatus_IsValid(c.status()), "status is unknown");
    check.That(c.status() != REJECTED || !c.reason().empty(),
               "REJECTED needs a reason");
    check.That(
        c.status() != HOST_CPU || !absl::c_linear_search(c.device(), "cpu"),
        "HOST_CPU is for device cuda");
    check.EachOneOf("label", c.labels(), KnownLabels());
  }
  return check.status();
}

absl::Status CheckCells(const Matrix& matrix, const Context& context,
                        const std::string& file) {
  Checker check(file);
  for (int i = 0; i < matrix.exceptions_size() && check.ok(); ++i) {
    const CellException& e = matrix.exceptions(i);
    const std::string name =
        absl::StrCat(absl::StrJoin(e.scenario(), "+"), ", ", e.library());
    check.Enter("exceptions", i, name);
    check.That(e.scenario_size() > 0, "scenario is missing");
    check.EachOneOf("scenario", e.scenario(), context.scenarios);
    check.OneOf("library", e.library(), context.libraries);
    if (e.has_mode()) check.OneOf("mode", e.mode(), KnownModes());
    if (e.has_device()) check.OneOf("device", e.device(), KnownDevices());
    check.That(e.transforms_size() > 0, "no transforms");
    check.That(e.status() != CELL_STATUS_UNSPECIFIED, "status is missing");
    check.That(CellStatus_IsValid(e.status()), "status is unknown");
    check.Present("reason", e.reason());
  }
  return check.status();
}

}  // namespace

absl::Status CheckMatrix(const Matrix& matrix, const Policy& policy,
                         const std::string& file) {
  Context context{
      NamesOf(matrix.scenarios()), NamesOf(matrix.libraries()), {}, policy};
  for (const Scenario& s : matrix.scenarios()) {
    context.media_of_scenario[s.name()] = s.media();
  }
  RETURN_IF_ERROR(CheckLibraries(matrix, file));
  RETURN_IF_ERROR(CheckScenarios(matrix, context, file));
  RETURN_IF_ERROR(CheckCombinations(matrix, context, file));
  return CheckCells(matrix, context, file);
}

absl::Status CheckExceptions(const Matrix& matrix, const Scenario& scenario,
                             const TransformSet& set, const std::string& file) {
  Checker check(file);
  absl::flat_hash_set<absl::string_view> known;
  for (const Transform& t : set.transforms()) known.insert(t.name());
  for (int i = 0; i < matrix.exceptions_size() && check.ok(); ++i) {
    const CellException& e = matrix.exceptions(i);
    if (!absl::c_linear_search(e.scenario(), scenario.name())) continue;
    check.Enter("exceptions", i, e.library());
    for (const std::string& transform : e.transforms()) {
      if (known.contains(transform)) continue;
      check.OneOf("transform", transform, NamesOf(set.transforms()));
    }
  }
  return check.status();
}

namespace {

using View = absl::string_view;

std::vector<std::string> LibraryNames(const Matrix& matrix) {
  std::vector<std::string> names;
  for (const Library& l : matrix.libraries()) names.push_back(l.name());
  return names;
}

template <typename Strings>
void CheckParameters(View field, const Strings& params, Checker* check) {
  std::vector<View> seen;
  for (const std::string& param : params) {
    const size_t equals = param.find('=');
    if (equals == 0 || equals == std::string::npos) {
      check->That(false, absl::StrCat(field, " \"", param,
                                      "\" is not of the form NAME=VALUE"));
      return;
    }
    if (absl::StrContains(param, '\n')) {
      check->That(false, absl::StrCat(field, " has a line break"));
    }
    const View name = View(param).substr(0, equals);
    for (View other : seen) {
      if (other == name) {
        check->That(false, absl::StrCat(field, " has \"", name, "\" twice"));
      }
    }
    seen.push_back(name);
  }
}

// The definition of a transform, or why it has none; lib/reference knows the
// operations.
void CheckReference(const Reference& reference, Checker* check) {
  if (reference.has_unchecked()) {
    check->Present("reference.unchecked", reference.unchecked());
    check->That(!reference.has_op() && reference.params().empty(),
                "reference has both unchecked and an op");
    return;
  }
  check->Present("reference.op", reference.op());
  check->That(reference.kind() != REFERENCE_KIND_UNSPECIFIED,
              "reference has no kind");
  CheckParameters("reference.params", reference.params(), check);
  check->That(reference.max_abs_diff() >= 0 && reference.max_abs_diff() <= 255,
              "reference.max_abs_diff is not in 0..255");
  check->That(reference.min_psnr_db() >= 0 && reference.min_psnr_db() <= 100,
              "reference.min_psnr_db is not in 0..100");
}

}  // namespace

absl::Status CheckTransforms(const TransformSet& set, const Scenario& scenario,
                             const Matrix& matrix, const std::string& file) {
  Checker check(file);
  if (set.scenario() != scenario.name()) {
    check.That(false, absl::StrCat("scenario is \"", set.scenario(),
                                   "\", but the matrix has this file for \"",
                                   scenario.name(), "\""));
  }
  // A set may have a hundred thousand implementations: hashes, and text only
  // for a complaint.
  absl::flat_hash_set<View> libraries;
  for (const Library& l : matrix.libraries()) libraries.insert(l.name());
  absl::flat_hash_set<View> names;
  absl::flat_hash_set<std::pair<View, View>> seen;
  for (int i = 0; i < set.transforms_size() && check.ok(); ++i) {
    const Transform& t = set.transforms(i);
    check.Enter("transforms", i, t.name());
    check.Present("name", t.name());
    check.That(names.insert(t.name()).second, "this name is taken");
    check.That(t.implementations_size() > 0, "no implementations");
    if (t.has_set()) check.OneOf("set", t.set(), KnownSets());
    if (t.has_batch_transform()) {
      check.OneOf("batch_transform", t.batch_transform(), {"mixup", "cutmix"});
    }
    if (t.has_reference()) CheckReference(t.reference(), &check);
    seen.clear();
    for (int j = 0; j < t.implementations_size() && check.ok(); ++j) {
      const Implementation& impl = t.implementations(j);
      const std::string where = absl::StrCat(t.name(), ", ", impl.library());
      check.Enter("transforms", i, where);
      if (!libraries.contains(impl.library())) {
        check.OneOf("library", impl.library(), LibraryNames(matrix));
      }
      check.That(seen.insert({impl.library(), impl.params_profile()}).second,
                 "this library is there twice for one profile");
      if (impl.has_params_profile()) {
        check.OneOf("params_profile", impl.params_profile(), KnownProfiles());
      }
      check.Present("native_op", impl.native_op());
      if (impl.has_unchecked()) check.Present("unchecked", impl.unchecked());
      CheckParameters("params", impl.params(), &check);
      CheckParameters("library_defaults", impl.library_defaults(), &check);
      check.EachOneOf("mode", impl.modes(), KnownModes());
    }
  }
  return check.status();
}

}  // namespace feedrate
