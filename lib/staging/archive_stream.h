// The bytes of an archive, whatever it comes from and however it is compressed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "lib/staging/source.h"
#include "lib/staging/subprocess.h"
#include "lib/tar/extract/unpack.h"
#include "lib/tar/status.h"

namespace feedrate::tar {

class FileHasher;
class MeteredInput;

// Source → (client) → count and hash → (gzip or zstd) → input().
class ArchiveStream {
 public:
  ArchiveStream();
  ~ArchiveStream();
  ArchiveStream(const ArchiveStream&) = delete;
  ArchiveStream& operator=(const ArchiveStream&) = delete;

  // `source` must outlive this. With `hash`, Finish() returns the SHA-256 of
  // the source's bytes as they are stored, compressed or not. `*bytes` counts
  // them.
  Status Open(const Source& source, bool hash, std::atomic<uint64_t>* bytes);

  // The uncompressed archive. Read it to the end before calling Finish().
  Input* input() { return input_.get(); }

  // Whether `*bytes` counts the source. If not, it is the offset in input().
  bool metered() const { return metered_ != nullptr; }

  // The reason for `failure` of reading input(). When a client program fails,
  // the archive is truncated, but the client's own error message is more
  // useful.
  Status Explain(const Status& failure);

  // Waits until the programs have exited successfully.
  Status Finish(std::string* digest);

 private:
  struct Pump;

  void OpenFile(const Source& source);
  Status StartUnpacking(const std::string& packer);

  std::string url_;  // Empty for a local source.
  Subprocess client_;
  Subprocess unpacker_;
  std::unique_ptr<FileHasher> hasher_;
  std::shared_ptr<MeteredInput> metered_;
  std::shared_ptr<Pump> pump_;
  std::shared_ptr<Input> input_;
  bool hash_ = false;
};

}  // namespace feedrate::tar
