#include "lib/loader/mixture/dataset_stream.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/loader/item_order.h"
#include "lib/loader/mixture/episode.h"
#include "lib/loader/mixture/episode_order.h"

namespace feedrate {

DatasetStream::DatasetStream(std::string name,
                             const std::vector<std::string>& shards,
                             const DatasetStreamOptions& options,
                             OnFault on_fault)
    : name_(std::move(name)),
      options_(options),
      on_fault_(std::move(on_fault)),
      order_(shards, options.order) {}

void DatasetStream::Opening::Run() {
  if (found_.ok()) result_ = Episode::Open(place_, options_, seed_);
}

std::shared_ptr<DatasetStream::Opening> DatasetStream::Begin() {
  const size_t open = line_.size() + (current_ != nullptr ? 1 : 0);
  if (!end_.ok() || open >= static_cast<size_t>(options_.ahead)) return nullptr;
  auto opening = std::make_shared<Opening>();
  const absl::StatusOr<EpisodePlace> place = order_.Next();
  if (place.ok()) {
    opening->place_ = *place;
    opening->options_ = options_.episode;
    opening->seed_ = MixSeeds(options_.seed, static_cast<uint64_t>(planned_++));
  } else {
    opening->found_ = place.status();
  }
  line_.push_back(opening);
  return opening;
}

void DatasetStream::Opened(const std::shared_ptr<Opening>& opening) {
  opening->is_open_ = true;
  if (opening->found_.ok()) {
    largest_bytes_ = std::max(largest_bytes_, opening->place_.bytes);
  }
}

bool DatasetStream::ready() const {
  return !end_.ok() || current_ != nullptr ||
         (!line_.empty() && line_.front()->is_open_);
}

int64_t DatasetStream::left_in_episode() const {
  if (current_ == nullptr) return 0;
  return static_cast<int64_t>(current_->pairs().size() - next_pair_);
}

absl::Status DatasetStream::PassOver(const std::string& place,
                                     const absl::Status& status) {
  const absl::Status named = absl::Status(
      status.code(),
      absl::StrCat("data set \"", name_, "\": ", status.message()));
  // Nothing will ever come: no reason to go on, whatever the mode.
  if (absl::IsFailedPrecondition(status) || options_.fail) end_ = named;
  if (end_.ok()) on_fault_(place, std::string(status.message()));
  return end_;
}

absl::StatusOr<bool> DatasetStream::Settle() {
  RETURN_IF_ERROR(end_);
  if (current_ != nullptr) return true;
  const std::shared_ptr<Opening> first = std::move(line_.front());
  line_.pop_front();
  if (!first->found_.ok()) {
    RETURN_IF_ERROR(PassOver(name_, first->found_));
    return false;
  }
  const int64_t pass = first->place_.pass;
  if (!first->result_.ok()) {
    RETURN_IF_ERROR(
        PassOver(first->place_.shard->path(), first->result_.status()));
    if (pass <= last_good_pass_ + 1) return false;
    end_ = absl::FailedPreconditionError(absl::StrCat(
        "data set \"", name_, "\": none of its episodes can be used; the ",
        "last: ", first->result_.status().message()));
    return end_;
  }
  last_good_pass_ = std::max(last_good_pass_, pass);
  current_ = *std::move(first->result_);
  next_pair_ = 0;
  return true;
}

void DatasetStream::Close() {
  end_ = absl::CancelledError("closed");
  line_.clear();
  current_ = nullptr;
  order_.Close();
}

PlannedSample DatasetStream::Next() {
  PlannedSample sample;
  sample.step = current_->pairs()[next_pair_++];
  sample.next_pair = next_pair_;
  const bool is_last = next_pair_ == current_->pairs().size();
  sample.episode = is_last ? std::move(current_) : current_;
  if (is_last) current_ = nullptr;
  return sample;
}

}  // namespace feedrate
