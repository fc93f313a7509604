#include "lib/loader/mixture/episode_order.h"

#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/loader/item_order.h"
#include "lib/loader/mixture/mapped_shard.h"
#include "lib/storage/tfrecord.h"

namespace feedrate {

EpisodeOrder::EpisodeOrder(std::vector<std::string> shards,
                           const EpisodeOrderOptions& options)
    : paths_(std::move(shards)), options_(options), shards_(paths_.size()) {
  BeginPass();
}

void EpisodeOrder::BeginPass() {
  ++pass_;
  found_in_pass_ = 0;
  random_ = Random(MixSeeds(options_.seed, static_cast<uint64_t>(pass_)));
  shard_order_.resize(paths_.size());
  std::iota(shard_order_.begin(), shard_order_.end(), 0);
  if (options_.shuffle_buffer > 1) random_.Shuffle(&shard_order_);
  next_shard_ = 0;
  turn_ = 0;
  open_.clear();
}

absl::Status EpisodeOrder::OpenNextShard() {
  const int at = shard_order_[next_shard_++];
  if (shards_[at] == nullptr) {
    ASSIGN_OR_RETURN(shards_[at], MappedShard::Open(paths_[at]));
  }
  const MappedShard* const shard = shards_[at].get();
  open_.push_back({shard, TfRecordCursor(shard->path(), shard->bytes())});
  return absl::OkStatus();
}

absl::StatusOr<bool> EpisodeOrder::ReadOne() {
  for (;;) {
    while (open_.size() < static_cast<size_t>(options_.read_interleave) &&
           next_shard_ < shard_order_.size()) {
      RETURN_IF_ERROR(OpenNextShard());
    }
    if (open_.empty()) return false;
    if (turn_ >= open_.size()) turn_ = 0;
    Cursor& cursor = open_[turn_];
    EpisodePlace place;
    place.shard = cursor.shard;
    place.offset = cursor.records.offset();
    place.record = cursor.records.count();
    place.pass = pass_;
    const absl::StatusOr<std::optional<absl::string_view>> data =
        cursor.records.NextUnchecked();
    if (data.ok() && data->has_value()) {
      place.bytes = cursor.records.offset() - place.offset;
      // Only its head was looked at, and it may be long until its turn.
      place.shard->Release(place.offset);
      buffer_.push_back(place);
      ++found_in_pass_;
      ++turn_;
      return true;
    }
    // At its end, or with nothing behind that could be found.
    open_.erase(open_.begin() + turn_);
    if (!data.ok()) return data.status();
  }
}

absl::StatusOr<EpisodePlace> EpisodeOrder::Next() {
  for (;;) {
    bool more = true;
    while (more &&
           buffer_.size() < static_cast<size_t>(options_.shuffle_buffer)) {
      ASSIGN_OR_RETURN(more, ReadOne());
    }
    if (!buffer_.empty()) break;
    if (found_in_pass_ == 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("has no episode in ", paths_.size(), " shards"));
    }
    BeginPass();
  }
  const size_t drawn =
      options_.shuffle_buffer > 1 ? random_.Below(buffer_.size()) : 0;
  const EpisodePlace place = buffer_[drawn];
  // The last takes its place: the order within the buffer means nothing.
  buffer_[drawn] = buffer_.back();
  buffer_.pop_back();
  return place;
}

}  // namespace feedrate
