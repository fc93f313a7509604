#include "lib/runner/data/file_sets.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <mutex>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/allowed_sizes.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/hash/sha256.h"
#include "lib/loader/source/data_folder.h"
#include "lib/media/image_file.h"
#include "lib/media/item_ids.h"
#include "lib/media/parallel.h"
#include "lib/media/synthetic.h"
#include "lib/storage/lmdb.h"
#include "lib/storage/object_store.h"
#include "lib/storage/parquet/parquet.h"
#include "lib/storage/shards.h"
#include "lib/storage/tfrecord.h"
#include "lib/tar/builder.h"

namespace feedrate {
namespace {

// Small enough to be held in memory while a shard is written.
constexpr int64_t kItemsOfAShard = 250;

std::string EndingOf(const std::string& path) {
  const std::string name = BaseName(path);
  const size_t dot = name.rfind('.');
  return dot == std::string::npos ? ""
                                  : absl::AsciiStrToLower(name.substr(dot + 1));
}

int64_t SizeOf(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 ? info.st_size : -1;
}

absl::StatusOr<std::string> Absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute =
      std::filesystem::absolute(path, error).lexically_normal();
  if (!error) return absolute.string();
  return absl::NotFoundError(absl::StrCat(path, ": ", error.message()));
}

absl::StatusOr<FileSet> ShardsOf(const std::vector<std::string>& paths) {
  FileSet set;
  set.source = "shards";
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const int64_t bytes, PlainFileBytes(path));
    ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> folder,
                     OpenFileStore(ParentFolder(path)));
    ASSIGN_OR_RETURN(
        const std::vector<ShardMember> members,
        MembersByHeaders({BaseName(path), bytes, "", ""}, folder.get()));
    for (const ShardMember& member : members) {
      if (member.bytes == 0) continue;
      RETURN_IF_ERROR(
          CheckItemBytes(absl::StrCat(path, ":", member.name), member.bytes));
      ++set.items;
    }
    set.files.push_back({path, bytes, {}});
  }
  return set;
}

absl::Status TooFew(const std::string& dataset, int64_t have, int64_t wanted) {
  return absl::InvalidArgumentError(
      absl::StrCat(dataset, ": has ", have, " usable files, not ", wanted,
                   have > 0 ? absl::StrCat("; ask for --num_items=", have)
                            : "; name a folder with images, .npy arrays or "
                              "tar files of them"));
}

// Runs `make` for each of `count` items; returns the first failure.
absl::Status ForEachFile(int64_t count, const FileProgress& progress,
                         const std::function<absl::Status(int64_t)>& make) {
  std::mutex mutex;
  absl::Status failure;
  int64_t done = 0;
  ParallelFor(count, 0, [&](int64_t i) {
    const absl::Status made = make(i);
    const std::lock_guard<std::mutex> lock(mutex);
    failure.Update(made);
    if (progress) progress(++done, count);
  });
  return failure;
}

}  // namespace

absl::StatusOr<FileSet> ListFolder(const std::string& folder,
                                   const std::vector<std::string>& endings,
                                   int64_t num_items) {
  ASSIGN_OR_RETURN(const std::string absolute, Absolute(folder));
  if (!IsFolder(absolute)) {
    return absl::NotFoundError(absl::StrCat(
        absolute,
        ": no such folder; name one with --dataset, or make data with "
        "--dataset=synthetic:rgb or synthetic:video"));
  }
  ASSIGN_OR_RETURN(DataFolder listing, ListDataFolder(absolute, endings));
  FileSet set;
  for (const std::string& path : listing.paths) {
    if (num_items > 0 && static_cast<int64_t>(set.files.size()) == num_items) {
      break;
    }
    const absl::StatusOr<int64_t> bytes = PlainFileBytes(path);
    if (absl::IsNotFound(bytes.status())) {
      listing.left_out.Add("link that leads nowhere", path);
      continue;
    }
    RETURN_IF_ERROR(bytes.status());
    RETURN_IF_ERROR(CheckItemBytes(path, *bytes));
    set.files.push_back({path, *bytes, {}});
  }
  set.items = static_cast<int64_t>(set.files.size());
  set.left_out = listing.left_out.Text();
  if (set.files.empty()) {
    ASSIGN_OR_RETURN(const std::vector<std::string> archives,
                     ListFiles(absolute, ".tar", /*recursive=*/true));
    if (!archives.empty()) {
      ASSIGN_OR_RETURN(set, ShardsOf(archives));
    }
  }
  if (set.items == 0 || set.items < num_items) {
    return TooFew(folder, set.items, std::max<int64_t>(num_items, 1));
  }
  return set;
}

