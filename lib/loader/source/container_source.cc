#include "lib/loader/source/container_source.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/allowed_sizes.h"
#include "lib/base/status_macros.h"
#include "lib/storage/lmdb.h"
#include "lib/storage/parquet/parquet.h"
#include "lib/storage/tfrecord.h"

namespace feedrate {
namespace {

absl::Status Named(const std::string& name, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(name, ": ", status.message()));
}

// A whole file, mapped. Only the pages that are looked at are read.
class FileMap {
 public:
  static absl::StatusOr<std::unique_ptr<FileMap>> Open(const OpenFile& opened) {
    struct stat info = {};
    if (fstat(opened.file.get(), &info) != 0 || !S_ISREG(info.st_mode) ||
        info.st_size == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(opened.path, ": is not a plain file, or empty"));
    }
    void* const map = mmap(nullptr, info.st_size, PROT_READ, MAP_SHARED,
                           opened.file.get(), 0);
    if (map == MAP_FAILED) {
      return absl::DataLossError(
          absl::StrCat(opened.path, ": cannot map: ", std::strerror(errno)));
    }
    madvise(map, info.st_size, MADV_RANDOM);
    return std::make_unique<FileMap>(static_cast<char*>(map), info.st_size);
  }

  FileMap(char* map, int64_t size) : map_(map), size_(size) {}
  FileMap(const FileMap&) = delete;
  FileMap& operator=(const FileMap&) = delete;
  ~FileMap() { munmap(map_, size_); }

  absl::string_view bytes() const { return {map_, static_cast<size_t>(size_)}; }

 private:
  char* const map_;
  const int64_t size_;
};

// The part of `file` that `value` is. REQUIRES: it lies in `map`.
FilePart PartOf(int file, const FileMap& map, absl::string_view value,
                std::string name) {
  FilePart part;
  part.file = file;
  part.name = std::move(name);
  part.offset = value.data() - map.bytes().data();
  part.bytes = static_cast<int64_t>(value.size());
  return part;
}

// The only value of the image feature.
absl::StatusOr<absl::string_view> ImageOf(const ExampleView& example) {
  constexpr absl::string_view kEncoded = "image/encoded";
  const absl::string_view name =
      !example.Has(kEncoded) && example.Has("image") ? "image" : kEncoded;
  std::vector<absl::string_view> values;
  RETURN_IF_ERROR(example.Bytes(name, &values));
  if (values.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the feature ", name, " has ", values.size(), " values, not 1"));
  }
  RETURN_IF_ERROR(CheckItemBytes(static_cast<int64_t>(values[0].size())));
  return values[0];
}

int64_t LabelOf(const ExampleView& example) {
  std::vector<int64_t> values;
  for (const char* name : {"image/class/label", "label"}) {
    if (example.Has(name) && example.Integers(name, &values).ok() &&
        values.size() == 1) {
      return std::max<int64_t>(values[0], -1);
    }
  }
  return -1;
}

// Appends the items of one file, whose number is `file`, to `parts`.
using IndexFile = absl::Status (*)(int file, const OpenFile& opened,
                                   const FileMap& map,
                                   std::vector<FilePart>* parts);

absl::StatusOr<std::unique_ptr<Source>> IndexedFiles(
    const std::vector<std::string>& paths, IndexFile index) {
  std::vector<OpenFile> files;
  std::vector<FilePart> parts;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(files.emplace_back(), OpenForParts(path));
    ASSIGN_OR_RETURN(const std::unique_ptr<FileMap> map,
                     FileMap::Open(files.back()));
    RETURN_IF_ERROR(
        index(static_cast<int>(files.size()) - 1, files.back(), *map, &parts));
  }
  return PartsSource(std::move(files), std::move(parts));
}

absl::Status IndexRecords(int file, const OpenFile& opened, const FileMap& map,
                          std::vector<FilePart>* parts) {
  TfRecordCursor cursor(opened.path, map.bytes());
  ExampleView example;
  for (int64_t number = 0;; ++number) {
    ASSIGN_OR_RETURN(const std::optional<absl::string_view> record,
                     cursor.NextUnchecked());
    if (!record.has_value()) return absl::OkStatus();
    std::string name = absl::StrCat("record ", number);
    const absl::Status parsed = example.Parse(*record);
    const absl::StatusOr<absl::string_view> image =
        parsed.ok() ? ImageOf(example) : parsed;
    if (!image.ok()) {
      return Named(absl::StrCat(opened.path, ":", name), image.status());
    }
    parts->push_back(PartOf(file, map, *image, std::move(name)));
    parts->back().label = LabelOf(example);
  }
}

