#include "lib/machine/torch.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/machine/python_folders.h"

namespace feedrate {
namespace {

// A version has digits, letters and these; anything else is no version.
bool IsVersion(absl::string_view text) {
  return !text.empty() && absl::ascii_isdigit(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isalnum(c) || absl::StrContains(".+-_", c);
         });
}

// From a line such as `__version__ = '2.11.0+cu130'`.
std::string FromVersionPy(absl::string_view source) {
  for (absl::string_view line : absl::StrSplit(source, '\n')) {
    if (!absl::ConsumePrefix(&line, "__version__")) continue;
    const std::vector<absl::string_view> parts =
        absl::StrSplit(line, absl::ByAnyChar("'\""));
    if (parts.size() >= 3 && IsVersion(parts[1])) return std::string(parts[1]);
  }
  return "";
}

// From the name of the folder beside a package, `torch-2.11.0.dist-info`.
std::string FromDistInfo(const Root& root, const std::string& packages) {
  for (const std::string& name : root.List(packages)) {
    absl::string_view version = name;
    if (absl::ConsumePrefix(&version, "torch-") &&
        absl::ConsumeSuffix(&version, ".dist-info") && IsVersion(version)) {
      return std::string(version);
    }
  }
  return "";
}

// Version of the torch in `folder`; empty when there is none. A wheel has
// version.py, the C++ distribution build-version.
std::string VersionIn(const Root& root, const std::string& folder) {
  const std::string from_source =
      FromVersionPy(root.Read(folder + "/version.py").value_or(""));
  if (!from_source.empty()) return from_source;
  const std::string from_build = root.ReadText(folder + "/build-version");
  if (IsVersion(from_build)) return from_build;
  if (!root.Exists(folder + "/lib")) return "";
  return FromDistInfo(root, absl::StrCat(folder, "/.."));
}

// `2.11.0` of `2.11.0+cu130`.
absl::string_view VersionWithoutBuild(absl::string_view version) {
  return version.substr(0, version.find('+'));
}

std::string CacheFolder(const VariableReader& variables) {
  const std::string cache = variables("XDG_CACHE_HOME");
  if (!cache.empty()) return absl::StrCat(cache, "/feedrate");
  const std::string home = variables("HOME");
  return home.empty() ? "" : absl::StrCat(home, "/.cache/feedrate");
}

void AddCopy(const Root& root, const std::string& folder,
             std::vector<std::string>* candidates) {
  const std::string version = VersionIn(root, folder);
  if (VersionWithoutBuild(version) == kTorchVersion) {
    candidates->push_back(folder);
  }
}

// What `make torch` and the Python environments left in the user's cache, of
// the version that feedrate is built for.
std::vector<std::string> OwnCopies(const Root& root, const std::string& cache) {
  std::vector<std::string> copies;
  const std::string unpacked = absl::StrCat(cache, "/libtorch");
  for (const std::string& name : root.List(unpacked)) {
    if (!absl::StartsWith(name, "torch-")) continue;
    AddCopy(root, absl::StrCat(unpacked, "/", name, "/torch"), &copies);
  }
  const std::string venvs = absl::StrCat(cache, "/venvs");
  for (const std::string& name : root.List(venvs)) {
    const std::string lib = absl::StrCat(venvs, "/", name, "/lib");
    for (const std::string& python : root.List(lib)) {
      AddCopy(root, absl::StrCat(lib, "/", python, "/site-packages/torch"),
              &copies);
    }
  }
  return copies;
}

// Folders that may hold torch, best first.
std::vector<std::string> Candidates(const Root& root,
                                    const VariableReader& variables) {
  std::vector<std::string> candidates;
  const std::string cache = CacheFolder(variables);
  if (!cache.empty()) candidates = OwnCopies(root, cache);
  for (const std::string& folder : PythonPackageFolders(root, variables)) {
    candidates.push_back(absl::StrCat(folder, "/torch"));
  }
  return candidates;
}

}  // namespace

TorchInfo FindTorch(const Root& root, const VariableReader& variables) {
  const std::string torch_root = variables("TORCH_ROOT");
  const std::vector<std::string> candidates =
      torch_root.empty() ? Candidates(root, variables)
                         : std::vector<std::string>{torch_root};
  for (const std::string& folder : candidates) {
    const std::string version = VersionIn(root, folder);
    if (!version.empty()) return {version, folder};
  }
  return {};
}

}  // namespace feedrate
