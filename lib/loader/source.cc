#include "lib/loader/source.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/allowed_sizes.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/unique_fd.h"
#include "lib/media/corpus.h"
#include "lib/media/image.h"
#include "lib/tar/reader.h"
#include "lib/tar/status.h"

namespace feedrate {
namespace {

// The error "cannot `what`: reason".
absl::Status FileError(absl::string_view what, int error) {
  const std::string text =
      absl::StrCat("cannot ", what, ": ", std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(text)
                         : absl::DataLossError(text);
}

// Opening a pipe or device could block forever. The flag makes no difference
// for regular files.
constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

absl::Status ReadExactly(int fd, int64_t offset, int64_t bytes, char* data) {
  for (int64_t done = 0; done < bytes;) {
    const ssize_t n = pread(fd, data + done, bytes - done, offset + done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError("read", errno);
    if (n == 0) {
      return absl::DataLossError(absl::StrCat("has ", done, " bytes, not the ",
                                              bytes, " it had when listed"));
    }
    done += n;
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> Open(const ItemPlace& place) {
  UniqueFd file(open(place.path, kOpenFlags));
  if (!file.valid()) return FileError("open", errno);
  return file;
}

// Reads by pread into `buffer`. DataLoss if the file is shorter than `place`
// says.
absl::StatusOr<absl::string_view> ReadPlace(const ItemPlace& place,
                                            ReadBuffer* buffer) {
  RETURN_IF_ERROR(CheckItemBytes(place.bytes));
  char* const data = buffer->Reserve(place.bytes);
  if (place.path == nullptr) {
    RETURN_IF_ERROR(ReadExactly(place.fd, place.offset, place.bytes, data));
  } else {
    ASSIGN_OR_RETURN(const UniqueFd file, Open(place));
    RETURN_IF_ERROR(ReadExactly(file.get(), place.offset, place.bytes, data));
  }
  return absl::string_view(data, place.bytes);
}

// Reads by mmap. REQUIRES: a path and offset 0.
absl::StatusOr<absl::string_view> MapPlace(const ItemPlace& place,
                                           ReadBuffer* buffer) {
  RETURN_IF_ERROR(CheckItemBytes(place.bytes));
  ASSIGN_OR_RETURN(const UniqueFd file, Open(place));
  if (place.bytes == 0) return absl::string_view();
  // Reading beyond the end of the file would kill the process.
  const int64_t size = lseek(file.get(), 0, SEEK_END);
  if (size < place.bytes) {
    return absl::DataLossError(absl::StrCat(
        "has ", size, " bytes, not the ", place.bytes, " it had when listed"));
  }
  const char* const data = buffer->Map(file.get(), place.bytes);
  if (data == nullptr) return FileError("map", errno);
  return absl::string_view(data, place.bytes);
}

class Files : public Source {
 public:
  Files(std::vector<ListedFile> files, FileAccess access)
      : files_(std::move(files)), access_(access) {}

  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  std::string name(int64_t item) const override { return files_[item].path; }

  ItemPlace Place(int64_t item) const override {
    ItemPlace place;
    place.path = files_[item].path.c_str();
    place.bytes = files_[item].bytes;
    return place;
  }

  absl::StatusOr<absl::string_view> Read(int64_t item,
                                         ReadBuffer* buffer) const override {
    return access_ == FileAccess::kMap ? MapPlace(Place(item), buffer)
                                       : ReadPlace(Place(item), buffer);
  }

 private:
  std::vector<ListedFile> files_;
  FileAccess access_;
};

int64_t SizeOf(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) ? info.st_size
                                                                 : 0;
}

}  // namespace

int64_t ParseLabel(absl::string_view text) {
  int64_t label = kNoNumber;
  return absl::SimpleAtoi(text, &label) && label >= -1 ? label : kNoNumber;
}

std::unique_ptr<Source> ListSource(std::vector<ListedFile> files,
                                   FileAccess access) {
  for (ListedFile& file : files) {
    if (file.bytes < 0) file.bytes = SizeOf(file.path);
  }
  return std::make_unique<Files>(std::move(files), access);
}

absl::StatusOr<std::unique_ptr<Source>> FolderSource(const std::string& folder,
                                                     FileAccess access) {
  ASSIGN_OR_RETURN(const DataFolder listing, ListDataFolder(folder));
  return FolderSource(listing, access);
}

absl::StatusOr<std::unique_ptr<Source>> FolderSource(const DataFolder& listing,
                                                     FileAccess access) {
  std::vector<ListedFile> files;
  files.reserve(listing.paths.size());
  for (const std::string& path : listing.paths) {
    const absl::StatusOr<int64_t> bytes = PlainFileBytes(path);
    if (!bytes.ok() && !absl::IsNotFound(bytes.status())) return bytes.status();
    files.push_back({path, bytes.ok() ? *bytes : 0});
  }
  return ListSource(std::move(files), access);
}

namespace {

class Array : public Source {
 public:
  Array(const PixelView& first, int64_t count) : first_(first), count_(count) {}

  int64_t size() const override { return count_; }
  std::string name(int64_t item) const override {
    return absl::StrCat("item ", item);
  }
  bool in_memory() const override { return true; }
  PixelView Pixels(int64_t item) const override {
    PixelView pixels = first_;
    pixels.data += item * first_.height * first_.stride;
    return pixels;
  }

 private:
  const PixelView first_;
  const int64_t count_;
};

}  // namespace

std::unique_ptr<Source> ArraySource(const uint8_t* data, int64_t count,
                                    int height, int width, int channels) {
  PixelView first;
  first.data = data;
  first.stride = static_cast<ptrdiff_t>(width) * channels;
  first.height = height;
  first.width = width;
  first.channels = channels;
  return std::make_unique<Array>(first, count);
}

namespace {

class Parts : public Source {
 public:
  Parts(std::vector<OpenFile> files, std::vector<FilePart> parts)
      : files_(std::move(files)), parts_(std::move(parts)) {}

  int64_t size() const override { return static_cast<int64_t>(parts_.size()); }
  std::string name(int64_t item) const override {
    const FilePart& part = parts_[item];
    return absl::StrCat(files_[part.file].path, ":", part.name);
  }
  int64_t label(int64_t item) const override { return parts_[item].label; }
  ItemPlace Place(int64_t item) const override {
    const FilePart& part = parts_[item];
    ItemPlace place;
    place.fd = files_[part.file].file.get();
    place.offset = part.offset;
    place.bytes = part.bytes;
    return place;
  }
  absl::StatusOr<absl::string_view> Read(int64_t item,
                                         ReadBuffer* buffer) const override {
    return ReadPlace(Place(item), buffer);
  }

 private:
  std::vector<OpenFile> files_;
  std::vector<FilePart> parts_;
};

}  // namespace

absl::StatusOr<OpenFile> OpenForParts(const std::string& path) {
  OpenFile opened = {path, UniqueFd(open(path.c_str(), kOpenFlags))};
  if (opened.file.valid()) return opened;
  const absl::Status status = FileError("open", errno);
  return absl::Status(status.code(),
                      absl::StrCat(path, ": ", status.message()));
}

std::unique_ptr<Source> PartsSource(std::vector<OpenFile> files,
                                    std::vector<FilePart> parts) {
  return std::make_unique<Parts>(std::move(files), std::move(parts));
}

namespace {

// The path up to the first dot of the file name.
std::string KeyOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return path.substr(0, path.find('.', slash == path.npos ? 0 : slash + 1));
}

// Collects the items of one shard.
class Index {
 public:
  Index(int shard, const std::vector<std::string>& endings,
        std::vector<FilePart>* members)
      : shard_(shard), endings_(endings), members_(members) {}

  void Add(const tar::Entry& entry, int fd) {
    if (entry.type != tar::Entry::Type::kFile) return;
    const std::string key = KeyOf(entry.path);
    if (absl::EndsWith(entry.path, ".cls")) {
      label_key_ = key;
      label_ = ReadLabel(fd, entry);
      if (key == last_key_) members_->back().label = label_;
      return;
    }
    if (!HasEnding(entry.path, endings_) || key == last_key_) return;
    last_key_ = key;
    members_->push_back(
        {shard_, entry.path, static_cast<int64_t>(entry.body_offset),
         static_cast<int64_t>(entry.size), key == label_key_ ? label_ : -1});
  }

 private:
  static int64_t ReadLabel(int fd, const tar::Entry& entry) {
    char text[kLabelBytes];
    if (entry.size > sizeof(text)) return kNoNumber;
    const ssize_t n =
        pread(fd, text, entry.size, static_cast<off_t>(entry.body_offset));
    return n <= 0 ? kNoNumber : ParseLabel(absl::string_view(text, n));
  }

  int shard_;
  const std::vector<std::string>& endings_;
  std::vector<FilePart>* members_;
  // Keys of the last item and of the last label, which come in any order.
  std::string last_key_ = "/";  // Matches no member.
  std::string label_key_ = "/";
  int64_t label_ = -1;
};

absl::Status Broken(const std::string& path, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": is not a whole tar archive: ", what));
}

absl::Status IndexShard(const OpenFile& shard, Index* index) {
  // Headers are 512 bytes, each followed by its body: reading more would be
  // wasted.
  char block[4096];
  tar::Reader reader;
  uint64_t offset = 0;
  for (;;) {
    const ssize_t n = pread(shard.file.get(), block, sizeof(block), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Broken(shard.path, FileError("read", errno).message());
    if (n == 0) break;
    std::string_view input(block, n);
    for (bool more = true; more;) {
      switch (reader.Next(&input)) {
        case tar::Reader::Event::kEntry:
          index->Add(reader.entry(), shard.file.get());
          // Drops the rest of the block: the next read starts after the body.
          offset = reader.entry().EndOffset();
          reader.SkipRest();
          more = false;
          break;
        case tar::Reader::Event::kNeedInput:
          offset = reader.offset();
          more = false;
          break;
        case tar::Reader::Event::kEnd:
          return absl::OkStatus();
        case tar::Reader::Event::kError:
          return Broken(shard.path, tar::Describe(reader.error()));
        case tar::Reader::Event::kBody:
        case tar::Reader::Event::kEntryEnd:
          break;
      }
    }
  }
  if (reader.Finish() == tar::Reader::Event::kEnd) return absl::OkStatus();
  return Broken(shard.path, tar::Describe(reader.error()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> ShardSource(
    const std::vector<std::string>& paths,
    const std::vector<std::string>& endings) {
  std::vector<OpenFile> shards;
  std::vector<FilePart> members;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(shards.emplace_back(), OpenForParts(path));
    Index index(static_cast<int>(shards.size()) - 1, endings, &members);
    RETURN_IF_ERROR(IndexShard(shards.back(), &index));
  }
  return PartsSource(std::move(shards), std::move(members));
}

namespace {

class SelectedItems final : public Source {
 public:
  SelectedItems(std::unique_ptr<Source> source, std::vector<int64_t> items)
      : source_(std::move(source)), items_(std::move(items)) {}

  int64_t size() const override { return static_cast<int64_t>(items_.size()); }
  std::string name(int64_t item) const override {
    return source_->name(items_[item]);
  }
  int64_t label(int64_t item) const override {
    return source_->label(items_[item]);
  }
  ItemPlace Place(int64_t item) const override {
    return source_->Place(items_[item]);
  }
  bool has_places() const override { return source_->has_places(); }
  absl::StatusOr<absl::string_view> Read(int64_t item,
                                         ReadBuffer* buffer) const override {
    return source_->Read(items_[item], buffer);
  }

 private:
  const std::unique_ptr<Source> source_;
  const std::vector<int64_t> items_;
};

}  // namespace

std::unique_ptr<Source> SelectItems(std::unique_ptr<Source> source,
                                    std::vector<int64_t> items) {
  return std::make_unique<SelectedItems>(std::move(source), std::move(items));
}

namespace {

class Memory : public Source {
 public:
  explicit Memory(const Corpus& corpus) : corpus_(corpus) {}

  int64_t size() const override { return corpus_.size(); }
  std::string name(int64_t item) const override {
    return absl::StrCat("item ", item);
  }
  bool in_memory() const override { return true; }
  PixelView Pixels(int64_t item) const override {
    const ImageView image = corpus_.image(item);
    PixelView pixels;
    pixels.data = image.data;
    pixels.stride = static_cast<ptrdiff_t>(image.width) * image.channels;
    pixels.height = image.height;
    pixels.width = image.width;
    pixels.channels = image.channels;
    return pixels;
  }

 private:
  const Corpus& corpus_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> MemorySource(const Corpus& corpus) {
  if (corpus.dtype() != DType::kUint8 || corpus.layout() != Layout::kHwc) {
    return absl::InvalidArgumentError("a loader needs a corpus of uint8 HWC");
  }
  for (int64_t i = 0; i < corpus.size(); ++i) {
    if (corpus.item(i).frames != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("a loader needs images; item ", i, " is a clip"));
    }
  }
  return std::make_unique<Memory>(corpus);
}

}  // namespace feedrate
