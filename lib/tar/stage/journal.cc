#include "lib/tar/stage/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "lib/tar/number.h"
#include "lib/tar/stage/boot_id.h"
#include "lib/tar/stage/json.h"

namespace feedrate::tar {
namespace {

bool WriteLine(int fd, const std::string& line) {
  return write(fd, line.data(), line.size()) ==
         static_cast<ssize_t>(line.size());
}

std::string ReadAll(int fd) {
  std::string text;
  char buffer[64 << 10];
  for (;;) {
    const ssize_t got = read(fd, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer, got);
  }
}

// The last whole line as a number; 0 when it is none.
uint64_t LastOffset(std::string_view text) {
  const size_t end = text.rfind('\n');
  const size_t begin = text.rfind('\n', end - 1) + 1;
  int64_t offset = 0;
  ParseDecimal(text.substr(begin, end - begin), &offset);
  return static_cast<uint64_t>(offset);
}

}  // namespace

Journal::~Journal() {
  if (fd_ >= 0) close(fd_);
}

Status Journal::Open(int folder_fd, const std::string& identity, bool fresh,
                     uint64_t* resume_offset) {
  *resume_offset = 0;
  const std::string header = JsonObject()
                                 .Add("schema", 1)
                                 .Add("record", "stage_journal")
                                 .Add("boot_id", BootId())
                                 .Add("identity", identity)
                                 .Finish() +
                             "\n";
  if (!fresh && !identity.empty() && Load(folder_fd, header, resume_offset)) {
    return Status();
  }
  if (unlinkat(folder_fd, kJournalName, 0) != 0 && errno != ENOENT) {
    return SystemFailure("cannot remove", kJournalName, errno);
  }
  fd_ = openat(folder_fd, kJournalName,
               O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
               0644);
  if (fd_ < 0 || !WriteLine(fd_, header)) {
    return SystemFailure("cannot write", kJournalName, errno);
  }
  return Status();
}

bool Journal::Load(int folder_fd, const std::string& header, uint64_t* offset) {
  const int fd = openat(folder_fd, kJournalName,
                        O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return false;
  const std::string text = ReadAll(fd);
  if (text.compare(0, header.size(), header) != 0) {
    close(fd);
    return false;
  }
  if (text.size() > header.size()) *offset = LastOffset(text);
  // A line that was cut short would run into the next one.
  if (text.back() != '\n')
    (void)!ftruncate(fd, static_cast<off_t>(text.rfind('\n') + 1));
  fd_ = fd;
  return true;
}

void Journal::OnFinished(uint64_t offset) {
  if (fd_ >= 0) (void)WriteLine(fd_, std::to_string(offset) + "\n");
}

void Journal::Remove(int folder_fd) { unlinkat(folder_fd, kJournalName, 0); }

}  // namespace feedrate::tar
