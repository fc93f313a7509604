// Two tests with the same bytes. As the sentinel and as the journal of a
// folder, they are refused or read, and a journal that was opened can be
// continued. Read as decisions, they make a sentinel, and a journal that was
// cut off anywhere; both come back as they were written, and for another source
// the journal does not count.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lib/staging/destination.h"
#include "third_party/fuzz/decisions.h"

namespace feedrate::tar {
namespace {

void Check(bool holds) {
  if (!holds) abort();
}

// A folder that is gone when the process ends.
class ScratchFolder {
 public:
  ScratchFolder() {
    // In memory where that is possible: on a disk a run takes milliseconds.
    const bool has_memory = access("/dev/shm", W_OK) == 0;
    path_ = std::string(has_memory ? "/dev/shm" : "/tmp") + "/fuzz.XXXXXX";
    Check(mkdtemp(path_.data()) != nullptr);
    fd_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    Check(fd_ >= 0);
  }
  ~ScratchFolder() {
    unlinkat(fd_, kJournalName, 0);
    unlinkat(fd_, kSentinelName, 0);
    close(fd_);
    rmdir(path_.c_str());
  }

  int fd() const { return fd_; }

  void Write(const char* name, const std::string& bytes) const {
    const int file = openat(fd_, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    Check(write(file, bytes.data(), bytes.size()) ==
          static_cast<ssize_t>(bytes.size()));
    close(file);
  }
  std::string Read(const char* name) const {
    std::string text(1 << 16, '\0');
    const int file = openat(fd_, name, O_RDONLY);
    text.resize(read(file, text.data(), text.size()));
    close(file);
    return text;
  }

 private:
  std::string path_;
  int fd_ = -1;
};

uint64_t ResumeOffset(const ScratchFolder& folder,
                      const std::string& identity) {
  Journal journal;
  uint64_t offset = 1;
  Check(journal.Open(folder.fd(), identity, false, &offset).ok());
  return offset;
}

// Whatever was there before, what is added counts.
void Continue(const ScratchFolder& folder, const std::string& identity) {
  Journal journal;
  uint64_t offset = 0;
  Check(journal.Open(folder.fd(), identity, false, &offset).ok());
  Check(offset <= static_cast<uint64_t>(INT64_MAX));
  Check(journal.OnFinished(12345));
  Check(ResumeOffset(folder, identity) == (identity.empty() ? 0 : 12345));
}

void ReadAnything(const ScratchFolder& folder, const std::string& bytes) {
  folder.Write(kSentinelName, bytes);
  Sentinel sentinel;
  (void)ReadSentinel(folder.fd(), &sentinel);
  folder.Write(kJournalName, bytes);
  Check(ResumeOffset(folder, "x") == 0);
  // Behind a head that is right.
  const std::string head = folder.Read(kJournalName);
  folder.Write(kJournalName, head + bytes);
  Continue(folder, "x");
}

void WriteAndReadSentinel(const ScratchFolder& folder, Decisions* decisions) {
  Sentinel sentinel;
  sentinel.tool_version = "1.2";
  sentinel.source = decisions->Bytes(40);
  sentinel.identity = decisions->Bytes(40);
  sentinel.source_bytes = decisions->Below(1 << 24);
  if (decisions->Yes()) sentinel.sha256 = std::string(64, 'a');
  sentinel.counts.bytes = decisions->Below(1 << 24);
  sentinel.counts.files = decisions->Below(1 << 16);
  sentinel.counts.xattr_headers = decisions->Below(1 << 16);
  sentinel.synced = false;  // Nothing has to be flushed.
  Check(WriteSentinel(folder.fd(), sentinel).ok());
  Sentinel read;
  Check(ReadSentinel(folder.fd(), &read));
  Check('"' + read.source + '"' == JsonString(sentinel.source));
  Check('"' + read.identity + '"' == JsonString(sentinel.identity));
  Check(read.tool_version == "1.2" && read.sha256 == sentinel.sha256);
  Check(read.source_bytes == sentinel.source_bytes && !read.synced);
  Check(read.counts.bytes == sentinel.counts.bytes);
  Check(read.counts.files == sentinel.counts.files);
  Check(read.counts.xattr_headers == sentinel.counts.xattr_headers);
}

void WriteAndReadJournal(const ScratchFolder& folder, Decisions* decisions) {
  const std::string identity = "i" + decisions->Bytes(30);
  std::vector<std::pair<size_t, uint64_t>> ends;  // Bytes, offset.
  std::string text;
  {
    Journal journal;
    uint64_t offset = 0;
    Check(journal.Open(folder.fd(), identity, true, &offset).ok());
    ends.emplace_back(folder.Read(kJournalName).size(), 0);
    for (uint32_t left = decisions->Below(6); left > 0; --left) {
      offset += (uint64_t{1} << decisions->Below(50)) + decisions->Below(1000);
      Check(journal.OnFinished(offset));
      text = folder.Read(kJournalName);
      ends.emplace_back(text.size(), offset);
    }
  }
  text = folder.Read(kJournalName);
  if (decisions->Yes()) text.resize(decisions->Below(1 << 16) % text.size());
  folder.Write(kJournalName, text);
  uint64_t expected = 0;
  for (const auto& [bytes, offset] : ends) {
    if (bytes <= text.size()) expected = offset;
  }
  const bool is_other = decisions->Yes();
  const std::string now = identity + (is_other ? "\"" : "");
  Check(ResumeOffset(folder, now) == (is_other ? 0 : expected));
  Continue(folder, now);
  Continue(folder, "");
}

}  // namespace
}  // namespace feedrate::tar

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const feedrate::tar::ScratchFolder folder;
  feedrate::tar::ReadAnything(
      folder, std::string(reinterpret_cast<const char*>(data), size));
  feedrate::Decisions decisions(data, size);
  feedrate::tar::WriteAndReadSentinel(folder, &decisions);
  feedrate::tar::WriteAndReadJournal(folder, &decisions);
  return 0;
}
