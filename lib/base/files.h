// Files, folders and paths: whole files read at once, new files that appear
// only when complete.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// Returns the contents of a file. NotFound if it does not exist,
// InvalidArgument if it is a folder, ResourceExhausted if it does not fit into
// memory; all messages contain the path.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// InvalidArgument, with `name` and what to do, if `content` is compressed:
// whoever reads it as text would call it broken.
absl::Status CheckNotCompressed(absl::string_view name,
                                absl::string_view content);

// Returns the size of a plain file, the only kind that is data: reading a pipe
// or a device could take forever. NotFound if it does not exist,
// InvalidArgument if it is something else, or a link to something else; both
// messages contain the path.
absl::StatusOr<int64_t> PlainFileBytes(const std::string& path);

bool IsFile(const std::string& path);
bool IsFolder(const std::string& path);

// Creates `folder` and its parents where they are missing.
absl::Status MakeFolder(const std::string& folder);

// Returns the sorted paths of the files in `folder` whose names end in
// `ending`, including those in subfolders if `recursive`. Links to folders are
// subfolders, too, unless they lead back to one that they are in: `loops`, if
// not null, gets the sorted paths of those. NotFound if there is no such
// folder. Not all need be plain files: see PlainFileBytes.
absl::StatusOr<std::vector<std::string>> ListFiles(
    const std::string& folder, absl::string_view ending, bool recursive,
    std::vector<std::string>* loops = nullptr);

// The same with subfolders, but only plain files and links to them. For folders
// of records: a pipe among them would be read forever.
absl::StatusOr<std::vector<std::string>> ListPlainFiles(
    const std::string& folder, absl::string_view ending);

// Returns `folder/name`, or just `name` if it is absolute or `folder` is empty.
std::string JoinPath(absl::string_view folder, absl::string_view name);
// "a/b/c" -> "a/b"; "c" -> "."; "/" -> "/".
std::string ParentFolder(absl::string_view path);
// "a/b/c.tar" -> "c.tar".
std::string BaseName(absl::string_view path);

// Text from a record, such as a machine profile or a library, as one component
// of a path. Letters, digits and `-_.,:=+@` stay, every other byte becomes %XX,
// and so does a dot in front: the result never leads out of a folder, and
// different texts have different names. Use it for every path that is made of
// text that others may have written.
std::string FileNameOf(absl::string_view text);
// Whether a relative path from a record stays below the folder that it is
// relative to. InvalidArgument, with the path, if it is empty or absolute or
// has an empty component, `.` or `..`.
absl::Status CheckStaysBelow(absl::string_view path);

// Returns the path of the running program, with symbolic links resolved.
absl::StatusOr<std::string> ProgramPath();

// A file that appears under its name only when it is complete, for output too
// large to hold in memory. Data is written to a temporary file next to the
// target; Commit renames it to the target in one step. Without Commit the
// temporary file is removed and an older target stays unchanged. Folders above
// the target are created where they are missing.
//
// A target that exists and is not a regular file, such as /dev/null or a named
// pipe, is never replaced: data is written straight to it.
class NewFile {
 public:
  static absl::StatusOr<std::unique_ptr<NewFile>> Create(
      const std::string& path);
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile();

  // The descriptor to write to. Owned by this object.
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }

  // Call once, after the last write.
  absl::Status Commit();

 private:
  NewFile(std::string path, std::string temporary, int fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

  const std::string path_;
  // Empty if data is written straight to the target.
  const std::string temporary_;
  const int fd_;
  bool committed_ = false;
};

// Writes all of `content` to an open file; `path` is for messages.
absl::Status WriteAll(int fd, absl::string_view content,
                      const std::string& path);

// Replaces the file `path` by `content` in one step: a reader sees either the
// old file or the new one, also after a crash.
absl::Status WriteFileAtomically(const std::string& path,
                                 absl::string_view content);

}  // namespace feedrate
