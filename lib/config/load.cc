#include "lib/config/load.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/config/text_proto.h"

namespace feedrate {

absl::StatusOr<std::vector<SweepAxis>> ParseSweep(absl::string_view text) {
  std::vector<SweepAxis> axes;
  for (absl::string_view part :
       absl::StrSplit(text, ';', absl::SkipWhitespace())) {
    const std::pair<absl::string_view, absl::string_view> sides =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    SweepAxis axis;
    // Flags take hyphens; so do the axes that stand for them.
    axis.set_name(absl::StrReplaceAll(absl::StripAsciiWhitespace(sides.first),
                                      {{"-", "_"}}));
    for (absl::string_view value :
         absl::StrSplit(sides.second, ',', absl::SkipWhitespace())) {
      axis.add_values(std::string(absl::StripAsciiWhitespace(value)));
    }
    if (axis.name().empty() || axis.values().empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", absl::StripAsciiWhitespace(part),
          "\" is no axis; write name=value,value such as workers=0,2,4"));
    }
    axes.push_back(std::move(axis));
  }
  return axes;
}

namespace {

constexpr char kMatrixFile[] = "matrix.textproto";

bool HasMatrix(const std::string& folder) {
  return IsFile(JoinPath(folder, kMatrixFile));
}

// The folders at and above a file, as far as its path names them.
void AppendAbove(const std::string& path, std::vector<std::string>* folders) {
  std::string folder = ParentFolder(path);
  folders->push_back(folder);
  while (folder != "/" && folder != "." && BaseName(folder) != "..") {
    folder = ParentFolder(folder);
    folders->push_back(folder);
  }
}

// Folders that may hold the matrix, nearest first.
std::vector<std::string> Candidates(const std::string& config_path) {
  std::vector<std::string> folders;
  if (!config_path.empty() && config_path != "-") {
    // As it was typed where that is enough: messages name the folder.
    AppendAbove(config_path, &folders);
    std::error_code error;
    const auto absolute = std::filesystem::absolute(config_path, error);
    AppendAbove(absolute.lexically_normal().string(), &folders);
  }
  const absl::StatusOr<std::string> program = ProgramPath();
  if (program.ok()) {
    const std::string folder = ParentFolder(*program);
    folders.push_back(JoinPath(folder, "../configs"));
    folders.push_back(JoinPath(folder, "configs"));
    // `bazel run` starts programs from bazel-out; their data lies beside.
    folders.push_back(absl::StrCat(*program, ".runfiles/feedrate/configs"));
  }
  folders.push_back("configs");
  return folders;
}

// Sets one field and remembers the flag that did.
template <typename T, typename Setter>
void Lay(const absl::optional<T>& value, absl::string_view path,
         absl::string_view flag, Places* places, Setter set) {
  if (!value.has_value()) return;
  set(*value);
  places->Set(path, absl::StrCat("--", flag));
}

template <typename Repeated>
void Replace(const std::vector<std::string>& values, Repeated* field) {
  field->Clear();
  for (const std::string& value : values) *field->Add() = value;
}

void LaySelection(const Overrides& o, Selection* s, Places* places) {
  Lay(o.libraries, "selection.libraries", "libraries", places,
      [&](const auto& v) { Replace(v, s->mutable_libraries()); });
  Lay(o.transforms, "selection.transforms", "transforms", places,
      [&](const auto& v) { Replace(v, s->mutable_transforms()); });
  Lay(o.transform_set, "selection.transform_set", "transform_set", places,
      [&](const auto& v) { s->set_transform_set(v); });
  Lay(o.params_profile, "selection.params_profile", "params_profile", places,
      [&](const auto& v) { s->set_params_profile(v); });
  Lay(o.env_set, "selection.env_set", "env_set", places,
      [&](const auto& v) { s->set_env_set(v); });
  Lay(o.subjects, "selection.subjects", "subject", places,
      [&](const auto& names) {
        s->clear_subjects();
        for (const std::string& name : names) s->add_subjects()->set_name(name);
      });
  Lay(o.python, "selection.python", "python", places,
      [&](const auto& v) { s->set_python(v); });
  Lay(o.reference, "selection.reference", "reference", places,
      [&](const auto& v) { s->set_reference(v); });
}

void LayData(const Overrides& o, Data* d, Places* places) {
  Lay(o.dataset, "data.dataset", "dataset", places, [&](const auto& v) {
    d->set_dataset(v);
    // The file's id and archive name the file's data, not this.
    d->clear_id();
    d->clear_archive();
    d->clear_archive_bytes();
  });
  Lay(o.num_items, "data.num_items", "num_items", places,
      [&](const auto& v) { d->set_num_items(v); });
  Lay(o.sample_ratio, "data.sample_ratio", "sample_ratio", places,
      [&](const auto& v) { d->set_sample_ratio(v); });
}

void LayExecution(const Overrides& o, Execution* e, Places* places) {
  Lay(o.num_runs, "execution.num_runs", "num_runs", places,
      [&](const auto& v) { e->set_num_runs(v); });
  Lay(o.batch_size, "execution.batch_size", "batch_size", places,
      [&](const auto& v) { e->set_batch_size(v); });
  Lay(o.workers, "execution.workers", "workers", places,
      [&](const auto& v) { e->set_workers(v); });
  Lay(o.min_time, "execution.min_time", "min_time", places,
      [&](const auto& v) { e->set_min_time(v); });
  Lay(o.scope, "execution.scope", "scope", places,
      [&](const auto& v) { e->set_scope(v); });
  Lay(o.device, "execution.device", "device", places,
      [&](const auto& v) { e->set_device(v); });
  Lay(o.thread_policy, "execution.thread_policy", "thread_policy", places,
      [&](const auto& v) { e->set_thread_policy(v); });
  Lay(o.seed, "execution.seed", "seed", places,
      [&](const auto& v) { e->set_seed(v); });
}

absl::Status LaySweep(const std::string& text, LoadedConfig* loaded) {
  const auto axes = ParseSweep(text);
  if (!axes.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--sweep: ", axes.status().message()));
  }
  loaded->config.clear_sweep();
  for (const SweepAxis& axis : *axes) *loaded->config.add_sweep() = axis;
  loaded->places.Set("sweep", "--sweep");
  for (size_t i = 0; i < axes->size(); ++i) {
    loaded->places.Set(absl::StrCat("sweep[", i, "]"), "--sweep");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ApplyOverrides(const Overrides& overrides, LoadedConfig* loaded) {
  RunConfig& config = loaded->config;
  Places* places = &loaded->places;
  LaySelection(overrides, config.mutable_selection(), places);
  LayData(overrides, config.mutable_data(), places);
  LayExecution(overrides, config.mutable_execution(), places);
  Lay(overrides.output, "output.path", "output", places,
      [&](const auto& v) { config.mutable_output()->set_path(v); });
  Lay(overrides.machine_type, "cloud.machine_type", "machine_type", places,
      [&](const auto& v) { config.mutable_cloud()->set_machine_type(v); });
  Lay(overrides.label, "label", "label", places,
      [&](const auto& v) { config.set_label(v); });
  Lay(overrides.note, "note", "note", places,
      [&](const auto& v) { config.set_note(v); });
  if (!overrides.sweep.has_value()) return absl::OkStatus();
  return LaySweep(*overrides.sweep, loaded);
}

std::string FindConfig(const std::string& path) {
  absl::string_view rest = path;
  if (!absl::ConsumePrefix(&rest, "configs/") || IsFile(path) ||
      IsFolder(path)) {
    return path;
  }
  const absl::StatusOr<std::string> folder = FindConfigsFolder("", "");
  if (!folder.ok()) return path;
  const std::string found = absl::StrCat(*folder, "/", rest);
  return IsFile(found) || IsFolder(found) ? found : path;
}

absl::StatusOr<LoadedConfig> LoadConfig(const std::string& given,
                                        const Overrides& overrides) {
  const std::string path = FindConfig(given);
  LoadedConfig loaded;
  loaded.path = path;
  loaded.places = Places(path);
  RETURN_IF_ERROR(ReadTextProto(path == "-" ? "/dev/stdin" : path,
                                &loaded.config, &loaded.places));
  RETURN_IF_ERROR(ApplyOverrides(overrides, &loaded));
  return loaded;
}

absl::StatusOr<std::string> FindConfigsFolder(const std::string& flag,
                                              const std::string& config_path) {
  const char* variable = std::getenv("FEEDRATE_CONFIGS");
  for (const std::string& given :
       {flag, std::string(variable == nullptr ? "" : variable)}) {
    if (given.empty()) continue;
    if (HasMatrix(given)) return given;
    return absl::NotFoundError(
        absl::StrCat(given, ": no ", kMatrixFile,
                     " in this folder; "
                     "--configs and $FEEDRATE_CONFIGS name the one that has "
                     "it"));
  }
  for (const std::string& folder : Candidates(config_path)) {
    if (HasMatrix(folder)) return folder;
  }
  return absl::NotFoundError(absl::StrCat(
      kMatrixFile, " is neither above ",
      config_path.empty() ? "the config" : config_path,
      " nor in ../configs of the program nor in ./configs; name its folder "
      "with --configs or $FEEDRATE_CONFIGS"));
}

}  // namespace feedrate
