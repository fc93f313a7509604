#include "lib/planning/subjects.h"

#include <unistd.h>

#include <cstdlib>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/catalogue/catalogue.h"
#include "lib/machine/git_state.h"

namespace feedrate {
namespace {

// Marks the lines of an answer: a module may print something too.
constexpr char kTransform[] = "feedrate:transform=";
constexpr char kTakesTransform[] = "feedrate:takes_transform";
constexpr char kProblem[] = "feedrate:problem=";
constexpr char kDone[] = "feedrate:done";

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool IsProgram(const std::string& path) {
  return IsFile(path) && access(path.c_str(), X_OK) == 0;
}

// Dotted identifiers, a colon, dotted identifiers.
bool IsSubjectName(absl::string_view name) {
  const std::vector<std::string> sides = absl::StrSplit(name, ':');
  if (sides.size() != 2) return false;
  for (const std::string& side : sides) {
    for (const absl::string_view part : absl::StrSplit(side, '.')) {
      if (part.empty() || absl::ascii_isdigit(part[0]) ||
          !absl::c_all_of(part, [](unsigned char c) {
            return absl::ascii_isalnum(c) || c == '_' || c >= 0x80;
          })) {
        return false;
      }
    }
  }
  return true;
}

absl::StatusOr<SubjectDescription> Describe(const Selection& selection,
                                            const std::string& name,
                                            std::vector<std::string> command,
                                            absl::Duration limit) {
  ASSIGN_OR_RETURN(const std::string python,
                   FindInterpreter(selection.python()));
  ASSIGN_OR_RETURN(const std::string server, FindPythonServer(WorkerFolders()));
  for (const std::string& word :
       {python, std::string("-B"), server, absl::StrCat("--subject=", name),
        absl::StrCat("--describe=", selection.mode())}) {
    command.push_back(word);
  }
  const absl::StatusOr<std::string> answer = RunCommand(command, limit);
  SubjectDescription description;
  bool is_done = false;
  for (absl::string_view line : absl::StrSplit(answer.value_or(""), '\n')) {
    if (absl::ConsumePrefix(&line, kTransform)) {
      description.transforms.emplace_back(line);
    } else if (absl::ConsumePrefix(&line, kProblem)) {
      return absl::InvalidArgumentError(line);
    }
    description.takes_transform |= line == kTakesTransform;
    is_done |= line == kDone;
  }
  if (is_done) return description;
  return absl::InvalidArgumentError(absl::StrCat(
      python, " cannot import ", name, ": ",
      answer.ok() ? "it ended early" : answer.status().message(),
      "; try: ", python, " -c 'import ", name.substr(0, name.find(':')), "'"));
}

}  // namespace

absl::Status NameSubjects(const FieldChecker& check, Selection* selection) {
  std::vector<std::string> names;
  for (const PythonSubject& subject : selection->subjects()) {
    names.push_back(subject.name());
  }
  for (const std::string& library : selection->libraries()) {
    if (!IsSubject(library) || absl::c_linear_search(names, library)) continue;
    names.push_back(library);
    selection->add_subjects()->set_name(library);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const bool is_file = selection->mode() == "train" && IsTorchFile(names[i]);
    if (!is_file && !IsSubjectName(names[i])) {
      return check.Error(absl::StrCat("selection.subjects[", i, "]"),
                         absl::StrCat("\"", names[i],
                                      "\" is not a subject; write MODULE:NAME, "
                                      "such as my_pkg.aug:transforms"));
    }
    if (!absl::c_linear_search(selection->libraries(), names[i])) {
      selection->add_libraries(names[i]);
    }
  }
  return check.Distinct("selection.subjects", names);
}

std::vector<std::string> WorkerFolders() {
  std::vector<std::string> folders =
      absl::StrSplit(Variable("FEEDRATE_WORKERS"), ':', absl::SkipEmpty());
  const absl::StatusOr<std::string> program = ProgramPath();
  if (!program.ok()) return folders;
  const std::string folder = ParentFolder(*program);
  folders.push_back(absl::StrCat(*program, ".runfiles/feedrate"));
  // tools/NAME/NAME in a build tree, or in another program's runfiles.
  folders.push_back(ParentFolder(ParentFolder(folder)));
  folders.push_back(JoinPath(ParentFolder(folder), "libexec"));
  return folders;
}

absl::StatusOr<std::string> FindPythonServer(
    const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    for (const char* name :
         {"lib/adapters/python/server.py", "python/server.py"}) {
      const std::string path = JoinPath(folder, name);
      if (IsFile(path)) return path;
    }
  }
  return absl::NotFoundError(
      absl::StrCat("lib/adapters/python/server.py is in none of ",
                   absl::StrJoin(folders, ", "),
                   "; name its folder with $FEEDRATE_WORKERS"));
}

absl::StatusOr<std::string> FindInterpreter(const std::string& python) {
  const std::string name = python.empty() ? "python3" : python;
  if (absl::StrContains(name, '/')) {
    if (IsProgram(name)) return name;
  } else {
    const std::vector<std::string> folders =
        absl::StrSplit(Variable("PATH"), ':', absl::SkipEmpty());
    for (const std::string& folder : folders) {
      const std::string path = JoinPath(folder, name);
      if (IsProgram(path)) return path;
    }
  }
  return absl::NotFoundError(absl::StrCat(
      "no program ", name, "; name a Python interpreter with --python=PATH"));
}

SubjectDescriber DescribeWithPython(const Catalogue& catalogue,
                                    const std::vector<std::string>& prefix) {
  return [&catalogue, prefix](const Selection& selection,
                              const std::string& name) {
    return Describe(
        selection, name, prefix,
        absl::Seconds(catalogue.policy().measuring().import_limit_s()));
  };
}

}  // namespace feedrate
