// Subjects: your own Python code as a library under test.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/config/places.h"
#include "lib/config/run_config.pb.h"

namespace feedrate {

class Catalogue;

// Makes `subjects` and the subjects among `libraries` the same. InvalidArgument
// when one is not MODULE:NAME.
absl::Status NameSubjects(const FieldChecker& check, Selection* selection);

// Folders that may hold workers: those of $FEEDRATE_WORKERS, the running
// program's runfiles, the build tree around it and ../libexec of a bundle.
std::vector<std::string> WorkerFolders();

// The program that serves Python libraries, in the first of `folders` that has
// it.
absl::StatusOr<std::string> FindPythonServer(
    const std::vector<std::string>& folders);

// Full path of the interpreter for subjects: `python`, or the python3 in PATH
// if that is empty.
absl::StatusOr<std::string> FindInterpreter(const std::string& python);

struct SubjectDescription {
  // Names of its transforms. Empty unless the mode is `micro`.
  std::vector<std::string> transforms;
  // Whether it takes the name of a transform as an argument.
  bool takes_transform = false;
};

// What the subject `name` is for the selection's mode. An error says in one
// line what is wrong and what would be right.
using SubjectDescriber = std::function<absl::StatusOr<SubjectDescription>(
    const Selection& selection, const std::string& name)>;

// Asks the selection's interpreter, which imports the subject's module.
// `catalogue` outlives the result. `prefix` is put before the command.
SubjectDescriber DescribeWithPython(
    const Catalogue& catalogue, const std::vector<std::string>& prefix = {});

}  // namespace feedrate
