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
          "\" is not an axis; write name=value,value such as workers=0,2,4"));
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

absl::Status SetSweep(const std::string& text, LoadedConfig* loaded) {
  ASSIGN_OR_RETURN(const std::vector<SweepAxis> axes, ParseSweep(text));
  loaded->config.clear_sweep();
  for (size_t i = 0; i < axes.size(); ++i) {
    *loaded->config.add_sweep() = axes[i];
    loaded->places.Set(absl::StrCat("sweep[", i, "]"), "--sweep");
  }
  return absl::OkStatus();
}

// Sets one field and remembers the flag that did.
absl::Status SetOverride(const OverrideFlag& flag, const std::string& value,
                         LoadedConfig* loaded) {
  const absl::string_view path = flag.path;
  loaded->places.Set(path, absl::StrCat("--", flag.name));
  if (path == "sweep") return SetSweep(value, loaded);
  if (path == "data.dataset") {
    // The file's id and archive name the file's data, not this.
    Data* const data = loaded->config.mutable_data();
    data->clear_id();
    data->clear_archive();
    data->clear_archive_bytes();
  }
  return SetConfigField(flag, value, &loaded->config);
}

}  // namespace

absl::Status ApplyOverrides(const Overrides& overrides, LoadedConfig* loaded) {
  for (const OverrideFlag& flag : OverrideFlags()) {
    if (!overrides.Has(flag.name)) continue;
    const absl::Status set =
        SetOverride(flag, overrides.ValueOr(flag.name, ""), loaded);
    if (set.ok()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag.name, ": ", set.message()));
  }
  return absl::OkStatus();
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
