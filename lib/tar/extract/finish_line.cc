#include "lib/tar/extract/finish_line.h"

#include <utility>

namespace feedrate::tar {
namespace {

// What a kill can cost to write again. A line in the journal takes some 2 us:
// at most one in 4 MB of data, or in 16 stretches of small files, is nothing.
constexpr uint64_t kTellBytes = 4 << 20;
constexpr uint64_t kTellStretches = 16;

}  // namespace

FinishLine::StretchRef FinishLine::Open(uint64_t end_offset,
                                        std::vector<uint64_t> names) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (uint64_t name : names) ++names_[name];
  const uint64_t index = first_index_ + pending_.size();
  pending_.push_back({end_offset, std::move(names)});
  ++open_;
  return std::make_shared<Stretch>(this, index);
}

bool FinishLine::IsOpen(uint64_t name) {
  std::lock_guard<std::mutex> lock(mutex_);
  return names_.count(name) > 0;
}

void FinishLine::WaitUntilClear() {
  std::unique_lock<std::mutex> lock(mutex_);
  clear_.wait(lock, [this] { return open_ == 0; });
}

void FinishLine::Freeze() {
  std::lock_guard<std::mutex> lock(mutex_);
  frozen_ = true;
}

void FinishLine::Finish(uint64_t index) {
  std::lock_guard<std::mutex> lock(mutex_);
  Pending& done = pending_[index - first_index_];
  done.finished = true;
  for (uint64_t name : done.names) {
    const auto found = names_.find(name);
    if (--found->second == 0) names_.erase(found);
  }
  uint64_t offset = 0;
  while (!pending_.empty() && pending_.front().finished) {
    offset = pending_.front().end_offset;
    pending_.pop_front();
    ++first_index_;
    ++untold_;
  }
  const bool worthwhile = offset >= told_offset_ + kTellBytes ||
                          (offset > told_offset_ && untold_ >= kTellStretches);
  if (worthwhile && !frozen_) {
    told_offset_ = offset;
    untold_ = 0;
    if (listener_ != nullptr) listener_->OnFinished(offset);
  }
  if (--open_ == 0) clear_.notify_all();
}

}  // namespace feedrate::tar
