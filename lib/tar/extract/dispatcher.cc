#include "lib/tar/extract/dispatcher.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace feedrate::tar {
namespace {

// Empty files are made in some 3 us: at 32 a batch a lock and a wake-up no
// longer count. Two photographs are enough for one.
constexpr size_t kBatchJobs = 32;
constexpr uint64_t kBatchBytes = 256 << 10;

uint64_t HashOf(const std::string& path) {
  return std::hash<std::string>()(path);
}

}  // namespace

void Dispatcher::Settle(const std::string& path) {
  const uint64_t name = HashOf(path);
  const bool in_batch =
      std::find(names_.begin(), names_.end(), name) != names_.end();
  if (in_batch || line_->IsOpen(name)) Drain();
}

void Dispatcher::Add(WriteJob job, uint64_t end_offset) {
  names_.push_back(HashOf(job.target.path));
  bytes_ += job.target.size;
  end_offset_ = end_offset;
  jobs_.push_back(std::move(job));
  if (jobs_.size() >= kBatchJobs || bytes_ >= kBatchBytes) Flush();
}

FinishLine::StretchRef Dispatcher::OpenLarge(const std::string& path,
                                             uint64_t end_offset) {
  Flush();
  end_offset_ = flushed_offset_ = end_offset;
  return line_->Open(end_offset, {HashOf(path)});
}

void Dispatcher::AddPart(WriteJob job, FinishLine::StretchRef stretch) {
  WriteBatch batch;
  batch.jobs.push_back(std::move(job));
  batch.stretch = std::move(stretch);
  pool_->Add(std::move(batch));
}

void Dispatcher::Flush() {
  if (end_offset_ == flushed_offset_) return;
  flushed_offset_ = end_offset_;
  WriteBatch batch;
  batch.stretch = line_->Open(end_offset_, std::exchange(names_, {}));
  batch.jobs = std::exchange(jobs_, {});
  bytes_ = 0;
  // Without jobs the stretch is finished as soon as it goes out of scope.
  if (!batch.jobs.empty()) pool_->Add(std::move(batch));
}

void Dispatcher::Drain() {
  Flush();
  line_->WaitUntilClear();
}

}  // namespace feedrate::tar
