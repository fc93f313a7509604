#include "lib/catalogue/catalogue.h"

#include <algorithm>
#include <tuple>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/catalogue/check_catalogue.h"
#include "lib/catalogue/inherit_transforms.h"
#include "lib/config/places.h"
#include "lib/config/text_proto.h"

namespace feedrate {
namespace {

using View = absl::string_view;

absl::flat_hash_set<View> PublicNames(const Scenario& scenario) {
  return {scenario.public_libraries().begin(),
          scenario.public_libraries().end()};
}

// Distinct libraries: one may have an implementation for each profile.
int CountPublic(const absl::flat_hash_set<View>& known,
                const Transform& transform) {
  absl::flat_hash_set<View> having;
  for (const Implementation& impl : transform.implementations()) {
    if (known.contains(impl.library())) having.insert(impl.library());
  }
  return static_cast<int>(having.size());
}

}  // namespace

std::vector<const Transform*> SetMembers(const Scenario& scenario,
                                         const TransformSet& set, View name) {
  const absl::flat_hash_set<View> known = PublicNames(scenario);
  std::vector<const Transform*> members;
  for (const Transform& transform : set.transforms()) {
    const View set_name =
        transform.set().empty() ? View(kPaperSet) : View(transform.set());
    if (set_name != name || !transform.left_out().empty()) continue;
    if (name != kPaperSet ||
        CountPublic(known, transform) >= kLibrariesOfAMember) {
      members.push_back(&transform);
    }
  }
  return members;
}

int PublicLibraries(const Scenario& scenario, const Transform& transform) {
  return CountPublic(PublicNames(scenario), transform);
}

const Implementation* FindImplementation(const Transform& transform,
                                         View library, View params_profile) {
  for (const Implementation& impl : transform.implementations()) {
    if (impl.library() == library && ProfileOf(impl) == params_profile) {
      return &impl;
    }
  }
  return nullptr;
}

bool HasMode(const Implementation& implementation, View mode) {
  const auto& modes = implementation.modes();
  return modes.empty() ||
         std::find(modes.begin(), modes.end(), mode) != modes.end();
}

std::pair<View, View> SplitParameter(View parameter) {
  const size_t equals = parameter.find('=');
  return {parameter.substr(0, equals), parameter.substr(equals + 1)};
}

absl::optional<View> FindParameter(const Implementation& implementation,
                                   View name) {
  for (const std::string& param : implementation.params()) {
    const std::pair<View, View> parts = SplitParameter(param);
    if (parts.first == name) return parts.second;
  }
  return absl::nullopt;
}

std::string CanonicalParameters(const Implementation& implementation) {
  std::string text = absl::StrCat("op ", implementation.native_op(), "\n");
  for (const std::string& param : implementation.params()) {
    absl::StrAppend(&text, "param ", param, "\n");
  }
  if (!implementation.wrap().empty()) {
    absl::StrAppend(&text, "wrap ", implementation.wrap(), "\n");
  }
  return text;
}

namespace {

constexpr char kMatrixFile[] = "matrix.textproto";
constexpr char kPolicyFile[] = "policy.textproto";

template <typename Map, typename Key>
auto FindOrNull(const Map& map, const Key& key) -> typename Map::mapped_type {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : found->second;
}

absl::Status CheckKnown(const FieldError& error, const std::string& path,
                        const std::string& value,
                        const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), value) != known.end()) {
    return absl::OkStatus();
  }
  return error(path, absl::StrCat("\"", value, "\" is unknown",
                                  DidYouMean(value, known)));
}

// A set without a base.
absl::Status CheckNothingInherited(const FieldError& error,
                                   const TransformSet& set) {
  for (int i = 0; i < set.transforms_size(); ++i) {
    const Transform& transform = set.transforms(i);
    if (transform.without().empty() && !transform.has_own()) continue;
    return error(absl::StrCat("transforms[", i,
                              transform.has_own() ? "].own" : "].without[0]"),
                 "the set has no base; leave it out");
  }
  return absl::OkStatus();
}

// An empty field of an exception stands for every value.
bool Fits(absl::string_view field, absl::string_view value) {
  return field.empty() || field == value;
}

}  // namespace

struct Catalogue::Data {
  Matrix matrix;
  Policy policy;
  absl::flat_hash_map<View, const Scenario*> scenarios;
  absl::flat_hash_map<View, const Library*> libraries;
  absl::flat_hash_map<CombinationKey, const Combination*> combinations;
  // By scenario, library and transform; in the order of the matrix.
  absl::flat_hash_map<std::tuple<View, View, View>,
                      std::vector<const CellException*>>
      exceptions;
  // By scenario.
  absl::flat_hash_map<View, std::unique_ptr<TransformSet>> transforms;
};