absl::StatusOr<FileSet> WriteSynthetic(const std::string& dataset,
                                       int64_t num_items,
                                       const std::string& cache,
                                       const FileProgress& progress) {
  ASSIGN_OR_RETURN(const SyntheticSpec spec, ParseSynthetic(dataset));
  const int64_t count = num_items > 0 ? num_items : spec.n;
  if (count == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        dataset, ": does not say how many; add --num_items=N or write ",
        dataset, ",n=N"));
  }
  const int64_t most = spec.ids && spec.n == 0 ? kItemIds : spec.n;
  if (most > 0 && most < count) return TooFew(dataset, most, count);
  const std::string folder =
      JoinPath(cache, spec.ids ? "synthetic/ids"
                               : absl::StrCat("synthetic/seed", spec.seed));
  RETURN_IF_ERROR(MakeFolder(folder));
  FileSet set;
  set.items = count;
  set.files.resize(count);
  RETURN_IF_ERROR(ForEachFile(count, progress, [&](int64_t i) {
    SourceFile& file = set.files[i];
    file.path = JoinPath(folder, SyntheticName(i));
    file.bytes = SizeOf(file.path);
    if (file.bytes > 0) return absl::OkStatus();
    const std::string jpeg = SyntheticFile(spec, i);
    file.bytes = static_cast<int64_t>(jpeg.size());
    return WriteFileAtomically(file.path, jpeg);
  }));
  return set;
}

namespace {

// The bytes of a file with the items from `first` up to `end`.
using MakeFile =
    std::function<absl::StatusOr<std::string>(int64_t first, int64_t end)>;

// A folder of `kind` below `cache`, named after the set: the paths, sizes and
// times of its files. Makes it.
absl::StatusOr<std::string> FolderOf(const FileSet& set,
                                     const std::string& kind,
                                     const std::string& cache) {
  std::string identity;
  for (const SourceFile& file : set.files) {
    // A file that was replaced by one of the same size is another file.
    struct stat info = {};
    if (stat(file.path.c_str(), &info) != 0) {
      return absl::NotFoundError(absl::StrCat(file.path, ": is gone"));
    }
    absl::StrAppend(&identity, file.path, "\n", file.bytes, " ",
                    info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, " ",
                    info.st_ctim.tv_sec, ".", info.st_ctim.tv_nsec, "\n");
  }
  std::string folder = JoinPath(
      cache, absl::StrCat(kind, "/", Sha256Hex(identity).substr(0, 16)));
  RETURN_IF_ERROR(MakeFolder(folder));
  return folder;
}

// Writes files of `items` items each. Those that are there are kept.
absl::StatusOr<FileSet> WriteFiles(const FileSet& set, int64_t items,
                                   const std::string& kind,
                                   const std::string& ending,
                                   const std::string& cache,
                                   const FileProgress& progress,
                                   const MakeFile& make) {
  ASSIGN_OR_RETURN(const std::string folder, FolderOf(set, kind, cache));
  FileSet written;
  written.source = kind;
  written.items = set.items;
  written.files.resize((set.items + items - 1) / items);
  const auto count = static_cast<int64_t>(written.files.size());
  RETURN_IF_ERROR(ForEachFile(count, progress, [&](int64_t i) -> absl::Status {
    SourceFile& file = written.files[i];
    file.path = JoinPath(folder, absl::StrFormat("%06d.%s", i, ending));
    file.bytes = SizeOf(file.path);
    if (file.bytes > 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::string bytes,
                     make(i * items, std::min(set.items, (i + 1) * items)));
    file.bytes = static_cast<int64_t>(bytes.size());
    return WriteFileAtomically(file.path, bytes);
  }));
  return written;
}

// All items in one file, as people have it; one that is there is kept.
absl::StatusOr<FileSet> WriteLmdb(const FileSet& set, const std::string& cache,
                                  const FileProgress& progress) {
  ASSIGN_OR_RETURN(const std::string folder, FolderOf(set, "lmdb", cache));
  SourceFile file;
  file.path = JoinPath(folder, "data.mdb");
  file.bytes = SizeOf(file.path);
  if (file.bytes <= 0) {
    ASSIGN_OR_RETURN(const std::unique_ptr<NewFile> opened,
                     NewFile::Create(file.path));
    LmdbWriter writer(opened->fd(), file.path);
    for (int64_t i = 0; i < set.items; ++i) {
      ASSIGN_OR_RETURN(const std::string bytes, ReadFile(set.files[i].path));
      RETURN_IF_ERROR(writer.Add(absl::StrFormat("%010d", i), bytes));
      if (progress) progress(i + 1, set.items);
    }
    RETURN_IF_ERROR(writer.Finish());
    RETURN_IF_ERROR(opened->Commit());
    file.bytes = SizeOf(file.path);
  }
  FileSet written;
  written.source = "lmdb";
  written.items = set.items;
  written.files.push_back(std::move(file));
  return written;
}

// The items of a set from `first` up to `end`.
absl::StatusOr<std::vector<std::string>> ReadItems(const FileSet& set,
                                                   int64_t first, int64_t end) {
  std::vector<std::string> items;
  for (int64_t i = first; i < end; ++i) {
    ASSIGN_OR_RETURN(items.emplace_back(), ReadFile(set.files[i].path));
  }
  return items;
}

// As TensorFlow's own scripts write ImageNet.
std::string TfRecordsOf(const std::vector<std::string>& items, int64_t first,
                        const FileSet& set) {
  std::string records;
  for (size_t i = 0; i < items.size(); ++i) {
    ExampleBuilder example;
    example.AddBytes("image/encoded", {items[i]});
    example.AddBytes("image/filename", {BaseName(set.files[first + i].path)});
    AppendTfRecord(example.Serialized(), &records);
  }
  return records;
}

std::string ParquetOf(const std::vector<std::string>& items, int64_t first,
                      const FileSet& set) {
  std::vector<ParquetImage> images;
  for (size_t i = 0; i < items.size(); ++i) {
    images.push_back({items[i], BaseName(set.files[first + i].path)});
  }
  return WriteParquetImages(images);
}

// The decoded pixels as numpy.save writes them.
absl::StatusOr<std::string> ArrayOf(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  if (IsNpy(bytes)) return bytes;
  const absl::StatusOr<Image> image = DecodeImage(bytes);
  if (!image.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", image.status().message()));
  }
  const ImageView view = image->view();
  return PrintNpy(view);
}

}  // namespace

