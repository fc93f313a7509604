// The folder that a data set is staged into: its lock, its journal of what is
// written, and the sentinel that says that everything is there.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "lib/tar/extract/placer.h"
#include "lib/tar/extract/writer_pool.h"
#include "lib/tar/status.h"

namespace feedrate::tar {

// Writes a JSON object. Fields appear in the order in which they were added.
//
//   std::string line = JsonObject().Add("files", 3).Finish();  // {"files":3}
class JsonObject {
 public:
  JsonObject& Add(std::string_view key, std::string_view text);
  JsonObject& Add(std::string_view key, const char* text);
  JsonObject& Add(std::string_view key, uint64_t number);
  JsonObject& Add(std::string_view key, int number);
  JsonObject& Add(std::string_view key, bool truth);
  JsonObject& Add(std::string_view key, double number, int digits);
  JsonObject& Add(std::string_view key, const JsonObject& object);
  JsonObject& AddNull(std::string_view key);

  std::string Finish() const { return text_ + "}"; }

 private:
  JsonObject& Raw(std::string_view key, std::string_view value);

  std::string text_ = "{";
};

// `text` with quotes and escapes. A byte that is not UTF-8 becomes U+FFFD
// followed by its hexadecimal value, so that different names stay different.
std::string JsonString(std::string_view text);

// The value of the first field called `key` in an object written by JsonObject,
// as written, including quotes; empty when there is none. A string value cannot
// be mistaken for a key, because its quotes would be escaped.
std::string_view FindJson(std::string_view object, std::string_view key);

// The same, as a number; 0 when there is none.
uint64_t FindJsonNumber(std::string_view object, std::string_view key);

// The destination folder, locked. When several processes stage into one folder,
// one works and the others wait. The lock is a kernel lock on the folder
// itself: it disappears with the process, however that ends, and leaves no file
// behind.
class Destination {
 public:
  Destination() = default;
  ~Destination();
  Destination(const Destination&) = delete;
  Destination& operator=(const Destination&) = delete;

  // Opens the folder. Creates it and its parents if needed.
  Status Open(const std::string& path);

  // Waits for the lock. Calls `on_wait` once if another process holds it.
  Status Lock(const std::function<void()>& on_wait);

  // Flushes the folder's file system to disk.
  Status Sync();

  int fd() const { return fd_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int fd_ = -1;
};

inline constexpr char kJournalName[] = ".stage_dataset.journal";

// The list of archive offsets up to which everything is written. A text file:
// the first line says what is being staged, each further line is one offset. A
// kill can truncate the last line; a line without a newline does not count. The
// journal is valid for one source and one boot: after a crash of the machine
// the data may be lost even if the journal is not.
class Journal : public WrittenPrefixListener {
 public:
  ~Journal() override;

  // Opens the folder's journal for `identity`. `*resume_offset` is set to the
  // last offset of an earlier run. It is 0 if there was none, with `fresh`, or
  // when `identity` is empty, because then it may have been another source.
  Status Open(int folder_fd, const std::string& identity, bool fresh,
              uint64_t* resume_offset);

  // Adds an offset. After a failure nothing more is added: what follows half a
  // line would be read as one number with it.
  bool OnFinished(uint64_t offset) override;

  // Removes the file. Called once the sentinel is written.
  void Remove(int folder_fd);

 private:
  bool Load(int folder_fd, const std::string& header, uint64_t* offset);

  int fd_ = -1;
};

inline constexpr char kSentinelName[] = ".stage_dataset.done";

// The content of the file that marks a completely staged data set.
struct Sentinel {
  std::string tool_version;
  std::string source;
  // Everything that decides whether a second run would do the same. Empty when
  // that is unknown, as with stdin.
  std::string identity;
  uint64_t source_bytes = 0;
  std::string sha256;  // Empty when it was not asked for.
  Counts counts;
  // Whether the data was flushed to disk before the sentinel was written. If
  // not, the sentinel is only valid until the next boot.
  bool synced = true;
};

// The number of skipped entries of each kind, for sentinel and report.
JsonObject SkippedJson(const Counts& counts);

// Reads the folder's sentinel. Returns false when there is none, when it is
// damaged, or when it was not synced and the machine has been rebooted since.
// `identity` of the result is still escaped as in JSON.
bool ReadSentinel(int folder_fd, Sentinel* sentinel);

// Writes the sentinel: under a temporary name, flushed to disk, renamed, and
// the folder flushed to disk. Does not flush when the data was not flushed: the
// sentinel must not outlive the data.
Status WriteSentinel(int folder_fd, const Sentinel& sentinel);

// Removes the sentinel; if it was there, the removal is flushed to disk.
Status RemoveSentinel(int folder_fd);

}  // namespace feedrate::tar
