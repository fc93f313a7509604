#include "lib/catalogue/catalogue.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/catalogue/check_matrix.h"
#include "lib/catalogue/check_policy.h"
#include "lib/catalogue/check_transforms.h"
#include "lib/catalogue/transform_set.h"
#include "lib/config/matrix.pb.h"
#include "lib/config/policy.pb.h"
#include "lib/config/text_proto.h"
#include "lib/config/transforms.pb.h"

namespace feedrate {
namespace {

constexpr char kMatrixFile[] = "matrix.textproto";
constexpr char kPolicyFile[] = "policy.textproto";

template <typename Map, typename Key>
auto FindOrNull(const Map& map, const Key& key) -> typename Map::mapped_type {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : found->second;
}

// An empty field of an exception stands for every value.
bool Fits(absl::string_view field, absl::string_view value) {
  return field.empty() || field == value;
}

}  // namespace

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
    for (const std::string& scope : c.scopes()) {
      data_->combinations[{c.scenario(), c.library(), c.mode(), c.device(),
                           scope}] = &c;
    }
  }
  for (const CellException& e : matrix.exceptions()) {
    for (const std::string& transform : e.transforms()) {
      data_->exceptions[{e.scenario(), e.library(), transform}].push_back(&e);
    }
  }
}

const Scenario* Catalogue::FindScenario(absl::string_view name) const {
  return FindOrNull(data_->scenarios, name);
}

const Library* Catalogue::FindLibrary(absl::string_view name) const {
  return FindOrNull(data_->libraries, name);
}

const Combination* Catalogue::FindCombination(absl::string_view scenario,
                                              absl::string_view library,
                                              absl::string_view mode,
                                              absl::string_view device,
                                              absl::string_view scope) const {
  return FindOrNull(data_->combinations,
                    std::make_tuple(scenario, library, mode, device, scope));
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
  if (scenario.transforms().empty()) {
    return absl::NotFoundError(
        absl::StrCat("scenario \"", scenario.name(), "\" has no transforms"));
  }
  std::unique_ptr<TransformSet>& set = data_->transforms[scenario.name()];
  if (set != nullptr) return set.get();
  const std::string file =
      JoinPath(JoinPath(configs_dir_, "transforms"), scenario.transforms());
  auto loaded = absl::make_unique<TransformSet>();
  RETURN_IF_ERROR(ReadTextProto(file, loaded.get()));
  RETURN_IF_ERROR(CheckTransforms(*loaded, scenario, data_->matrix, file));
  RETURN_IF_ERROR(CheckExceptions(data_->matrix, scenario, *loaded,
                                  JoinPath(configs_dir_, kMatrixFile)));
  set = std::move(loaded);
  return set.get();
}

}  // namespace feedrate