absl::StatusOr<FileSet> WriteShards(const FileSet& set,
                                    const std::string& cache,
                                    const FileProgress& progress) {
  if (set.source == "shards") return set;
  return WriteFiles(
      set, kItemsOfAShard, "shards", "tar", cache, progress,
      [&](int64_t first, int64_t end) -> absl::StatusOr<std::string> {
        tar::Builder archive;
        ASSIGN_OR_RETURN(const std::vector<std::string> items,
                         ReadItems(set, first, end));
        for (int64_t i = first; i < end; ++i) {
          const std::string ending = EndingOf(set.files[i].path);
          archive.File(absl::StrFormat("%08d.%s", i, ending), items[i - first]);
        }
        return archive.Finish();
      });
}

absl::StatusOr<FileSet> WriteContainer(const FileSet& set,
                                       const std::string& container,
                                       const std::string& cache,
                                       const FileProgress& progress) {
  if (set.source != "files") {
    return absl::InvalidArgumentError(
        "containers are written from a folder of images, not from shards; "
        "name such a folder with --dataset=DIR");
  }
  if (container == "files") return set;
  if (container == "shards") return WriteShards(set, cache, progress);
  if (container == "arrays") {
    ASSIGN_OR_RETURN(FileSet arrays,
                     WriteFiles(set, 1, container, "npy", cache, progress,
                                [&](int64_t first, int64_t) {
                                  return ArrayOf(set.files[first].path);
                                }));
    arrays.source = "files";
    return arrays;
  }
  for (const SourceFile& file : set.files) {
    if (EndingOf(file.path) != "npy") continue;
    return absl::InvalidArgumentError(absl::StrCat(
        file.path, ": is an array; ", container, " has encoded images here"));
  }
  if (container == "lmdb") return WriteLmdb(set, cache, progress);
  const auto print = container == "tfrecord"  ? &TfRecordsOf
                     : container == "parquet" ? &ParquetOf
                                              : nullptr;
  if (print == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("no container is called \"", container, "\""));
  }
  return WriteFiles(
      set, kItemsOfAShard, container, container, cache, progress,
      [&](int64_t first, int64_t end) -> absl::StatusOr<std::string> {
        ASSIGN_OR_RETURN(const std::vector<std::string> items,
                         ReadItems(set, first, end));
        return print(items, first, set);
      });
}

}  // namespace feedrate
