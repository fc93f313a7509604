// Four processes read objects through one cache and compare every byte, while
// they are killed one after another and entries are damaged on disk.
//
//   bazel run //lib/storage/cache:kill_run -- --kills=200
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gflags/gflags.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/tool/exit_code.h"
#include "lib/base/tool/tool_main.h"
#include "lib/base/unique_fd.h"
#include "lib/storage/cache/cache_dir.h"
#include "lib/storage/cache/cached_store.h"
#include "lib/storage/object_store.h"

DEFINE_int32(kills, 200, "N: number of times a process is killed");
DEFINE_int32(seed, 1, "N: seed for all random numbers");

namespace feedrate {
namespace {

constexpr int kProcesses = 4;
constexpr int kObjects = 60;
// A third of the objects, so that entries are evicted.
constexpr int64_t kCacheBytes = 1200000;
constexpr int64_t kBlock = 16384;
constexpr int kWrongBytes = 7;

int64_t SizeOf(int object) { return 20000 + 1337 * object % 80000; }

// An object's content, known without reading it.
std::string BytesOf(int object) {
  std::mt19937 random(object);
  std::string bytes(SizeOf(object), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

std::string NameOf(int object) { return absl::StrCat(object, ".bin"); }

absl::StatusOr<std::unique_ptr<CachedStore>> OpenStore(
    const std::string& folder) {
  CacheOptions options;
  options.folder = JoinPath(folder, "cache");
  options.max_bytes = kCacheBytes;
  ASSIGN_OR_RETURN(std::unique_ptr<CacheDir> cache, CacheDir::Open(options));
  ASSIGN_OR_RETURN(std::unique_ptr<ObjectStore> far,
                   OpenFileStore(JoinPath(folder, "far")));
  return std::make_unique<CachedStore>(std::move(far), std::move(cache));
}

// Reads a whole object or a block of it. Returns false when a byte is wrong.
absl::StatusOr<bool> ReadOne(int object, bool whole, std::mt19937* random,
                             CachedStore* store) {
  const std::string right = BytesOf(object);
  ASSIGN_OR_RETURN(const ObjectInfo info, store->Stat(NameOf(object)));
  ReadRequest request;
  request.name = info.name;
  request.version = info.version;
  request.bytes = info.bytes;
  if (!whole) {
    request.offset = (*random)() % (info.bytes / kBlock) * kBlock;
    request.bytes = kBlock;
  }
  std::string out(request.bytes, '\0');
  request.out = out.data();
  RETURN_IF_ERROR(store->Read(request));
  return out == right.substr(request.offset, request.bytes);
}

// Runs until it is killed.
[[noreturn]] void ReadForEver(const std::string& folder, int seed) {
  std::mt19937 random(seed);
  auto store = OpenStore(folder);
  if (!store.ok()) {
    std::cerr << store.status() << "\n";
    _exit(3);
  }
  for (;;) {
    const int object = static_cast<int>(random() % kObjects);
    const auto right =
        ReadOne(object, random() % 2 == 0, &random, store->get());
    if (!right.ok()) {
      std::cerr << right.status() << "\n";
      _exit(4);
    }
    if (!*right) _exit(kWrongBytes);
  }
}

pid_t StartReader(const std::string& folder, int seed) {
  const pid_t pid = fork();
  if (pid == 0) ReadForEver(folder, seed);
  return pid;
}

std::vector<std::string> Blobs(const std::string& folder) {
  std::vector<std::string> blobs;
  std::error_code error;
  using Files = std::filesystem::recursive_directory_iterator;
  for (Files file(JoinPath(folder, "cache/blobs"), error), end;
       !error && file != end; file.increment(error)) {
    std::error_code ignored;
    if (file->is_regular_file(ignored)) blobs.push_back(file->path().string());
  }
  return blobs;
}

// Changes a byte of some entry, like a failing disk.
bool Damage(const std::string& folder, std::mt19937* random) {
  const std::vector<std::string> blobs = Blobs(folder);
  if (blobs.empty()) return false;
  const std::string& blob = blobs[(*random)() % blobs.size()];
  const UniqueFd file(open(blob.c_str(), O_RDWR | O_CLOEXEC));
  char byte = 0;
  if (!file.valid() || pread(file.get(), &byte, 1, 100) != 1) return false;
  byte = static_cast<char>(byte ^ 0x40);
  return pwrite(file.get(), &byte, 1, 100) == 1;
}

absl::Status KillOne(pid_t pid) {
  kill(pid, SIGKILL);
  int status = 0;
  if (waitpid(pid, &status, 0) != pid) {
    return absl::InternalError("a process is not ours");
  }
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
    return absl::OkStatus();
  }
  return absl::InternalError(
      WIFEXITED(status) && WEXITSTATUS(status) == kWrongBytes
          ? "a process got wrong bytes"
          : absl::StrCat("a process ended by itself, status ", status));
}

absl::Status Check(const std::string& folder, int damaged) {
  ASSIGN_OR_RETURN(const std::unique_ptr<CachedStore> store, OpenStore(folder));
  std::mt19937 random(FLAGS_seed);
  for (int object = 0; object < kObjects; ++object) {
    ASSIGN_OR_RETURN(const bool right,
                     ReadOne(object, true, &random, store.get()));
    if (!right) return absl::DataLossError("the cache holds wrong bytes");
  }
  int64_t bytes = 0;
  for (const std::string& blob : Blobs(folder)) {
    bytes += static_cast<int64_t>(std::filesystem::file_size(blob));
  }
  if (bytes > kCacheBytes) {
    return absl::InternalError(absl::StrCat("the cache has ", bytes, " bytes"));
  }
  int temporary = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(JoinPath(folder, "cache/tmp"))) {
    temporary += file.is_regular_file();
  }
  // Our own marker file.
  if (temporary > 1) {
    return absl::InternalError(absl::StrCat(temporary, " files are left"));
  }
  std::cout << FLAGS_kills << " kills, " << damaged
            << " entries damaged: no wrong byte, nothing left behind, " << bytes
            << " of " << kCacheBytes << " bytes used\n";
  return absl::OkStatus();
}

absl::Status KillMany(const std::string& folder) {
  RETURN_IF_ERROR(MakeFolder(JoinPath(folder, "far")));
  for (int object = 0; object < kObjects; ++object) {
    RETURN_IF_ERROR(WriteFileAtomically(
        JoinPath(folder, absl::StrCat("far/", NameOf(object))),
        BytesOf(object)));
  }
  std::mt19937 random(FLAGS_seed);
  std::vector<pid_t> readers;
  int seed = FLAGS_seed;
  for (int i = 0; i < kProcesses; ++i) {
    readers.push_back(StartReader(folder, ++seed));
  }
  absl::Status status;
  int damaged = 0;
  for (int i = 0; i < FLAGS_kills && status.ok(); ++i) {
    std::this_thread::sleep_for(
        std::chrono::microseconds(5000 + random() % 40000));
    damaged += Damage(folder, &random);
    pid_t& reader = readers[random() % kProcesses];
    status = KillOne(reader);
    reader = StartReader(folder, ++seed);
  }
  for (const pid_t reader : readers) status.Update(KillOne(reader));
  RETURN_IF_ERROR(status);
  return Check(folder, damaged);
}

absl::StatusOr<ExitCode> Run(const std::vector<std::string>&) {
  const char* base = std::getenv("TEST_TMPDIR");
  std::string folder = JoinPath(base == nullptr ? "/tmp" : base, "kill.XXXXXX");
  if (mkdtemp(folder.data()) == nullptr) {
    return absl::UnavailableError("no folder for temporary files");
  }
  const absl::Status status = KillMany(folder);
  std::filesystem::remove_all(folder);
  RETURN_IF_ERROR(status);
  return ExitCode::kDone;
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  feedrate::ToolInfo info;
  info.name = "kill_run";
  info.summary = "kill processes that share a cache, and check for wrong bytes";
  info.usage = "[--kills=N]";
  info.flag_files = {"kill_run.cc"};
  return feedrate::ToolMain(argc, argv, info, feedrate::Run);
}
