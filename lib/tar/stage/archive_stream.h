// The bytes of an archive, whatever it comes from and however it is packed.
#ifndef FEEDRATE_LIB_TAR_STAGE_ARCHIVE_STREAM_H_
#define FEEDRATE_LIB_TAR_STAGE_ARCHIVE_STREAM_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "lib/tar/extract/input.h"
#include "lib/tar/stage/checksum.h"
#include "lib/tar/stage/file_hasher.h"
#include "lib/tar/stage/source.h"
#include "lib/tar/stage/subprocess.h"
#include "lib/tar/status.h"

namespace feedrate::tar {

// The source's own bytes, counted and hashed as they pass.
class MeteredInput : public Input {
 public:
  // Does not own `fd`. `checksum` may be null.
  MeteredInput(int fd, const std::string& name,
               std::unique_ptr<Checksum> checksum,
               std::atomic<uint64_t>* bytes);

  // Reads the first bytes and keeps them for Read(): how the archive is packed
  // shows there.
  Status Peek(std::string* head);

  Status Read(char* buffer, size_t count, size_t* got) override;

  std::string FinishChecksum() { return checksum_->Finish(); }

 private:
  StreamInput stream_;
  const std::unique_ptr<Checksum> checksum_;
  std::atomic<uint64_t>* const bytes_;
  std::string head_;
};

// Source → (client) → count and hash → (gzip or zstd) → input().
class ArchiveStream {
 public:
  ArchiveStream() = default;
  ~ArchiveStream();
  ArchiveStream(const ArchiveStream&) = delete;
  ArchiveStream& operator=(const ArchiveStream&) = delete;

  // `source` must outlive this. With a `checksum`, Finish() gives the digest of
  // the source's bytes as they are stored, packed or not. `*bytes` counts them.
  Status Open(const Source& source, std::unique_ptr<Checksum> checksum,
              std::atomic<uint64_t>* bytes);

  // The plain archive. Reading it to the end comes before Finish().
  Input* input() { return input_.get(); }

  // Whether `*bytes` counts the source: else it is the offset in input().
  bool metered() const { return metered_ != nullptr; }

  // The reason behind `failure` of reading input(): a client that broke off
  // leaves an archive cut short, but what it has to say is worth more.
  Status Explain(const Status& failure);

  // Waits for the programs to end well.
  Status Finish(std::string* digest);

 private:
  struct Pump;

  void OpenFile(const Source& source, std::unique_ptr<Checksum> checksum);
  Status StartUnpacking(const std::string& packer);

  Subprocess client_;
  Subprocess unpacker_;
  std::unique_ptr<FileHasher> hasher_;
  std::shared_ptr<MeteredInput> metered_;
  std::shared_ptr<Pump> pump_;
  std::shared_ptr<Input> input_;
  bool hash_ = false;
};

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_STAGE_ARCHIVE_STREAM_H_
