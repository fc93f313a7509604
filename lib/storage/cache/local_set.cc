#include "lib/storage/cache/local_set.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/storage/read_many.h"

namespace feedrate {
namespace {

// Objects of so many bytes are read at once, and larger ones in pieces of that
// size.
constexpr int64_t kAtOnce = int64_t{128} << 20;
// Of one part of a path, on every common file system.
constexpr size_t kLongestName = 255;

// "a/b/c.tar" -> ".tar". A name of its own that only keeps what programs look
// at: what an object is called may be no name for a file.
std::string EndingOf(const std::string& name) {
  const std::string base = BaseName(name);
  const size_t dot = base.rfind('.');
  if (dot == std::string::npos || base.size() - dot > 8) return "";
  return base.substr(dot);
}

std::string NumberedFolder(const std::string& folder, int number) {
  return JoinPath(folder, absl::StrFormat("%06d", number));
}

// Paths for objects, one after the other, whose folders are made.
class LocalPaths {
 public:
  LocalPaths(std::string folder, LocalNames names)
      : folder_(std::move(folder)), names_(names) {}

  absl::StatusOr<std::string> Next(const std::string& name) {
    return names_ == LocalNames::kOwn ? OwnPath(name) : NumberedPath(name);
  }

 private:
  absl::StatusOr<std::string> NumberedPath(const std::string& name) {
    const std::string parent = ParentFolder(name);
    if (objects_ == 0 || parent != last_parent_) {
      RETURN_IF_ERROR(MakeFolder(NumberedFolder(folder_, folders_++)));
    }
    last_parent_ = parent;
    return JoinPath(NumberedFolder(folder_, folders_ - 1),
                    absl::StrFormat("%08d%s", objects_++, EndingOf(name)));
  }

  absl::StatusOr<std::string> OwnPath(const std::string& name) const {
    std::vector<std::string> parts = absl::StrSplit(name, '/');
    std::string path = folder_;
    for (size_t i = 0; i < parts.size(); ++i) {
      const std::string& part = parts[i];
      if (part.empty() || part == "." || part == ".." ||
          part.size() > kLongestName || part.find('\0') != std::string::npos) {
        return absl::InvalidArgumentError(absl::StrCat(
            "\"", absl::CEscape(name), "\" cannot be a file's name here"));
      }
      path = JoinPath(path, part);
      if (i + 1 < parts.size()) RETURN_IF_ERROR(MakeFolder(path));
    }
    return path;
  }

  const std::string folder_;
  const LocalNames names_;
  int64_t objects_ = 0;
  int folders_ = 0;
  std::string last_parent_;
};

absl::Status FetchLarge(const ObjectInfo& object, CachedStore* store) {
  const std::optional<CacheDir::Entry> entry =
      store->cache().Find(store->WholeKey(object));
  if (entry.has_value() && store->cache().Verify(*entry)) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<CacheDir::Writer> writer,
                   store->cache().StartWriting(object.bytes));
  std::string piece;
  for (int64_t at = 0; at < object.bytes; at += kAtOnce) {
    piece.resize(std::min(kAtOnce, object.bytes - at));
    ReadRequest request;
    request.name = object.name;
    request.version = object.version;
    request.offset = at;
    request.bytes = static_cast<int64_t>(piece.size());
    request.out = piece.data();
    RETURN_IF_ERROR(store->behind().Read(request));
    RETURN_IF_ERROR(writer->Append(piece));
  }
  return writer->Commit(store->WholeKey(object));
}

absl::Status CheckRoom(const std::vector<ObjectInfo>& objects,
                       const CacheOptions& options) {
  int64_t bytes = 0;
  for (const ObjectInfo& object : objects) bytes += object.bytes;
  if (options.max_bytes == 0 || bytes <= options.max_bytes) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      options.folder, ": the data has ", bytes, " bytes, and --cache_bytes is ",
      options.max_bytes, "; allow more, or ask for fewer items"));
}

}  // namespace

absl::StatusOr<LocalSet> BringHome(
    const std::vector<ObjectInfo>& objects, LocalNames names,
    CachedStore* store,
    const std::function<void(int64_t done, int64_t total)>& progress) {
  CacheDir& cache = store->cache();
  RETURN_IF_ERROR(CheckRoom(objects, cache.options()));
  LocalSet set;
  ASSIGN_OR_RETURN(set.folder, cache.MakeOwnFolder());
  std::vector<std::string> contents;
  LocalPaths paths(set.folder, names);
  for (size_t begin = 0, end; begin < objects.size(); begin = end) {
    end = EndOfRun(objects, begin, kAtOnce);
    if (end == begin + 1 && objects[begin].bytes > kAtOnce) {
      RETURN_IF_ERROR(FetchLarge(objects[begin], store));
    } else {
      RETURN_IF_ERROR(ReadObjects(objects, begin, end, store, &contents));
    }
    // At once, before others make room for theirs.
    for (size_t i = begin; i < end; ++i) {
      const std::optional<CacheDir::Entry> entry =
          cache.Find(store->WholeKey(objects[i]));
      if (!entry.has_value()) {
        return absl::ResourceExhaustedError(absl::StrCat(
            cache.options().folder, ": ", objects[i].name,
            " could not be kept; the disk or --cache_bytes is too small"));
      }
      ASSIGN_OR_RETURN(set.paths.emplace_back(), paths.Next(objects[i].name));
      RETURN_IF_ERROR(cache.Link(*entry, set.paths.back()));
    }
    if (progress) {
      progress(static_cast<int64_t>(end), static_cast<int64_t>(objects.size()));
    }
  }
  return set;
}

}  // namespace feedrate
