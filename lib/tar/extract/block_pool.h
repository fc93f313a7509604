// A fixed number of buffers that the reader fills and the writers empty.
#ifndef FEEDRATE_LIB_TAR_EXTRACT_BLOCK_POOL_H_
#define FEEDRATE_LIB_TAR_EXTRACT_BLOCK_POOL_H_

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace feedrate::tar {

// A megabyte: a pipe's largest buffer, and several photographs.
inline constexpr size_t kPoolBlockBytes = 1 << 20;

// Sixteen of them bound what is in memory at 16 MB, whatever the archive.
inline constexpr size_t kPoolBlocks = 16;

// One buffer, back in its pool when the last reference goes.
using BlockRef = std::shared_ptr<char>;

// Threads may share one. It must outlive its blocks.
class BlockPool {
 public:
  BlockPool() = default;
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // A free block; null when all are in use.
  BlockRef TryTake();

  // A free block; waits for one.
  BlockRef Take();

 private:
  BlockRef Wrap(char* block);
  void GiveBack(char* block);

  std::mutex mutex_;
  std::condition_variable given_back_;
  std::vector<char*> free_;
  size_t made_ = 0;
};

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_EXTRACT_BLOCK_POOL_H_
