#include "lib/machine/python_folders.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace feedrate {
namespace {

std::string Parent(absl::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos || slash == 0) return "/";
  return std::string(path.substr(0, slash));
}

// `pyenv` puts scripts named like the programs into PATH; which version they
// start is written elsewhere. Empty when they start the system's.
std::string PyenvPython(const Root& root, const VariableReader& variables,
                        const std::string& pyenv_root) {
  std::string version = variables("PYENV_VERSION");
  if (version.empty()) version = root.ReadText(pyenv_root + "/version");
  // Several versions may stand there; the first has python3.
  const std::vector<std::string> versions =
      absl::StrSplit(version, absl::ByAnyChar(":\n"));
  if (versions[0].empty() || versions[0] == "system") return "";
  return absl::StrCat(pyenv_root, "/versions/", versions[0], "/bin/python3");
}

std::string FindPython(const Root& root, const VariableReader& variables) {
  const std::string path = variables("PATH");
  for (absl::string_view folder : absl::StrSplit(path, ':')) {
    folder = absl::StripSuffix(folder, "/");
    if (!absl::StartsWith(folder, "/")) continue;
    std::string python = absl::StrCat(folder, "/python3");
    if (!root.Exists(python)) continue;
    if (absl::EndsWith(folder, "/shims")) {
      python = PyenvPython(root, variables, Parent(folder));
    }
    if (!python.empty() && root.Exists(python)) return python;
  }
  return "";
}

// Minor version behind a name such as `python3.11`; -1 for other names.
int MinorVersion(absl::string_view name) {
  int minor;
  if (!absl::ConsumePrefix(&name, "python3.")) return -1;
  return absl::SimpleAtoi(name, &minor) && minor >= 0 ? minor : -1;
}

// Name of the folder of that Python's modules, such as `python3.11`.
std::string ModuleFolder(const Root& root, const std::string& prefix,
                         absl::string_view python) {
  const absl::string_view name = python.substr(python.rfind('/') + 1);
  if (MinorVersion(name) >= 0) return std::string(name);
  std::string newest;
  for (const std::string& entry : root.List(prefix + "/lib")) {
    if (MinorVersion(entry) > MinorVersion(newest)) newest = entry;
  }
  return newest;
}

void AddInstallation(const Root& root, const VariableReader& variables,
                     const std::string& python,
                     std::vector<std::string>* folders) {
  const std::string prefix = Parent(Parent(python));
  const std::string name = ModuleFolder(root, prefix, python);
  if (name.empty()) return;
  const std::string home = variables("HOME");
  if (!home.empty() && variables("PYTHONNOUSERSITE").empty()) {
    folders->push_back(
        absl::StrCat(home, "/.local/lib/", name, "/site-packages"));
  }
  if (prefix == "/usr") {
    folders->push_back(absl::StrCat("/usr/local/lib/", name, "/dist-packages"));
    folders->push_back("/usr/lib/python3/dist-packages");
  }
  for (const char* lib : {"/lib/", "/lib64/"}) {
    folders->push_back(absl::StrCat(prefix, lib, name, "/site-packages"));
  }
}

// Value of a line such as `home = /usr/bin` in pyvenv.cfg.
std::string ConfigValue(absl::string_view config, absl::string_view name) {
  for (absl::string_view line : absl::StrSplit(config, '\n')) {
    const std::pair<absl::string_view, absl::string_view> entry =
        absl::StrSplit(line, absl::MaxSplits('=', 1));
    if (absl::StripAsciiWhitespace(entry.first) == name) {
      return std::string(absl::StripAsciiWhitespace(entry.second));
    }
  }
  return "";
}

}  // namespace

std::vector<std::string> PythonPackageFolders(const Root& root,
                                              const VariableReader& variables) {
  std::vector<std::string> folders =
      absl::StrSplit(variables("PYTHONPATH"), ':', absl::SkipEmpty());
  const std::string python = FindPython(root, variables);
  if (python.empty()) return folders;
  const std::string prefix = Parent(Parent(python));
  const std::string config = root.Read(prefix + "/pyvenv.cfg").value_or("");
  if (config.empty()) {
    AddInstallation(root, variables, root.Resolve(python), &folders);
    return folders;
  }
  const std::string base =
      root.Resolve(absl::StrCat(ConfigValue(config, "home"), "/python3"));
  folders.push_back(absl::StrCat(
      prefix, "/lib/", ModuleFolder(root, prefix, base), "/site-packages"));
  if (absl::EqualsIgnoreCase(
          ConfigValue(config, "include-system-site-packages"), "true")) {
    AddInstallation(root, variables, base, &folders);
  }
  return folders;
}

}  // namespace feedrate
