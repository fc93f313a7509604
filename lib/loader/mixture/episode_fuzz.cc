// Two tests with the same bytes. As a shard, they end, and every episode that
// opens has frames inside of its record and as many pairs as asked for. Read as
// decisions, they make a shard of episodes with known features, some of them
// missing or of a wrong size, and the shard compressed or not: the good ones
// come back as they are, the others with an error that names their record.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "lib/loader/mixture/episode.h"
#include "lib/loader/mixture/mixture_folder.h"
#include "lib/storage/tfrecord.h"
#include "third_party/fuzz/decisions.h"

namespace feedrate {
namespace {

// A shard in memory that has a path.
class Shard {
 public:
  explicit Shard(absl::string_view bytes)
      : fd_(memfd_create("shard", MFD_CLOEXEC)),
        path_(absl::StrCat("/proc/self/fd/", fd_)) {
    CHECK_EQ(write(fd_, bytes.data(), bytes.size()), bytes.size());
  }
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;
  ~Shard() { close(fd_); }

  const std::string& path() const { return path_; }

 private:
  const int fd_;
  const std::string path_;
};

void CheckEpisode(const Episode& episode, const EpisodeOptions& options) {
  const auto steps = static_cast<int>(episode.frames().size());
  CHECK_EQ(episode.pairs().size(),
           options.samples > 0 ? options.samples : steps - options.pair_offset);
  for (const int first : episode.pairs()) {
    CHECK(first >= 0 && first + options.pair_offset < steps);
  }
  size_t bytes = 0;
  for (const absl::string_view frame : episode.frames()) bytes += frame.size();
  CHECK_LE(bytes, static_cast<size_t>(episode.place().bytes));
  if (options.metadata != MetadataMode::kFull) return;
  float sum = 0;
  for (int i = 0; i < episode.action_width(); ++i) {
    sum += episode.action(steps - 1)[i];
  }
  for (int i = 0; i < episode.state_width(); ++i) {
    sum += episode.state(steps - 1)[i];
  }
  (void)sum;
}

EpisodeOptions NewOptions(Decisions* decisions) {
  EpisodeOptions options;
  options.samples = static_cast<int>(decisions->Below(4));
  options.pair_offset = 1 + static_cast<int>(decisions->Below(3));
  options.metadata =
      decisions->Yes() ? MetadataMode::kFull : MetadataMode::kNone;
  return options;
}

void ReadAnything(absl::string_view bytes, const EpisodeOptions& options) {
  const Shard shard(bytes);
  EpisodeOrderOptions order;
  order.shuffle_buffer = 3;
  EpisodeOrder episodes({shard.path()}, order);
  for (int i = 0; i < 20; ++i) {
    const absl::StatusOr<EpisodePlace> place = episodes.Next();
    if (!place.ok()) {
      if (absl::IsFailedPrecondition(place.status())) return;
      continue;
    }
    const auto episode = Episode::Open(*place, options, i);
    if (episode.ok()) CheckEpisode(**episode, options);
  }
}

struct Known {
  std::vector<std::string> frames;
  std::vector<float> action;
  bool is_right = true;
};

// A record, and what is in it.
std::string NewRecord(const EpisodeOptions& options, Decisions* decisions,
                      Known* known) {
  const uint32_t damage = decisions->Below(12);
  for (uint32_t left = decisions->Below(8); left > 0; --left) {
    known->frames.push_back(decisions->Bytes(20));
  }
  const size_t steps = known->frames.size();
  known->action.resize(steps * decisions->Below(4));
  for (float& value : known->action) value = decisions->Below(100);
  if (damage == 1) known->action.push_back(0);
  ExampleBuilder builder;
  if (damage != 2) {
    builder.AddBytes("frames", {known->frames.begin(), known->frames.end()});
  }
  builder.AddFloats("action", known->action);
  if (damage != 3) builder.AddFloats("state", {});
  if (damage == 4) builder.AddIntegers("state", {1});
  if (damage == 5) {
    builder.AddBytes("instruction", {"a", "b"});
  } else {
    builder.AddBytes("instruction", {"lift"});
  }
  builder.AddBytes("episode_id", {"e"});
  const int pairs = static_cast<int>(steps) - options.pair_offset;
  const bool full = options.metadata == MetadataMode::kFull;
  known->is_right = pairs >= 1 && pairs >= options.samples && damage != 2;
  // With a single step, any number of values is a row.
  if (full && damage == 1 && steps > 1) known->is_right = false;
  if (full && (damage == 3 || damage == 4)) known->is_right = false;
  // Two texts are one per step of two.
  if (full && damage == 5 && steps != 2) known->is_right = false;
  std::string record;
  AppendTfRecord(builder.Serialized(), &record);
  return record;
}

std::string Gzip(absl::string_view bytes) {
  z_stream stream = {};
  constexpr int kGzipWindow = 15 + 16;
  CHECK_EQ(
      deflateInit2(&stream, 1, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY),
      Z_OK);
  std::string packed(deflateBound(&stream, bytes.size()), 0);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = bytes.size();
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = packed.size();
  CHECK_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// A list that is written down comes back; anything else ends.
void ReadLists(absl::string_view bytes, Decisions* decisions) {
  ParseMixtureList(bytes, "").IgnoreError();
  ParseMixtureList(bytes, "A").IgnoreError();
  const bool is_python = decisions->Yes();
  std::string text = is_python ? "OTHER = [('z', 1)]\nA = [" : "{\"A\": [";
  const int count = 1 + static_cast<int>(decisions->Below(5));
  std::vector<double> weights;
  for (int i = 0; i < count; ++i) {
    weights.push_back(decisions->Below(1000) / 8.0);
    absl::StrAppend(&text, is_python ? "('d" : "[\"d", i,
                    is_python ? "', " : "\", ", weights.back(),
                    is_python ? "), # a\n" : "],");
  }
  absl::StrAppend(&text, is_python ? "]" : "]}");
  const auto entries = ParseMixtureList(text, "A");
  CHECK(entries.ok()) << entries.status() << text;
  CHECK_EQ(entries->size(), weights.size());
  for (int i = 0; i < count; ++i) {
    CHECK_EQ((*entries)[i].name, absl::StrCat("d", i));
    CHECK_EQ((*entries)[i].weight, weights[i]);
  }
}

void ReadWhatIsKnown(const EpisodeOptions& options, Decisions* decisions) {
  std::string bytes;
  std::vector<Known> records;
  while (!decisions->empty() && records.size() < 6) {
    absl::StrAppend(&bytes,
                    NewRecord(options, decisions, &records.emplace_back()));
  }
  if (records.empty()) return;
  const Shard shard(decisions->Yes() ? Gzip(bytes) : bytes);
  EpisodeOrder order({shard.path()}, EpisodeOrderOptions());
  for (size_t i = 0; i < records.size(); ++i) {
    const absl::StatusOr<EpisodePlace> place = order.Next();
    CHECK(place.ok()) << place.status();
    CHECK_EQ(place->record, i);
    const Known& known = records[i];
    const auto episode = Episode::Open(*place, options, i);
    CHECK_EQ(episode.ok(), known.is_right) << episode.status();
    if (!episode.ok()) {
      CHECK(absl::StrContains(episode.status().message(),
                              absl::StrCat("record ", i, ": ")))
          << episode.status();
      continue;
    }
    CheckEpisode(**episode, options);
    CHECK_EQ((*episode)->frames().size(), known.frames.size());
    for (size_t step = 0; step < known.frames.size(); ++step) {
      CHECK_EQ((*episode)->frames()[step], known.frames[step]);
      if (options.metadata != MetadataMode::kFull) continue;
      const int width = (*episode)->action_width();
      for (int j = 0; j < width; ++j) {
        CHECK_EQ((*episode)->action(step)[j], known.action[step * width + j]);
      }
    }
  }
}

}  // namespace
}  // namespace feedrate

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  feedrate::Decisions decisions(data, size);
  const feedrate::EpisodeOptions options = feedrate::NewOptions(&decisions);
  feedrate::ReadAnything(
      absl::string_view(reinterpret_cast<const char*>(data), size), options);
  feedrate::ReadLists(
      absl::string_view(reinterpret_cast<const char*>(data), size), &decisions);
  feedrate::ReadWhatIsKnown(options, &decisions);
  return 0;
}
