#include "lib/catalogue/check_transforms.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/catalogue/checker.h"
#include "lib/catalogue/vocabulary.h"
#include "lib/config/matrix.pb.h"
#include "lib/config/transforms.pb.h"

namespace feedrate {
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
      for (const std::string& mode : impl.modes()) {
        check.OneOf("mode", mode, KnownModes());
      }
    }
  }
  return check.status();
}

}  // namespace feedrate