Catalogue::Catalogue() = default;
Catalogue::Catalogue(Catalogue&&) noexcept = default;
Catalogue& Catalogue::operator=(Catalogue&&) noexcept = default;
Catalogue::~Catalogue() = default;

const Matrix& Catalogue::matrix() const { return data_->matrix; }
const Policy& Catalogue::policy() const { return data_->policy; }

absl::StatusOr<Catalogue> Catalogue::Load(const std::string& configs_dir) {
  Matrix matrix;
  Policy policy;
  RETURN_IF_ERROR(ReadTextProto(JoinPath(configs_dir, kMatrixFile), &matrix));
  RETURN_IF_ERROR(ReadTextProto(JoinPath(configs_dir, kPolicyFile), &policy));
  return FromMessages(configs_dir, std::move(matrix), std::move(policy));
}

absl::StatusOr<Catalogue> Catalogue::FromMessages(
    const std::string& configs_dir, Matrix matrix, Policy policy) {
  RETURN_IF_ERROR(CheckPolicy(policy, JoinPath(configs_dir, kPolicyFile)));
  RETURN_IF_ERROR(
      CheckMatrix(matrix, policy, JoinPath(configs_dir, kMatrixFile)));
  Catalogue catalogue;
  catalogue.configs_dir_ = configs_dir;
  catalogue.data_ = absl::make_unique<Data>();
  catalogue.data_->matrix = std::move(matrix);
  catalogue.data_->policy = std::move(policy);
  catalogue.BuildIndex();
  return catalogue;
}

void Catalogue::BuildIndex() {
  const Matrix& matrix = data_->matrix;
  for (const Scenario& s : matrix.scenarios()) data_->scenarios[s.name()] = &s;
  for (const Library& l : matrix.libraries()) data_->libraries[l.name()] = &l;
  for (const Combination& c : matrix.combinations()) {
    for (const CombinationKey& key : KeysOf(c)) data_->combinations[key] = &c;
  }
  for (const CellException& e : matrix.exceptions()) {
    for (const std::string& scenario : e.scenario()) {
      for (const std::string& transform : e.transforms()) {
        data_->exceptions[{scenario, e.library(), transform}].push_back(&e);
      }
    }
  }
}

const Scenario* Catalogue::FindScenario(absl::string_view name) const {
  return FindOrNull(data_->scenarios, name);
}

const std::vector<std::string>& ContainerNames() {
  static const auto& names = *new std::vector<std::string>{
      "files", "shards", "tfrecord", "parquet", "arrays", "lmdb", "http"};
  return names;
}

std::string WhyNotContainer(const Library& library,
                            absl::string_view container) {
  std::vector<std::string> read(library.containers().begin(),
                                library.containers().end());
  if (read.empty()) {
    read.push_back(library.has_loader_source() ? library.loader_source()
                                               : "files");
  }
  if (std::find(read.begin(), read.end(), container) != read.end()) return "";
  return absl::StrCat("reads only ", absl::StrJoin(read, ", "), " here");
}

bool IsSubject(absl::string_view library) {
  return absl::StrContains(library, ':') || IsTorchFile(library);
}

bool IsTorchFile(absl::string_view library) {
  return absl::EndsWith(library, ".pt") || absl::EndsWith(library, ".pt2");
}

absl::string_view MatrixName(absl::string_view library) {
  return IsSubject(library) ? kSubjectLibrary : library;
}

const Library* Catalogue::FindLibrary(absl::string_view name) const {
  return FindOrNull(data_->libraries, MatrixName(name));
}

const InputLayout* Catalogue::FindInputLayout(absl::string_view library,
                                              absl::string_view media,
                                              absl::string_view mode) const {
  for (const InputLayout& layout : policy().input_layouts()) {
    if (absl::c_linear_search(layout.library(), library) &&
        layout.media() == media &&
        (!layout.has_mode() || layout.mode() == mode)) {
      return &layout;
    }
  }
  return nullptr;
}

const Combination* Catalogue::FindCombination(absl::string_view scenario,
                                              absl::string_view library,
                                              absl::string_view mode,
                                              absl::string_view device,
                                              absl::string_view scope) const {
  return FindOrNull(
      data_->combinations,
      CombinationKey(scenario, MatrixName(library), mode, device, scope));
}

const CellException* Catalogue::FindException(
    absl::string_view scenario, absl::string_view library,
    absl::string_view mode, absl::string_view device,
    absl::string_view transform) const {
  const auto found =
      data_->exceptions.find(std::make_tuple(scenario, library, transform));
  if (found == data_->exceptions.end()) return nullptr;
  for (const CellException* e : found->second) {
    if (Fits(e->mode(), mode) && Fits(e->device(), device)) return e;
  }
  return nullptr;
}

