#include "lib/catalogue/inherit_transforms.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

using View = absl::string_view;

constexpr View kPaper = "paper";
constexpr View kMatched = "matched";

}  // namespace

View ProfileOf(const Implementation& implementation) {
  return implementation.params_profile().empty()
             ? kPaper
             : View(implementation.params_profile());
}

namespace {

template <typename Names>
bool Contains(const Names& names, View name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The index of the entry for `library` and `profile`, or -1.
int IndexOf(const Transform& transform, View library, View profile) {
  for (int i = 0; i < transform.implementations_size(); ++i) {
    const Implementation& entry = transform.implementations(i);
    if (entry.library() == library && ProfileOf(entry) == profile) return i;
  }
  return -1;
}

// Whether `base` is about `entry`, for a transform without exceptions.
bool IsInherited(const BaseSet& base, const Implementation& entry) {
  return Contains(base.libraries(), entry.library()) &&
         (base.params_profiles().empty() ||
          Contains(base.params_profiles(), ProfileOf(entry)));
}

bool IsAbout(const NotInherited& without, const Implementation& entry) {
  return without.library() == entry.library() &&
         (!without.has_params_profile() ||
          without.params_profile() == ProfileOf(entry));
}

std::string Field(const std::string& path, View field, int index) {
  return absl::StrCat(path, ".", field, "[", index, "]");
}

absl::Status InheritTransform(const BaseSet& how, const Transform& base,
                              const std::string& path, const FieldError& error,
                              Transform* transform) {
  std::vector<bool> kept_out(transform->without_size(), false);
  std::vector<bool> placed(transform->implementations_size(), false);
  std::vector<Implementation> entries;
  for (Implementation entry : base.implementations()) {
    // It is about the reference.
    if (!how.references()) entry.clear_unchecked();
    for (const AddedParameter& added : how.added_params()) {
      if (added.library() == entry.library()) entry.add_params(added.param());
    }
    const int own = IndexOf(*transform, entry.library(), ProfileOf(entry));
    if (own >= 0) {
      const Implementation& stated = transform->implementations(own);
      if (IsInherited(how, entry) &&
          stated.SerializeAsString() == entry.SerializeAsString()) {
        return error(
            Field(path, "implementations", own),
            absl::StrCat("repeats that of ", how.scenario(), "; leave it out"));
      }
      placed[own] = true;
      entries.push_back(stated);
      continue;
    }
    if (!IsInherited(how, entry)) continue;
    bool wanted = true;
    for (int i = 0; i < transform->without_size(); ++i) {
      if (!IsAbout(transform->without(i), entry)) continue;
      kept_out[i] = true;
      wanted = false;
    }
    if (wanted) entries.push_back(entry);
  }
  for (int i = 0; i < transform->without_size(); ++i) {
    if (kept_out[i]) continue;
    return error(Field(path, "without", i),
                 absl::StrCat("keeps nothing out that ", how.scenario(),
                              " has; leave it out"));
  }
  for (int i = 0; i < transform->implementations_size(); ++i) {
    if (!placed[i]) entries.push_back(transform->implementations(i));
  }
  transform->clear_implementations();
  for (Implementation& entry : entries) {
    transform->add_implementations()->Swap(&entry);
  }
  if (how.references() && !transform->has_reference() && base.has_reference()) {
    *transform->mutable_reference() = base.reference();
  }
  return absl::OkStatus();
}

// What `paper` says about the profile `matched`.
Implementation MatchedOf(const Implementation& paper) {
  Implementation matched = paper.matched();
  if (!matched.has_native_op()) matched.set_native_op(paper.native_op());
  if (matched.params().empty()) *matched.mutable_params() = paper.params();
  if (!matched.has_wrap() && paper.has_wrap()) matched.set_wrap(paper.wrap());
  if (matched.modes().empty()) *matched.mutable_modes() = paper.modes();
  if (paper.also_matched() && paper.has_unchecked()) {
    matched.set_unchecked(paper.unchecked());
  }
  return matched;
}

}  // namespace

absl::Status ExpandMatched(const FieldError& error, TransformSet* set) {
  for (int t = 0; t < set->transforms_size(); ++t) {
    Transform* const transform = set->mutable_transforms(t);
    const int stated = transform->implementations_size();
    for (int i = 0; i < stated; ++i) {
      Implementation* const paper = transform->mutable_implementations(i);
      if (!paper->has_also_matched() && !paper->has_matched()) continue;
      const std::string path = absl::StrCat(
          "transforms[", t, "].implementations[", i,
          paper->has_also_matched() ? "].also_matched" : "].matched");
      if (ProfileOf(*paper) != kPaper ||
          (paper->has_also_matched() && !paper->also_matched())) {
        return error(path, paper->has_also_matched()
                               ? "is only ever true, and for profile paper"
                               : "is only for profile paper");
      }
      if (IndexOf(*transform, paper->library(), kMatched) >= 0 ||
          (paper->has_also_matched() && paper->has_matched())) {
        return error(path, absl::StrCat(paper->library(),
                                        " has an entry for matched as well"));
      }
      Implementation matched = MatchedOf(*paper);
      if (paper->has_matched() &&
          (matched.has_library() || matched.has_params_profile() ||
           matched.has_also_matched() || matched.has_matched())) {
        return error(path, "says only what differs from profile paper");
      }
      paper->clear_also_matched();
      paper->clear_matched();
      matched.set_library(paper->library());
      matched.set_params_profile(std::string(kMatched));
      *transform->add_implementations() = matched;
    }
  }
  return absl::OkStatus();
}

absl::Status InheritFrom(const TransformSet& base, const FieldError& error,
                         TransformSet* set) {
  if (set->base().libraries().empty()) {
    return error("base.libraries", "is missing; name at least one library");
  }
  absl::flat_hash_map<View, const Transform*> base_transforms;
  for (const Transform& t : base.transforms()) base_transforms[t.name()] = &t;
  for (int i = 0; i < set->transforms_size(); ++i) {
    Transform* const transform = set->mutable_transforms(i);
    const std::string path = absl::StrCat("transforms[", i, "]");
    const auto found = base_transforms.find(transform->name());
    const bool own = transform->own();
    if (found == base_transforms.end() && transform->has_own()) {
      return error(path + ".own",
                   absl::StrCat(set->base().scenario(), " has no transform \"",
                                transform->name(), "\"; leave it out"));
    }
    if (!transform->without().empty() &&
        (own || found == base_transforms.end())) {
      return error(path + ".without[0]", "nothing is inherited; leave it out");
    }
    if (found != base_transforms.end() && !own) {
      RETURN_IF_ERROR(InheritTransform(set->base(), *found->second, path, error,
                                       transform));
    }
    transform->clear_without();
    transform->clear_own();
  }
  set->clear_base();
  return absl::OkStatus();
}

}  // namespace feedrate
