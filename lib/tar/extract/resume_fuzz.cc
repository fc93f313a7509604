// Fuzzes kills and resumes: an archive of files, links and rewritten members is
// unpacked in several runs, each of which is cut off and leaves anything that a
// kill may leave. The tree must be that of one uninterrupted run.
//
// The input is text, three characters per entry: a kind, a name and an
// argument. "Fa1" is a file a, "Ba1" a large one, "Hba" a hard link b to a,
// "U.a" one with a name of its own, "Sba" a symbolic link, "D.." a folder, and
// "K.." the end of a run. The first two characters say how the archive arrives,
// the number of threads, how often the journal is written, and after how many
// lines it cannot be.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/tar/builder.h"
#include "lib/tar/extract/unpack.h"
#include "lib/tar/extract/unpack_testing.h"

namespace feedrate::tar {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNames[] = {"a", "b", "c", "d/a", "d/b", "e", "d/e"};
constexpr size_t kMaxEntries = 60;
constexpr int kMaxLarge = 12;
// More than a batch of the dispatcher.
constexpr size_t kLargeBytes = 300000;

[[noreturn]] void Fail(const std::string& what) {
  fprintf(stderr, "%s\n", what.c_str());
  abort();
}

// Any other character stands for one of the kinds.
char Kind(char c) {
  constexpr std::string_view kKinds = "FBHUSDK";
  if (kKinds.find(c) != std::string_view::npos) return c;
  return "FUFBHSKD"[static_cast<uint8_t>(c) % 8];
}

size_t NameIndex(char c) { return (static_cast<uint8_t>(c) - 'a') % 7u; }

struct Write {
  std::string name;
  bool is_file;
  uint64_t end_offset;
};

// The whole archive, and where its runs are cut.
struct Script {
  std::string archive;
  std::vector<Write> writes;
  std::vector<std::pair<size_t, char>> cuts;
};

Script Parse(std::string_view text) {
  Builder builder;
  Script script;
  std::map<std::string, bool> is_file;  // What has this name so far.
  int large = 0;
  for (size_t i = 0; i + 3 <= text.size() && i < 3 * kMaxEntries; i += 3) {
    const std::string name = kNames[NameIndex(text[i + 1])];
    const std::string other = kNames[NameIndex(text[i + 2])];
    const char kind = Kind(text[i]);
    switch (kind) {
      case 'K':
        script.cuts.emplace_back(builder.bytes().size(), text[i + 1]);
        continue;
      case 'D':
        builder.Folder("d");
        continue;
      case 'S':
        builder.Symlink(name, other);
        is_file[name] = false;
        break;
      case 'U':
        if (is_file[other]) builder.HardLink("u" + std::to_string(i), other);
        continue;
      case 'H':
        // Another one would be refused.
        if (name == other || !is_file[other]) continue;
        builder.HardLink(name, other);
        is_file[name] = true;
        break;
      default: {
        std::string data = name + std::to_string(i) + text[i + 2];
        if (kind == 'B' && ++large <= kMaxLarge) data.resize(kLargeBytes, '.');
        builder.File(name, data);
        is_file[name] = true;
      }
    }
    script.writes.push_back(
        {name, kind != 'S' && kind != 'H', builder.bytes().size()});
  }
  script.archive = builder.Finish();
  return script;
}

class Lines : public WrittenPrefixListener {
 public:
  explicit Lines(int room) : room_(room) {}
  bool OnFinished(uint64_t offset) override {
    if (offset < last || room_-- == 0) {
      if (offset < last) Fail("the journal goes back");
      room_ = 0;
      return false;
    }
    last = offset;
    return true;
  }
  uint64_t last = 0;

 private:
  int room_;
};

// The tree, and which names are one file.
std::string Describe(const Sandbox& sandbox) {
  std::map<ino_t, std::string> first;
  std::string text;
  for (const auto& [name, content] : sandbox.Tree()) {
    struct stat info = {};
    lstat((sandbox.inner() + "/" + name).c_str(), &info);
    const std::string& same = first.emplace(info.st_ino, name).first->second;
    text += name + " (" + same + "): " + content.substr(0, 40) + " " +
            std::to_string(content.size()) + "\n";
  }
  return text;
}

// What a kill may leave of a file that the journal does not list.
void Spoil(const Script& script, size_t cut, uint64_t journal, char how,
           const Sandbox& sandbox) {
  std::map<std::string, Write> last;
  for (const Write& write : script.writes) {
    if (write.end_offset <= cut) last[write.name] = write;
  }
  unsigned bits = static_cast<uint8_t>(how);
  for (const auto& [name, write] : last) {
    bits = bits * 1103515245 + 12345;
    if (!write.is_file || write.end_offset <= journal) continue;
    const std::string path = sandbox.inner() + "/" + name;
    if ((bits >> 16) % 3 == 0) std::ofstream(path, std::ios::trunc) << "?";
    if ((bits >> 16) % 3 == 1) fs::remove(path);
  }
}

void RunOnce(const Script& script, std::string_view head) {
  const Arrival arrival = head[0] & 1 ? Arrival::kFile : Arrival::kStream;
  UnpackOptions options;
  options.threads = 1 + (static_cast<uint8_t>(head[0]) >> 1) % 3;
  options.listener_step.spans = 1 + (static_cast<uint8_t>(head[0]) >> 3) % 4;
  UnpackResult result;
  Sandbox whole;
  if (const Status status =
          UnpackInto(whole, script.archive, arrival, options, &result);
      !status.ok()) {
    Fail("refused: " + status.message());
  }
  Sandbox resumed;
  const auto run = [&](const std::string& archive, int room) {
    Lines lines(room);
    lines.last = options.resume_offset;
    options.listener = &lines;
    const Status status =
        UnpackInto(resumed, archive, arrival, options, &result);
    // A journal that fails leaves what it has.
    options.resume_offset = result.lost ? 0 : lines.last;
    return status;
  };
  for (const auto& [cut, how] : script.cuts) {
    const int room = head[1] >= '0' && head[1] <= '9' ? head[1] - '0' : -1;
    if (run(script.archive.substr(0, cut), room).ok())
      Fail("cut, and not seen");
    // With a journal that fails, the run may have ended before the cut.
    if (!result.lost && room < 0) {
      Spoil(script, cut, options.resume_offset, how, resumed);
    }
  }
  Status last = run(script.archive, -1);
  if (result.lost) last = run(script.archive, -1);
  if (!last.ok()) Fail("not resumed: " + last.message());
  if (Describe(resumed) != Describe(whole)) {
    Fail("resumed:\n" + Describe(resumed) + "whole:\n" + Describe(whole));
  }
}

}  // namespace
}  // namespace feedrate::tar

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  feedrate::tar::RunOnce(feedrate::tar::Parse(text.substr(2)),
                         text.substr(0, 2));
  return 0;
}
