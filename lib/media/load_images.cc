#include "lib/media/load_images.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/hash/sha256.h"
#include "lib/media/image.h"
#include "lib/media/image_file.h"
#include "lib/media/parallel.h"
#include "lib/media/synthetic.h"
#include "lib/tar/extract/safe_path.h"

namespace feedrate {
namespace {

// Where encoded images come from: a folder, or a generator. Files are numbered
// in a fixed order; not all need be images. Thread-safe.
class ImageSource {
 public:
  virtual ~ImageSource() = default;

  virtual int64_t size() const = 0;
  // Unique, and the same on every machine.
  virtual std::string name(int64_t i) const = 0;
  // Contents of the header, if the file can be decoded to RGB.
  virtual absl::StatusOr<ImageInfo> ReadHeader(int64_t i) const = 0;
  // Replaces `bytes` by the whole file, reusing its memory.
  virtual absl::Status Read(int64_t i, std::string* bytes) const = 0;
};

// Headers with a preview or a color profile are longer, and then the whole
// file is read.
constexpr size_t kHeaderBytes = 1 << 15;

absl::Status Errno(absl::string_view what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(errno)));
}

// Replaces `bytes` by at most `limit` bytes of a regular file. Messages do not
// contain the path.
absl::Status ReadUpTo(const std::string& path, size_t limit,
                      std::string* bytes) {
  // Without it, a pipe among the files would wait for a writer forever.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Errno("cannot be opened");
  struct Closer {
    int fd;
    ~Closer() { close(fd); }
  } closer{fd};
  struct stat info;
  if (fstat(fd, &info) != 0) return Errno("cannot be read");
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError("no plain file");
  }
  bytes->resize(std::min<uint64_t>(limit, info.st_size));
  size_t have = 0;
  while (have < bytes->size()) {
    const ssize_t got = read(fd, &(*bytes)[have], bytes->size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Errno("cannot be read");
    if (got == 0) break;  // Truncated meanwhile.
    have += static_cast<size_t>(got);
  }
  bytes->resize(have);
  return absl::OkStatus();
}

class FolderSource : public ImageSource {
 public:
  FolderSource(std::string folder, std::vector<std::string> paths)
      : folder_(std::move(folder)), paths_(std::move(paths)) {}

  int64_t size() const override { return static_cast<int64_t>(paths_.size()); }

  std::string name(int64_t i) const override {
    absl::string_view name = paths_[i];
    absl::ConsumePrefix(&name, folder_);
    while (absl::ConsumePrefix(&name, "/")) {
    }
    return std::string(name);
  }

  absl::StatusOr<ImageInfo> ReadHeader(int64_t i) const override {
    thread_local std::string bytes;
    RETURN_IF_ERROR(ReadUpTo(paths_[i], kHeaderBytes, &bytes));
    absl::StatusOr<ImageInfo> info = ReadImageHeader(bytes);
    if (!absl::IsOutOfRange(info.status())) return info;
    RETURN_IF_ERROR(Read(i, &bytes));
    return ReadImageHeader(bytes);
  }

  absl::Status Read(int64_t i, std::string* bytes) const override {
    return ReadUpTo(paths_[i], std::numeric_limits<size_t>::max(), bytes);
  }

 private:
  const std::string folder_;
  const std::vector<std::string> paths_;
};

class SyntheticSource : public ImageSource {
 public:
  explicit SyntheticSource(const SyntheticSpec& spec) : spec_(spec) {}

  int64_t size() const override { return spec_.n; }
  std::string name(int64_t i) const override { return SyntheticName(i); }
  absl::StatusOr<ImageInfo> ReadHeader(int64_t i) const override {
    return SyntheticSize(spec_.seed, i);
  }
  absl::Status Read(int64_t i, std::string* bytes) const override {
    *bytes = SyntheticFile(spec_, i);
    return absl::OkStatus();
  }

 private:
  const SyntheticSpec spec_;
};

bool HasExtension(absl::string_view path,
                  const std::vector<std::string>& extensions) {
  return std::any_of(extensions.begin(), extensions.end(),
                     [path](const std::string& extension) {
                       return absl::EndsWithIgnoreCase(path, extension);
                     });
}

// Whether stage_dataset wrote the file for its own use.
bool IsStageFile(const std::string& path) {
  return BaseName(path).compare(0, tar::kStagePrefix.size(),
                                tar::kStagePrefix) == 0;
}