absl::Status IndexEntries(int file, const OpenFile& opened, const FileMap& map,
                          std::vector<FilePart>* parts) {
  const absl::StatusOr<std::vector<LmdbEntry>> entries = ReadLmdb(map.bytes());
  if (!entries.ok()) return Named(opened.path, entries.status());
  for (const LmdbEntry& entry : *entries) {
    std::string name = absl::CHexEscape(entry.key);
    RETURN_IF_ERROR(CheckItemBytes(absl::StrCat(opened.path, ":", name),
                                   static_cast<int64_t>(entry.value.size())));
    parts->push_back(PartOf(file, map, entry.value, std::move(name)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> TfRecordSource(
    const std::vector<std::string>& paths) {
  return IndexedFiles(paths, IndexRecords);
}

absl::StatusOr<std::unique_ptr<Source>> LmdbSource(
    const std::vector<std::string>& paths) {
  return IndexedFiles(paths, IndexEntries);
}

namespace {

// Groups of rows that are kept in memory: a few more than threads that read.
constexpr size_t kKeptGroups = 4;

struct ParquetPart {
  OpenFile opened;
  std::unique_ptr<FileMap> map;
  ParquetFile file;
  std::string column;
  // -1 where the file has none.
  std::vector<int64_t> labels;

  int64_t LabelOf(int64_t row) const {
    return labels.empty() ? -1 : std::max<int64_t>(labels[row], -1);
  }
};

absl::StatusOr<ParquetPart> OpenParquet(const std::string& path) {
  ASSIGN_OR_RETURN(OpenFile opened, OpenForParts(path));
  ASSIGN_OR_RETURN(std::unique_ptr<FileMap> map, FileMap::Open(opened));
  absl::StatusOr<ParquetFile> file = ParquetFile::Parse(map->bytes());
  if (!file.ok()) return Named(path, file.status());
  ParquetPart part = {
      std::move(opened), std::move(map), *std::move(file), "image", {}};
  if (!part.file.Has(part.column) && part.file.Has("image/bytes")) {
    part.column = "image/bytes";
  }
  if (part.file.Has("label")) {
    absl::StatusOr<ParquetColumn> labels = part.file.Read("label");
    // A column of another kind is not a class.
    if (labels.ok() && labels->begins.empty()) {
      part.labels = std::move(labels->integers);
    }
  }
  return part;
}

// Images in pages that have to be unpacked.
class PackedRows : public Source {
 public:
  static absl::StatusOr<std::unique_ptr<Source>> Make(
      std::vector<ParquetPart> files) {
    auto source = std::make_unique<PackedRows>();
    source->files_ = std::move(files);
    for (size_t i = 0; i < source->files_.size(); ++i) {
      const ParquetPart& file = source->files_[i];
      int64_t row = 0;
      for (int group = 0; group < file.file.groups(); ++group) {
        const int64_t rows = file.file.rows(group);
        source->groups_.push_back(
            {static_cast<int>(i), group, row, source->size_});
        row += rows;
        source->size_ += rows;
      }
    }
    // Says now what it could not read later.
    ReadBuffer buffer;
    if (source->size_ > 0) {
      const absl::Status read = source->Read(0, &buffer).status();
      if (!read.ok()) return Named(source->files_[0].opened.path, read);
    }
    return source;
  }

  int64_t size() const override { return size_; }
  std::string name(int64_t item) const override {
    const Group& group = GroupOf(item);
    return absl::StrCat(files_[group.file].opened.path, ":row ",
                        group.first_row + item - group.first);
  }
  int64_t label(int64_t item) const override {
    const Group& group = GroupOf(item);
    return files_[group.file].LabelOf(group.first_row + item - group.first);
  }
  bool has_places() const override { return false; }
  // An equal share of the group's bytes.
  ItemPlace Place(int64_t item) const override {
    const Group& group = GroupOf(item);
    const ParquetPart& file = files_[group.file];
    const absl::string_view bytes = file.file.Chunk(file.column, group.group);
    const int64_t rows = std::max<int64_t>(file.file.rows(group.group), 1);
    ItemPlace place;
    place.fd = file.opened.file.get();
    place.bytes = static_cast<int64_t>(bytes.size()) / rows;
    place.offset = bytes.data() - file.map->bytes().data() +
                   (item - group.first) * place.bytes;
    return place;
  }
  absl::StatusOr<absl::string_view> Read(int64_t item,
                                         ReadBuffer* buffer) const override {
    const Group& group = GroupOf(item);
    ASSIGN_OR_RETURN(const std::shared_ptr<const ParquetColumn> column,
                     Column(&group - groups_.data()));
    if (column->texts.size() <= static_cast<size_t>(item - group.first)) {
      return absl::InvalidArgumentError("is not a column of bytes");
    }
    const std::string& text = column->texts[item - group.first];
    char* const bytes = buffer->Reserve(text.size());
    std::memcpy(bytes, text.data(), text.size());
    return absl::string_view(bytes, text.size());
  }

 private:
  struct Group {
    int file = 0;
    int group = 0;
    int64_t first_row = 0;
    int64_t first = 0;  // Its first item.
  };
  // A group that is or will be in memory.
  struct Kept {
    size_t group = 0;
    std::once_flag once;
    absl::StatusOr<std::shared_ptr<const ParquetColumn>> column =
        absl::UnknownError("not read yet");
  };

  // REQUIRES: 0 <= item < size().
  const Group& GroupOf(int64_t item) const {
    const auto after = std::upper_bound(
        groups_.begin(), groups_.end(), item,
        [](int64_t at, const Group& group) { return at < group.first; });
    return *(after - 1);
  }

  absl::StatusOr<std::shared_ptr<const ParquetColumn>> Column(
      size_t number) const {
    std::shared_ptr<Kept> kept;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto found =
          std::find_if(kept_.begin(), kept_.end(),
                       [&](const auto& one) { return one->group == number; });
      if (found != kept_.end()) {
        kept_.splice(kept_.begin(), kept_, found);
      } else {
        kept_.push_front(std::make_shared<Kept>());
        kept_.front()->group = number;
        if (kept_.size() > kKeptGroups) kept_.pop_back();
      }
      kept = kept_.front();
    }
    // Threads that want the same group wait for the first of them.
    std::call_once(kept->once, [&] {
      const Group& group = groups_[number];
      const ParquetPart& file = files_[group.file];
      absl::StatusOr<ParquetColumn> column =
          file.file.ReadGroup(file.column, group.group);
      if (column.ok()) {
        kept->column =
            std::make_shared<const ParquetColumn>(*std::move(column));
      } else {
        kept->column = column.status();
      }
    });
    return kept->column;
  }

  std::vector<ParquetPart> files_;
  std::vector<Group> groups_;
  int64_t size_ = 0;
  mutable std::mutex mutex_;
  // The last one used comes first.
  mutable std::list<std::shared_ptr<Kept>> kept_;
};

// The images of all files as parts of them. Unimplemented if a file has to be
// unpacked.
absl::StatusOr<std::vector<FilePart>> PlacesOf(
    const std::vector<ParquetPart>& files) {
  std::vector<FilePart> parts;
  for (size_t i = 0; i < files.size(); ++i) {
    const ParquetPart& file = files[i];
    const absl::StatusOr<std::vector<absl::string_view>> places =
        file.file.Places(file.column);
    if (!places.ok()) return Named(file.opened.path, places.status());
    for (size_t row = 0; row < places->size(); ++row) {
      parts.push_back(PartOf(static_cast<int>(i), *file.map, (*places)[row],
                             absl::StrCat("row ", row)));
      parts.back().label = file.LabelOf(static_cast<int64_t>(row));
    }
  }
  return parts;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> ParquetSource(
    const std::vector<std::string>& paths) {
  std::vector<ParquetPart> files;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(ParquetPart file, OpenParquet(path));
    files.push_back(std::move(file));
  }
  absl::StatusOr<std::vector<FilePart>> places = PlacesOf(files);
  if (absl::IsUnimplemented(places.status())) {
    return PackedRows::Make(std::move(files));
  }
  RETURN_IF_ERROR(places.status());
  std::vector<OpenFile> opened;
  for (ParquetPart& file : files) opened.push_back(std::move(file.opened));
  return PartsSource(std::move(opened), *std::move(places));
}

}  // namespace feedrate
