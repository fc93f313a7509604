#include "lib/runner/data/index_data.h"

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <iostream>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/stopwatch.h"
#include "lib/base/text.h"
#include "lib/draw/progress.h"
#include "lib/loader/jpeg_index.h"
#include "lib/loader/sample/item_decoder.h"
#include "lib/loader/source.h"
#include "lib/loader/source/data_folder.h"
#include "lib/loader/source/remote_source.h"
#include "lib/loader/store_parts.h"
#include "lib/media/parallel.h"

namespace feedrate {
namespace {

// What has been found is saved this often, for a run that is killed.
constexpr int64_t kSaveEveryNs = int64_t{30} * 1000 * 1000 * 1000;

// `left_out` gets what is there and no image, in words.
absl::StatusOr<std::unique_ptr<Source>> SourceOf(const StoreSpec& store,
                                                 std::string* left_out) {
  if (IsRemoteDataset(store.url)) {
    ASSIGN_OR_RETURN(const StoreListing listing,
                     ListStore(PrintStoreSpec(store), /*needs_labels=*/false));
    *left_out = listing.left_out.Text();
    return OpenRemoteSource(listing.store, listing.items);
  }
  ASSIGN_OR_RETURN(const DataFolder listing, ListDataFolder(store.url));
  *left_out = listing.left_out.Text();
  if (!listing.paths.empty()) return FolderSource(listing);
  ASSIGN_OR_RETURN(const std::vector<std::string> shards,
                   ListFiles(store.url, ".tar", /*recursive=*/true));
  ASSIGN_OR_RETURN(std::unique_ptr<Source> source, ShardSource(shards));
  if (source->size() > 0) return source;
  return absl::NotFoundError(
      absl::StrCat(store.url, ": has no images, and no .tar files of them"));
}

class Indexer {
 public:
  Indexer(const Source& source, JpegIndex* index)
      : source_(source),
        index_(index),
        progress_(std::cerr, isatty(STDERR_FILENO) != 0) {
    if (source.remote() == nullptr) return;
    parts_ = std::make_unique<StoreParts>(*source.remote(), index,
                                          /*maker=*/nullptr);
  }

  // Returns when all items were read.
  absl::Status Run() {
    const int threads = UsableProcessors();
    std::atomic<int64_t> next{0};
    ParallelFor(threads, threads, [&](int64_t) {
      ReadBuffer buffer;
      ItemDecoder decoder;
      for (int64_t item; (item = next.fetch_add(1)) < source_.size();) {
        const absl::Status status = AddItem(item, &buffer, &decoder);
        const std::lock_guard<std::mutex> lock(mutex_);
        Finished(item, status);
      }
    });
    progress_.Finish();
    RETURN_IF_ERROR(saved_);
    return index_->Save();
  }

  std::string Summary() const {
    return absl::StrFormat(
        "%s, %.1f MB: %d that were in the index, %d with places to "
        "start, %d that can only be decoded from their beginning",
        Counted(source_.size(), "item"), static_cast<double>(bytes_) / 1e6,
        known_.load(), with_places_.load(), without_.load());
  }

  // Empty if all items could be used.
  std::string Unusable() const {
    if (unusable_ == 0) return "";
    return absl::StrCat("; ", unusable_, " that cannot be used, such as ",
                        first_unusable_);
  }

 private:
  absl::Status AddItem(int64_t item, ReadBuffer* buffer, ItemDecoder* decoder) {
    ASSIGN_OR_RETURN(const absl::string_view bytes, source_.Read(item, buffer));
    bytes_ += static_cast<int64_t>(bytes.size());
    const JpegIndex::Key key = JpegIndex::KeyOf(bytes);
    const absl::optional<std::string> known = index_->Find(key);
    known_ += known.has_value();
    if (known.has_value() && parts_ == nullptr) return absl::OkStatus();
    RETURN_IF_ERROR(decoder->Open(bytes).status());
    const std::string entries =
        known.has_value() ? *known : decoder->FindEntries();
    if (!known.has_value()) {
      ++(entries.empty() ? without_ : with_places_);
      index_->Add(key, entries);
    }
    if (parts_ != nullptr && !entries.empty()) {
      parts_->Add(item, bytes, key, decoder->codes_at());
    }
    return absl::OkStatus();
  }

  void Finished(int64_t item, const absl::Status& status) {
    if (!status.ok() && unusable_++ == 0) {
      first_unusable_ =
          absl::StrCat(source_.name(item), ": ", status.message());
    }
    progress_.Show("images", ++done_, source_.size(), "");
    if (!saved_.ok() || MonotonicNs() - last_save_ns_ < kSaveEveryNs) return;
    saved_ = index_->Save();
    last_save_ns_ = MonotonicNs();
  }

  const Source& source_;
  JpegIndex* const index_;
  std::unique_ptr<StoreParts> parts_;  // Null if items are files here.
  std::atomic<int64_t> bytes_{0};
  std::atomic<int64_t> known_{0};
  std::atomic<int64_t> with_places_{0};
  std::atomic<int64_t> without_{0};

  std::mutex mutex_;  // Guards what follows while threads run.
  Progress progress_;
  int64_t done_ = 0;
  int64_t unusable_ = 0;
  std::string first_unusable_;
  int64_t last_save_ns_ = MonotonicNs();
  absl::Status saved_;
};

}  // namespace

absl::StatusOr<std::string> IndexDataset(const StoreSpec& store,
                                         const std::string& path) {
  std::string left_out;
  ASSIGN_OR_RETURN(const std::unique_ptr<Source> source,
                   SourceOf(store, &left_out));
  ASSIGN_OR_RETURN(const std::unique_ptr<JpegIndex> index,
                   JpegIndex::Open(path));
  Indexer indexer(*source, index.get());
  RETURN_IF_ERROR(indexer.Run());
  ASSIGN_OR_RETURN(const int64_t index_bytes, PlainFileBytes(path));
  const std::string summary = absl::StrCat(
      indexer.Summary(), indexer.Unusable(),
      absl::StrFormat("; the index %s has %.1f MB", path,
                      static_cast<double>(index_bytes) / 1e6),
      index->problem().empty() ? "" : absl::StrCat("; ", index->problem()),
      left_out.empty() ? "" : absl::StrCat("; ", left_out));
  if (indexer.Unusable().empty()) return summary;
  return absl::DataLossError(summary);
}

}  // namespace feedrate