absl::StatusOr<std::unique_ptr<ImageSource>> OpenFolder(
    const std::string& folder, const std::vector<std::string>& extensions) {
  if (!IsFolder(folder)) {
    return absl::NotFoundError(absl::StrCat(
        folder,
        ": no such folder of images; name a folder, or make images "
        "with --dataset=synthetic:rgb"));
  }
  ASSIGN_OR_RETURN(std::vector<std::string> paths,
                   ListFiles(folder, "", /*recursive=*/true));
  const auto is_other = [&extensions](const std::string& path) {
    return IsStageFile(path) ||
           (!extensions.empty() && !HasExtension(path, extensions));
  };
  paths.erase(std::remove_if(paths.begin(), paths.end(), is_other),
              paths.end());
  return std::make_unique<FolderSource>(folder, std::move(paths));
}

// Opens `synthetic:…`, or a folder: every file in it and below, by sorted path,
// except the files of stage_dataset.
// `extensions` such as {".jpg"}, in upper or lower case, exclude other files;
// empty means no limit. `num_items` is the number of synthetic images where the
// name does not say.
absl::StatusOr<std::unique_ptr<ImageSource>> OpenImages(
    const std::string& dataset, const std::vector<std::string>& extensions,
    int64_t num_items) {
  if (!IsSynthetic(dataset)) return OpenFolder(dataset, extensions);
  ASSIGN_OR_RETURN(SyntheticSpec spec, ParseSynthetic(dataset));
  if (spec.n == 0) spec.n = num_items;
  if (spec.n == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        dataset, ": how many? Set num_items, or write ", dataset, ",n=100"));
  }
  return std::make_unique<SyntheticSource>(spec);
}

// An image on its way into the corpus.
struct Candidate {
  int64_t number = 0;  // In the source.
  ImageInfo info;
  absl::Status status;
  int64_t bytes = 0;
  uint8_t digest[Sha256::kDigestSize] = {};
};

class Loader {
 public:
  Loader(const LoadRequest& request, const ImageSource& source,
         CorpusWriter writer)
      : request_(request),
        source_(source),
        writer_(std::move(writer)),
        memory_(request.memory_bytes > 0 ? request.memory_bytes
                                         : MemoryToUse()) {}

  absl::StatusOr<LoadedImages> Load();

 private:
  int64_t Missing() const {
    const int64_t have = static_cast<int64_t>(loaded_.size());
    return request_.num_items > 0 ? request_.num_items - have
                                  : source_.size() - next_;
  }
  bool MayFindMore() const { return Missing() > 0 && next_ < source_.size(); }

  // Finds candidates for the missing images by their headers.
  std::vector<Candidate> Scan();
  absl::Status CheckMemory(const std::vector<Candidate>& candidates) const;
  absl::Status AddRoom(const std::vector<Candidate>& candidates);
  absl::Status Decode(std::vector<Candidate>* candidates);
  void DecodeOne(int64_t place, Candidate* candidate);
  void KeepGood(std::vector<Candidate> candidates);
  void Skip(int64_t number, const absl::Status& status);
  void ReportOne();
  absl::StatusOr<LoadedImages> Finish();

  const LoadRequest& request_;
  const ImageSource& source_;
  CorpusWriter writer_;
  const int64_t memory_;
  int64_t next_ = 0;  // In the source.
  std::vector<Candidate> loaded_;
  std::vector<std::pair<int64_t, SkippedFile>> skipped_;
  std::mutex failure_mutex_;
  absl::Status failure_;  // A failed write, which ends the loading.
  std::mutex progress_mutex_;
  int64_t done_ = 0;
  int64_t total_ = 0;
};

std::vector<Candidate> Loader::Scan() {
  std::vector<Candidate> good;
  while (static_cast<int64_t>(good.size()) < Missing() &&
         next_ < source_.size()) {
    const int64_t count = std::min(
        Missing() - static_cast<int64_t>(good.size()), source_.size() - next_);
    std::vector<Candidate> batch(count);
    ParallelFor(count, request_.threads, [&](int64_t i) {
      batch[i].number = next_ + i;
      const absl::StatusOr<ImageInfo> info = source_.ReadHeader(next_ + i);
      batch[i].status = info.status();
      if (info.ok()) batch[i].info = *info;
    });
    next_ += count;
    for (Candidate& candidate : batch) {
      if (candidate.status.ok()) {
        good.push_back(std::move(candidate));
      } else {
        Skip(candidate.number, candidate.status);
      }
    }
  }
  return good;
}

absl::Status Loader::CheckMemory(
    const std::vector<Candidate>& candidates) const {
  std::vector<int64_t> sizes;
  for (const std::vector<Candidate>* part : {&loaded_, &candidates}) {
    for (const Candidate& candidate : *part) {
      sizes.push_back(CorpusBytesOf(
          {1, candidate.info.height, candidate.info.width, 3}, DType::kUint8));
    }
  }
  return CheckFitsMemory(request_.dataset, sizes, memory_);
}

