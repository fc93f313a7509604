#include "lib/media/load_images.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/hash/sha256.h"
#include "lib/media/corpus_writer.h"
#include "lib/media/fits_memory.h"
#include "lib/media/image_file.h"
#include "lib/media/image_info.h"
#include "lib/media/image_source.h"
#include "lib/media/parallel.h"

namespace feedrate {
namespace {

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

  // Candidates for what is missing, as far as headers can tell.
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
  absl::Status failure_;  // Of writing; ends the loading.
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
  // Decoded where the cache has it, then written to the file at once: a page
  // fault for each four kilobytes would cost a sixth of the decoding.
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
    // The zero ends the name, whatever is in it.
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
