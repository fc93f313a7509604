// Up to where in the archive everything is finished.
#ifndef FEEDRATE_LIB_TAR_EXTRACT_FINISH_LINE_H_
#define FEEDRATE_LIB_TAR_EXTRACT_FINISH_LINE_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace feedrate::tar {

// Told each time the line has moved by a worthwhile step. Calls come from many
// threads, one at a time, with growing offsets.
class FinishListener {
 public:
  virtual ~FinishListener() = default;
  virtual void OnFinished(uint64_t offset) = 0;
};

// Writers finish out of order; the line is the end of the last stretch of the
// archive before which nothing is open. It also knows the names in the works,
// so that two entries of one name are never written at the same time.
class FinishLine {
 public:
  // A stretch of the archive whose entries are being written. It counts as
  // finished when the last reference goes, unless the line was frozen.
  class Stretch {
   public:
    Stretch(FinishLine* line, uint64_t index) : line_(line), index_(index) {}
    ~Stretch() { line_->Finish(index_); }
    Stretch(const Stretch&) = delete;
    Stretch& operator=(const Stretch&) = delete;

   private:
    FinishLine* const line_;
    const uint64_t index_;
  };
  using StretchRef = std::shared_ptr<Stretch>;

  // `listener` may be null.
  explicit FinishLine(FinishListener* listener) : listener_(listener) {}

  // Opens the stretch that ends at `end_offset`; stretches are opened in the
  // order of the archive. `names` are hashes of its entries' names.
  StretchRef Open(uint64_t end_offset, std::vector<uint64_t> names);

  // Whether a name may be in an open stretch.
  bool IsOpen(uint64_t name);

  // Waits until no stretch is open.
  void WaitUntilClear();

  // Nothing counts as finished any more: something failed.
  void Freeze();

 private:
  struct Pending {
    uint64_t end_offset;
    std::vector<uint64_t> names;
    bool finished = false;
  };

  void Finish(uint64_t index);

  FinishListener* const listener_;
  std::mutex mutex_;
  std::condition_variable clear_;
  std::deque<Pending> pending_;  // In the archive's order.
  uint64_t first_index_ = 0;     // Of pending_.front().
  std::unordered_map<uint64_t, int> names_;
  uint64_t open_ = 0;
  uint64_t told_offset_ = 0;
  uint64_t untold_ = 0;  // Stretches since the listener was told.
  bool frozen_ = false;
};

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_EXTRACT_FINISH_LINE_H_
