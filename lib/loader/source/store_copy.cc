#include "lib/loader/source/store_copy.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/files.h"
#include "lib/base/private_folder.h"
#include "lib/base/status_macros.h"
#include "lib/base/unique_fd.h"
#include "lib/hash/sha256.h"
#include "lib/storage/open_store.h"

namespace feedrate {
namespace {

// In memory at a time.
constexpr int64_t kPieceBytes = int64_t{64} << 20;

absl::Status CheckObjectName(const ObjectStore& store,
                             const std::string& name) {
  for (const absl::string_view part : absl::StrSplit(name, '/')) {
    if (part.empty() || part == "." || part == ".." ||
        part.find_first_of("\t\n") != absl::string_view::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat(store.url(), ": the object \"", name,
                       "\" cannot be a file; give it another name"));
    }
  }
  return absl::OkStatus();
}

// Copies an object of any size, piece by piece.
absl::Status CopyObject(const ObjectInfo& object, ObjectStore* store,
                        ObjectWriter* folder) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ObjectUpload> file,
                   folder->Start(object.name));
  std::string piece;
  for (int64_t at = 0; at < object.bytes; at += kPieceBytes) {
    ReadRequest request;
    request.name = object.name;
    request.version = object.version;
    request.object_bytes = object.bytes;
    request.offset = at;
    request.bytes = std::min(kPieceBytes, object.bytes - at);
    piece.resize(request.bytes);
    request.out = &piece[0];
    RETURN_IF_ERROR(store->Read(request));
    RETURN_IF_ERROR(file->Write(piece));
  }
  return file->Commit();
}

absl::Status CopyRun(const std::vector<ObjectInfo>& objects, size_t begin,
                     size_t end, ObjectStore* store, ObjectWriter* folder) {
  // Pieces of an object without a version could be of two.
  if (end == begin + 1 && !objects[begin].version.empty()) {
    return CopyObject(objects[begin], store, folder);
  }
  std::vector<std::string> contents;
  RETURN_IF_ERROR(ReadObjects(objects, begin, end, store, &contents));
  for (size_t i = begin; i < end; ++i) {
    ASSIGN_OR_RETURN(const std::unique_ptr<ObjectUpload> file,
                     folder->Start(objects[i].name));
    RETURN_IF_ERROR(file->Write(contents[i - begin]));
    RETURN_IF_ERROR(file->Commit());
  }
  return absl::OkStatus();
}

// What the copy has: sizes and versions by name, as in its list.
using Copied = std::map<std::string, std::string>;

std::string LineOf(const ObjectInfo& object) {
  return absl::StrCat(object.bytes, "\t", object.version);
}

Copied ReadCopied(const std::string& path) {
  Copied copied;
  const auto text = ReadFile(path);
  if (!text.ok()) return copied;
  for (const absl::string_view line :
       absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(line, absl::MaxSplits('\t', 1));
    copied[parts.first] = parts.second;
  }
  return copied;
}

absl::Status WriteCopied(const std::string& path, const Copied& copied) {
  std::string text;
  for (const auto& [name, line] : copied) {
    absl::StrAppend(&text, name, "\t", line, "\n");
  }
  return WriteFileAtomically(path, text);
}

// Held while it lives.
absl::StatusOr<UniqueFd> Lock(const std::string& path) {
  UniqueFd file(
      open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  int locked = file.valid() ? -1 : 0;
  while (locked != 0) {
    locked = flock(file.get(), LOCK_EX);
    if (locked != 0 && errno != EINTR) break;
  }
  if (file.valid() && locked == 0) return file;
  return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot be locked"));
}

}  // namespace

absl::StatusOr<std::string> CopyOfStore(const StoreSpec& spec) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> store,
                   OpenObjectStore(spec.url, spec.options));
  const std::string place = JoinPath(
      spec.cache_folder,
      absl::StrCat("copy-", Sha256Hex(store->identity()).substr(0, 16)));
  RETURN_IF_ERROR(MakePrivateFolder(place));
  ASSIGN_OR_RETURN(const UniqueFd lock, Lock(JoinPath(place, "lock")));
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects, store->List());
  if (objects.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        spec.url, ": there is nothing; look at the bucket and the prefix"));
  }
  // As the store shows it: without a signature.
  absl::string_view name = store->url();
  while (!name.empty() && name.back() == '/') name.remove_suffix(1);
  const std::string folder = JoinPath(JoinPath(place, "data"), BaseName(name));
  const std::string list = JoinPath(place, "copied");
  Copied had = ReadCopied(list);
  Copied copied;
  std::vector<ObjectInfo> missing;
  for (const ObjectInfo& object : objects) {
    RETURN_IF_ERROR(CheckObjectName(*store, object.name));
    const auto known = had.find(object.name);
    const auto bytes = PlainFileBytes(JoinPath(folder, object.name));
    // Without a version, nobody knows whether it has changed.
    if (!object.version.empty() && known != had.end() &&
        known->second == LineOf(object) && bytes.ok() &&
        *bytes == object.bytes) {
      copied[object.name] = LineOf(object);
    } else {
      missing.push_back(object);
    }
    had.erase(object.name);
  }
  for (const auto& [gone, line] : had) {
    RETURN_IF_ERROR(CheckObjectName(*store, gone));
    const std::string path = JoinPath(folder, gone);
    unlink(path.c_str());
    // An object may now have the name of a folder that is empty.
    for (std::string above = ParentFolder(path);
         above != folder && rmdir(above.c_str()) == 0;) {
      above = ParentFolder(above);
    }
  }
  // What is not whole must not count as copied, whatever ends this.
  RETURN_IF_ERROR(WriteCopied(list, copied));
  ASSIGN_OR_RETURN(const std::unique_ptr<ObjectWriter> writer,
                   NewFolderWriter(folder));
  for (size_t begin = 0; begin < missing.size();) {
    const size_t end = EndOfRun(missing, begin, kPieceBytes);
    RETURN_IF_ERROR(CopyRun(missing, begin, end, store.get(), writer.get()));
    for (; begin < end; ++begin) {
      copied[missing[begin].name] = LineOf(missing[begin]);
    }
    RETURN_IF_ERROR(WriteCopied(list, copied));
  }
  return folder;
}

}  // namespace feedrate