// A handful of entries each: a search is as fast as a hash.
const Implementation* Catalogue::ImplementationOf(
    const Transform& transform, absl::string_view library,
    absl::string_view params_profile) const {
  const Implementation* own =
      FindImplementation(transform, library, params_profile);
  if (own != nullptr) return own;
  const Library* found = FindLibrary(library);
  if (found == nullptr || !found->has_transforms_of()) return nullptr;
  return FindImplementation(transform, found->transforms_of(), params_profile);
}

const ModePolicy* Catalogue::FindMode(absl::string_view mode,
                                      absl::string_view media) const {
  for (const ModePolicy& m : data_->policy.modes()) {
    if (m.mode() == mode && m.media() == media) return &m;
  }
  return nullptr;
}

const MediaPolicy* Catalogue::FindMedia(absl::string_view media) const {
  for (const MediaPolicy& m : data_->policy.media()) {
    if (m.media() == media) return &m;
  }
  return nullptr;
}

absl::StatusOr<const TransformSet*> Catalogue::Transforms(
    const Scenario& scenario) const {
  return TransformsFor(scenario, {});
}

absl::StatusOr<const TransformSet*> Catalogue::TransformsFor(
    const Scenario& scenario, std::vector<std::string> users) const {
  if (scenario.transforms().empty()) {
    return absl::NotFoundError(
        absl::StrCat("scenario \"", scenario.name(), "\" has no transforms"));
  }
  const auto known = data_->transforms.find(scenario.name());
  if (known != data_->transforms.end()) return known->second.get();
  const std::string file =
      JoinPath(JoinPath(configs_dir_, "transforms"), scenario.transforms());
  auto loaded = absl::make_unique<TransformSet>();
  RETURN_IF_ERROR(ReadTextProto(file, loaded.get()));
  users.push_back(scenario.name());
  RETURN_IF_ERROR(TakeFromBase(file, std::move(users), loaded.get()));
  RETURN_IF_ERROR(CheckTransforms(*loaded, scenario, data_->matrix, file));
  RETURN_IF_ERROR(CheckExceptions(data_->matrix, scenario, *loaded,
                                  JoinPath(configs_dir_, kMatrixFile)));
  return (data_->transforms[scenario.name()] = std::move(loaded)).get();
}

absl::Status Catalogue::TakeFromBase(const std::string& file,
                                     std::vector<std::string> users,
                                     TransformSet* set) const {
  // Places are asked for only when something is wrong.
  const FieldError error = [&file](const std::string& path,
                                   absl::string_view problem) -> absl::Status {
    TransformSet again;
    Places places(file);
    RETURN_IF_ERROR(ReadTextProto(file, &again, &places));
    return places.Error(path, problem);
  };
  RETURN_IF_ERROR(ExpandMatched(error, set));
  if (!set->has_base()) return CheckNothingInherited(error, *set);
  std::vector<std::string> scenarios;
  for (const Scenario& scenario : data_->matrix.scenarios()) {
    if (scenario.has_transforms()) scenarios.push_back(scenario.name());
  }
  std::vector<std::string> libraries;
  for (const Library& l : data_->matrix.libraries()) {
    libraries.push_back(l.name());
  }
  const BaseSet& base = set->base();
  RETURN_IF_ERROR(
      CheckKnown(error, "base.scenario", base.scenario(), scenarios));
  for (int i = 0; i < base.libraries_size(); ++i) {
    RETURN_IF_ERROR(CheckKnown(error, absl::StrCat("base.libraries[", i, "]"),
                               base.libraries(i), libraries));
  }
  for (int i = 0; i < base.added_params_size(); ++i) {
    RETURN_IF_ERROR(
        CheckKnown(error, absl::StrCat("base.added_params[", i, "]"),
                   base.added_params(i).library(),
                   {base.libraries().begin(), base.libraries().end()}));
  }
  for (int i = 0; i < base.params_profiles_size(); ++i) {
    RETURN_IF_ERROR(CheckKnown(error,
                               absl::StrCat("base.params_profiles[", i, "]"),
                               base.params_profiles(i), KnownProfiles()));
  }
  if (std::find(users.begin(), users.end(), base.scenario()) != users.end()) {
    return error("base.scenario", absl::StrCat("sets build on each other: ",
                                               absl::StrJoin(users, ", "), ", ",
                                               base.scenario()));
  }
  ASSIGN_OR_RETURN(
      const TransformSet* const whole,
      TransformsFor(*FindScenario(base.scenario()), std::move(users)));
  return InheritFrom(*whole, error, set);
}

}  // namespace feedrate
