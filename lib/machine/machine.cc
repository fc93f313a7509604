#include "lib/machine/machine.h"

#include <sys/utsname.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace feedrate {
namespace {

// Parses the value of a shell assignment, the format of os-release(5).
std::string Unquote(absl::string_view value) {
  value = absl::StripAsciiWhitespace(value);
  for (const char* quote : {"\"", "'"}) {
    if (value.size() >= 2 && absl::ConsumePrefix(&value, quote)) {
      absl::ConsumeSuffix(&value, quote);
      break;
    }
  }
  std::string plain;
  for (size_t i = 0; i < value.size(); ++i) {
    if (value[i] == '\\' && i + 1 < value.size()) ++i;
    plain.push_back(value[i]);
  }
  return plain;
}

std::string Distribution(const Root& root) {
  const std::string release =
      root.Read("/etc/os-release")
          .value_or(root.Read("/usr/lib/os-release").value_or(""));
  std::string name, version;
  for (absl::string_view line : absl::StrSplit(release, '\n')) {
    if (absl::ConsumePrefix(&line, "PRETTY_NAME=")) return Unquote(line);
    if (absl::ConsumePrefix(&line, "NAME=")) name = Unquote(line);
    if (absl::ConsumePrefix(&line, "VERSION=")) version = Unquote(line);
  }
  return version.empty() ? name : absl::StrCat(name, " ", version);
}

}  // namespace

OsInfo ReadOs(const Root& root) {
  OsInfo os;
  os.host = root.ReadText("/proc/sys/kernel/hostname");
  os.kernel = root.ReadText("/proc/sys/kernel/osrelease");
  os.distribution = Distribution(root);
  if (!root.is_live()) return os;
  utsname names;
  if (uname(&names) == 0) {
    os.host = names.nodename;
    os.kernel = names.release;
  }
#ifdef __GLIBC__
  os.glibc = gnu_get_libc_version();
#endif
  return os;
}

namespace {

std::string Parent(absl::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos || slash == 0) return "/";
  return std::string(path.substr(0, slash));
}

// Resolves a shim of `pyenv`, a script in PATH that runs the version configured
// elsewhere. Empty if that is the system's Python.
std::string PyenvPython(const Root& root, const VariableReader& variables,
                        const std::string& pyenv_root) {
  std::string version = variables("PYENV_VERSION");
  if (version.empty()) version = root.ReadText(pyenv_root + "/version");
  // There may be several versions; python3 is the first.
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

// Returns the minor version in a name such as `python3.11`, or -1 for other
// names.
int MinorVersion(absl::string_view name) {
  int minor;
  if (!absl::ConsumePrefix(&name, "python3.")) return -1;
  return absl::SimpleAtoi(name, &minor) && minor >= 0 ? minor : -1;
}

// Returns the name of that Python's module folder, such as `python3.11`.
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

// Returns the value in a line such as `home = /usr/bin` in pyvenv.cfg.
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

namespace {

// A version starts with a digit and contains only digits, letters and these.
bool IsVersion(absl::string_view text) {
  return !text.empty() && absl::ascii_isdigit(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isalnum(c) || absl::StrContains(".+-_", c);
         });
}

// Finds the version in a line such as `__version__ = '2.11.0+cu130'`.
std::string FromVersionPy(absl::string_view source) {
  for (absl::string_view line : absl::StrSplit(source, '\n')) {
    if (!absl::ConsumePrefix(&line, "__version__")) continue;
    const std::vector<absl::string_view> parts =
        absl::StrSplit(line, absl::ByAnyChar("'\""));
    if (parts.size() >= 3 && IsVersion(parts[1])) return std::string(parts[1]);
  }
  return "";
}

// Finds the version in the name of the folder next to a package,
// `torch-2.11.0.dist-info`.
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

// Returns the version of the torch in `folder`, or "" if there is none. A wheel
// has version.py, the C++ distribution build-version.
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

// Copies that `make torch` and the Python environments left in the user's
// cache, of the version that feedrate is built for.
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

// Folders that may contain torch, best first.
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

MachineSource ThisMachine() {
  return {Root(), NvmlLibraries(), ProcessVariables(), "."};
}

MachineSource MachineBelow(const std::string& folder) {
  return {Root(folder),
          {},
          FixedVariables({{"PATH", "/usr/local/bin:/usr/bin:/bin"}}),
          ""};
}

MachineInfo ReadMachine(const MachineSource& source) {
  MachineInfo machine;
  machine.cpu = ReadCpu(source.root);
  machine.memory = ReadMemory(source.root);
  machine.cgroup = ReadCgroup(source.root);
  machine.gpu = ReadGpus(source.nvml_libraries);
  machine.os = ReadOs(source.root);
  machine.torch = FindTorch(source.root, source.variables);
  if (!source.git_folder.empty()) {
    machine.git = ReadGitState(source.git_folder);
  }
  machine.hypervisor = ReadHypervisor(source.root);
  return machine;
}

}  // namespace feedrate
