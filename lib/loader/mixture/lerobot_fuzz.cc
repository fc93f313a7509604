// For any bytes in place of one file of a LeRobot data set, reading it ends,
// and gives an Example for every episode that its list names, or a reason. The
// bytes also stand for a pattern of paths.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "lib/base/files.h"
#include "lib/loader/mixture/lerobot.h"
#include "lib/storage/tfrecord.h"

namespace feedrate {
namespace {

// What is read of `old` and `new` in testdata/lerobot.
constexpr const char* kFiles[] = {
    "old/meta/info.json",     "old/meta/episodes.jsonl",
    "old/meta/tasks.jsonl",   "old/data/chunk-000/episode_000001.parquet",
    "new/meta/info.json",     "new/meta/episodes/chunk-000/file-000.parquet",
    "new/meta/tasks.parquet", "new/data/chunk-000/file-000.parquet",
};

// A copy of the data that goes away with the process.
const std::string& Folder() {
  static const std::string& folder = *[] {
    const char* const parent = std::getenv("TEST_TMPDIR");
    auto* const path = new std::string(absl::StrCat(
        parent != nullptr ? parent : "/tmp", "/lerobot_fuzz_", getpid()));
    std::filesystem::copy("lib/loader/mixture/testdata/lerobot", *path,
                          std::filesystem::copy_options::recursive);
    for (const char* const file : kFiles) {
      std::filesystem::permissions(JoinPath(*path, file),
                                   std::filesystem::perms::owner_all);
    }
    std::atexit([] { std::filesystem::remove_all(Folder()); });
    return path;
  }();
  return folder;
}

// Without waiting for the disk.
void Write(const std::string& path, absl::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

void Read(absl::string_view name) {
  const std::string shard =
      JoinPath(Folder(), absl::StrCat(name, "/", kLerobotInfo));
  MixtureSource source;
  const absl::Status features = ReadLerobotFeatures(shard, &source);
  CHECK(features.ok() || !features.message().empty());
  const absl::Status read =
      ReadLerobotEpisodes(shard, [](absl::string_view bytes) {
        ExampleView example;
        CHECK(example.Parse(bytes).ok());
        CHECK(example.Has(kLerobotError) || example.Has("episode_index"));
        return absl::OkStatus();
      });
  CHECK(read.ok() || !read.message().empty());
}

}  // namespace
}  // namespace feedrate

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  feedrate::LerobotPath(bytes, {{"episode_index", 7, ""}}).IgnoreError();
  for (const char* const file : feedrate::kFiles) {
    const std::string path = feedrate::JoinPath(feedrate::Folder(), file);
    const auto right = feedrate::ReadFile(path);
    CHECK(right.ok()) << right.status();
    feedrate::Write(path, bytes);
    feedrate::Read(absl::string_view(file).substr(0, 3));
    feedrate::Write(path, *right);
  }
  return 0;
}