absl::Status Loader::AddRoom(const std::vector<Candidate>& candidates) {
  std::vector<ItemSize> sizes;
  sizes.reserve(candidates.size());
  for (const Candidate& candidate : candidates) {
    sizes.push_back({1, candidate.info.height, candidate.info.width, 3});
  }
  return writer_.AddRoom(sizes);
}

void Loader::DecodeOne(int64_t place, Candidate* candidate) {
  thread_local std::string bytes;
  candidate->status = source_.Read(candidate->number, &bytes);
  if (!candidate->status.ok()) return;
  // Decodes into a buffer in the cache, then writes it to the file at once: one
  // page fault per four kilobytes would cost a sixth of the decoding time.
  thread_local std::vector<uint8_t> pixels;
  pixels.resize(writer_.item(place).bytes);
  candidate->status = DecodeImageInto(bytes, candidate->info.height,
                                      candidate->info.width, pixels.data());
  if (!candidate->status.ok()) return;
  const absl::Status written = writer_.Write(place, pixels.data());
  if (!written.ok()) {
    const std::lock_guard<std::mutex> lock(failure_mutex_);
    failure_ = written;
    return;
  }
  candidate->bytes = static_cast<int64_t>(bytes.size());
  Sha256 hash;
  hash.Update(bytes.data(), bytes.size());
  hash.Finish(candidate->digest);
}

absl::Status Loader::Decode(std::vector<Candidate>* candidates) {
  const int64_t first = static_cast<int64_t>(loaded_.size());
  const int64_t count = static_cast<int64_t>(candidates->size());
  total_ = first + count;
  done_ = first;
  ParallelFor(count, request_.threads, [&](int64_t i) {
    DecodeOne(first + i, &(*candidates)[i]);
    ReportOne();
  });
  return failure_;
}

void Loader::ReportOne() {
  if (!request_.progress) return;
  const std::lock_guard<std::mutex> lock(progress_mutex_);
  request_.progress(++done_, total_);
}

void Loader::KeepGood(std::vector<Candidate> candidates) {
  std::vector<bool> keep(loaded_.size(), true);
  for (Candidate& candidate : candidates) {
    keep.push_back(candidate.status.ok());
    if (candidate.status.ok()) {
      loaded_.push_back(std::move(candidate));
    } else {
      Skip(candidate.number, candidate.status);
    }
  }
  writer_.Keep(keep);
}

void Loader::Skip(int64_t number, const absl::Status& status) {
  skipped_.push_back(
      {number, {source_.name(number), std::string(status.message())}});
}

absl::StatusOr<LoadedImages> Loader::Finish() {
  Sha256 all;
  int64_t total_bytes = 0;
  for (const Candidate& image : loaded_) {
    // The zero byte marks the end of the name.
    const std::string name = source_.name(image.number);
    const std::string size = absl::StrCat(image.bytes);
    all.Update(name.c_str(), name.size() + 1);
    all.Update(size.c_str(), size.size() + 1);
    all.Update(image.digest, sizeof(image.digest));
    total_bytes += image.bytes;
  }
  char sha256[Sha256::kHexSize + 1];
  all.FinishHex(sha256);
  ASSIGN_OR_RETURN(std::string id, DatasetId(request_.dataset));
  ASSIGN_OR_RETURN(Corpus corpus, std::move(writer_).Finish());
  std::sort(skipped_.begin(), skipped_.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<SkippedFile> skipped;
  for (auto& [number, file] : skipped_) skipped.push_back(std::move(file));
  return LoadedImages{
      std::move(corpus), std::move(id), static_cast<int64_t>(loaded_.size()),
      total_bytes,       sha256,        std::move(skipped)};
}

absl::StatusOr<LoadedImages> Loader::Load() {
  while (MayFindMore()) {
    std::vector<Candidate> candidates = Scan();
    RETURN_IF_ERROR(CheckMemory(candidates));
    RETURN_IF_ERROR(AddRoom(candidates));
    RETURN_IF_ERROR(Decode(&candidates));
    KeepGood(std::move(candidates));
  }
  if (!loaded_.empty()) return Finish();
  return absl::NotFoundError(absl::StrCat(
      request_.dataset, ": no image that can be read among ", source_.size(),
      " files",
      skipped_.empty() ? std::string()
                       : absl::StrCat("; ", skipped_[0].second.name, ": ",
                                      skipped_[0].second.reason)));
}

}  // namespace

absl::StatusOr<LoadedImages> LoadImages(const LoadRequest& request) {
  ASSIGN_OR_RETURN(
      const std::unique_ptr<ImageSource> source,
      OpenImages(request.dataset, request.extensions, request.num_items));
  ASSIGN_OR_RETURN(CorpusWriter writer,
                   CorpusWriter::Create(DType::kUint8, Layout::kHwc));
  return Loader(request, *source, std::move(writer)).Load();
}

}  // namespace feedrate
