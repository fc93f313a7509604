#include "lib/tar/extract/block_pool.h"

#include <cstdlib>

namespace feedrate::tar {

BlockPool::~BlockPool() {
  for (char* block : free_) free(block);
}

BlockRef BlockPool::TryTake() {
  char* block = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!free_.empty()) {
      block = free_.back();  // The latest used: the likeliest in cache.
      free_.pop_back();
    } else if (made_ < kPoolBlocks) {
      ++made_;
      block = static_cast<char*>(malloc(kPoolBlockBytes));
    }
  }
  return block == nullptr ? nullptr : Wrap(block);
}

BlockRef BlockPool::Take() {
  for (;;) {
    if (BlockRef block = TryTake()) return block;
    std::unique_lock<std::mutex> lock(mutex_);
    given_back_.wait(lock, [this] { return !free_.empty(); });
  }
}

BlockRef BlockPool::Wrap(char* block) {
  return BlockRef(block, [this](char* bytes) { GiveBack(bytes); });
}

void BlockPool::GiveBack(char* block) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(block);
  }
  given_back_.notify_one();
}

}  // namespace feedrate::tar
