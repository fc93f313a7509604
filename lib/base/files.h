// Whole files, folders and paths.
#ifndef FEEDRATE_LIB_BASE_FILES_H_
#define FEEDRATE_LIB_BASE_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// The content of `path`. NotFound, with the path, when it does not exist;
// InvalidArgument when it is a folder.
absl::StatusOr<std::string> ReadFile(const std::string& path);

bool IsFile(const std::string& path);
bool IsFolder(const std::string& path);

// Makes `folder` and those above it, where they are missing.
absl::Status MakeFolder(const std::string& folder);

// Paths of the files in `folder` whose names end in `ending`, sorted;
// with `recursive` also below its sub-folders. NotFound when there is no such
// folder.
absl::StatusOr<std::vector<std::string>> ListFiles(const std::string& folder,
                                                   absl::string_view ending,
                                                   bool recursive);

// `name` below `folder`; `name` alone when it is absolute or `folder` empty.
std::string JoinPath(absl::string_view folder, absl::string_view name);
// "a/b/c" -> "a/b"; "c" -> "."; "/" -> "/".
std::string ParentFolder(absl::string_view path);
// "a/b/c.tar" -> "c.tar".
std::string BaseName(absl::string_view path);
// Path of the running program, links resolved.
absl::StatusOr<std::string> ProgramPath();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_BASE_FILES_H_
