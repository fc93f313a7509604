#include "lib/tar/stage/archive_stream.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string_view>
#include <vector>

#include "lib/tar/stage/remote.h"

namespace feedrate::tar {
namespace {

constexpr size_t kMagicBytes = 6;

// The program that unpacks what begins so; empty for a plain archive. Known
// kinds that are not supported are named rather than called a bad archive.
Status PackerOf(std::string_view head, const std::string& name,
                std::string* packer) {
  const auto begins = [head](std::string_view magic) {
    return head.substr(0, magic.size()) == magic;
  };
  packer->clear();
  if (begins("\x1f\x8b")) *packer = "gzip";
  if (begins("\x28\xb5\x2f\xfd")) *packer = "zstd";
  const char* other = begins("BZh") ? "bzip2"
                      : begins(std::string_view("\xfd"
                                                "7zXZ\0",
                                                6))
                          ? "xz"
                      : begins("PK\x03\x04") ? "zip"
                                             : nullptr;
  if (other == nullptr) return Status();
  return Failed(name + ": this is " + other +
                "; want a plain tar, .tar.gz or .tar.zst");
}

std::vector<std::string> UnpackCommand(const std::string& packer) {
  return {packer, "-d", "-c", "-q"};
}

}  // namespace

MeteredInput::MeteredInput(int fd, const std::string& name,
                           std::unique_ptr<Checksum> checksum,
                           std::atomic<uint64_t>* bytes)
    : stream_(fd, name), checksum_(std::move(checksum)), bytes_(bytes) {}

Status MeteredInput::Peek(std::string* head) {
  while (head_.size() < kMagicBytes) {
    char buffer[kMagicBytes];
    size_t got = 0;
    TAR_RETURN_IF_ERROR(stream_.Read(buffer, kMagicBytes - head_.size(), &got));
    if (got == 0) break;
    head_.append(buffer, got);
  }
  *head = head_;
  return Status();
}

Status MeteredInput::Read(char* buffer, size_t count, size_t* got) {
  if (!head_.empty()) {
    *got = std::min(count, head_.size());
    memcpy(buffer, head_.data(), *got);
    head_.erase(0, *got);
  } else {
    TAR_RETURN_IF_ERROR(stream_.Read(buffer, count, got));
  }
  if (checksum_ != nullptr) checksum_->Update(buffer, *got);
  *bytes_ += *got;
  return Status();
}

// Carries the packed bytes to the program that unpacks them. Its thread may
// hang in a read from a source that says nothing: it is left behind then, and
// all that it touches lives in here.
struct ArchiveStream::Pump {
  std::shared_ptr<MeteredInput> from;
  int to = -1;
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  Status status;

  static void Run(const std::shared_ptr<Pump>& pump) {
    std::vector<char> buffer(256 << 10);
    Status status;
    for (bool more = true; more;) {
      size_t got = 0;
      status = pump->from->Read(buffer.data(), buffer.size(), &got);
      more = status.ok() && got > 0 && pump->Write(buffer.data(), got);
    }
    close(pump->to);
    std::lock_guard<std::mutex> lock(pump->mutex);
    pump->status = status;
    pump->done = true;
    pump->ended.notify_all();
  }

  // False when the other side has gone: it will say why itself.
  bool Write(const char* data, size_t count) {
    while (count > 0) {
      const ssize_t written = write(to, data, count);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return false;
      data += written;
      count -= written;
    }
    return true;
  }
};

ArchiveStream::~ArchiveStream() = default;

Status ArchiveStream::Open(const Source& source,
                           std::unique_ptr<Checksum> checksum,
                           std::atomic<uint64_t>* bytes) {
  hash_ = checksum != nullptr;
  int fd = source.fd();
  if (source.kind() == Source::Kind::kRemote) {
    std::vector<std::string> argv;
    TAR_RETURN_IF_ERROR(FetchCommand(source.name(), &argv));
    TAR_RETURN_IF_ERROR(client_.Start(argv, -1));
    fd = client_.output();
  }
  std::string head;
  std::string packer;
  if (source.kind() == Source::Kind::kFile) {
    char magic[kMagicBytes];
    const ssize_t got = pread(fd, magic, sizeof(magic), 0);
    if (got < 0) return SystemFailure("cannot read", source.name(), errno);
    TAR_RETURN_IF_ERROR(
        PackerOf({magic, static_cast<size_t>(got)}, source.name(), &packer));
    if (packer.empty()) {
      OpenFile(source, std::move(checksum));
      return Status();
    }
  }
  metered_ = std::make_shared<MeteredInput>(fd, source.name(),
                                            std::move(checksum), bytes);
  if (source.kind() != Source::Kind::kFile) {
    TAR_RETURN_IF_ERROR(metered_->Peek(&head));
    TAR_RETURN_IF_ERROR(PackerOf(head, source.name(), &packer));
  }
  if (!packer.empty()) return StartUnpacking(packer);
  input_ = metered_;
  return Status();
}

void ArchiveStream::OpenFile(const Source& source,
                             std::unique_ptr<Checksum> checksum) {
  const uint64_t size = source.size().value_or(0);
  if (checksum == nullptr) {
    input_ = std::make_shared<FileInput>(source.fd(), size, source.name());
    return;
  }
  hasher_ = std::make_unique<FileHasher>(source.fd(), size, source.name(),
                                         std::move(checksum));
  input_ = std::make_shared<HashedFileInput>(source.fd(), size, source.name(),
                                             hasher_.get());
}

Status ArchiveStream::StartUnpacking(const std::string& packer) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return SystemFailure("cannot start", packer, errno);
  }
  Status started = unpacker_.Start(UnpackCommand(packer), ends[0]);
  close(ends[0]);
  if (!started.ok()) {
    close(ends[1]);
    return started;
  }
  pump_ = std::make_shared<Pump>();
  pump_->from = metered_;
  pump_->to = ends[1];
  sigset_t all, old;  // Signals are the main thread's business.
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  std::thread(&Pump::Run, pump_).detach();
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  input_ = std::make_shared<StreamInput>(unpacker_.output(), packer);
  return Status();
}

Status ArchiveStream::Explain(const Status& failure) {
  for (Subprocess* program : {&client_, &unpacker_}) {
    Status reason = program->FailureSoFar();
    if (!reason.ok()) return reason;
  }
  return failure;
}

Status ArchiveStream::Finish(std::string* digest) {
  if (pump_ != nullptr) {
    // The unpacker first: when it fails, the pump's end says nothing.
    TAR_RETURN_IF_ERROR(unpacker_.Wait());
    std::unique_lock<std::mutex> lock(pump_->mutex);
    pump_->ended.wait(lock, [this] { return pump_->done; });
    if (!pump_->status.ok()) return pump_->status;
  }
  if (client_.output() >= 0) TAR_RETURN_IF_ERROR(client_.Wait());
  if (!hash_) return Status();
  if (hasher_ != nullptr) return hasher_->Finish(digest);
  *digest = metered_->FinishChecksum();
  return Status();
}

}  // namespace feedrate::tar
