#include "lib/loader/mixture/episode.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <optional>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/base/unique_fd.h"
#include "lib/loader/mixture/lerobot.h"
#include "lib/loader/mixture/tensor_bytes.h"
#include "lib/loader/source.h"
#include "lib/storage/checksum.h"

namespace feedrate {
namespace {

// Reads one text, or `steps` of them. Nothing if the feature has no name.
absl::Status Texts(const ExampleView& example, absl::string_view feature,
                   size_t steps, std::vector<absl::string_view>* values) {
  if (feature.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(example.Bytes(feature, values));
  if (values->size() == 1 || values->size() == steps) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "feature \"", feature, "\" has ", values->size(), " values, not one",
      steps > 1 ? absl::StrCat(" or ", steps) : ""));
}

absl::Status OfFeature(const std::string& feature, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("feature \"", feature, "\" ",
                                                  status.message()));
}

// Reads floats, or integers that floats hold exactly.
absl::Status Numbers(const ExampleView& example, const MixtureSource& source,
                     const std::string& feature, std::vector<float>* values) {
  const auto encoded = source.encoded.find(feature);
  if (encoded != source.encoded.end()) {
    std::vector<absl::string_view> tensors;
    RETURN_IF_ERROR(example.Bytes(feature, &tensors));
    for (const absl::string_view tensor : tensors) {
      const absl::Status read = AppendTensor(encoded->second, tensor, values);
      if (!read.ok()) return OfFeature(feature, read);
    }
    return absl::OkStatus();
  }
  const absl::Status read = example.Floats(feature, values);
  std::vector<int64_t> integers;
  if (read.ok() || !example.Integers(feature, &integers).ok()) return read;
  values->assign(integers.begin(), integers.end());
  for (const int64_t integer : integers) {
    const absl::Status fits = CheckFitsFloat(integer);
    if (!fits.ok()) return OfFeature(feature, fits);
  }
  return absl::OkStatus();
}

// Reads a text, or an integer as text. Nothing if the feature has no name.
absl::Status Name(const ExampleView& example, absl::string_view feature,
                  std::string* name) {
  std::vector<int64_t> integers;
  if (example.Integers(feature, &integers).ok() && integers.size() == 1) {
    *name = absl::StrCat(integers[0]);
    return absl::OkStatus();
  }
  std::vector<absl::string_view> texts;
  RETURN_IF_ERROR(Texts(example, feature, 1, &texts));
  if (!texts.empty()) *name = std::string(texts[0]);
  return absl::OkStatus();
}

// Reads one row of numbers per step, which joins those of all features; returns
// their width.
absl::StatusOr<int> Rows(const ExampleView& example,
                         const MixtureSource& source,
                         const std::vector<std::string>& features, size_t steps,
                         std::vector<float>* values) {
  std::vector<std::vector<float>> parts(features.size());
  size_t width = 0;
  for (size_t i = 0; i < features.size(); ++i) {
    RETURN_IF_ERROR(Numbers(example, source, features[i], &parts[i]));
    if (parts[i].size() % steps != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("feature \"", features[i], "\" has ", parts[i].size(),
                       " numbers, which ", steps, " steps cannot share"));
    }
    width += parts[i].size() / steps;
  }
  if (parts.size() == 1) {
    *values = std::move(parts[0]);
    return static_cast<int>(width);
  }
  values->reserve(width * steps);
  for (size_t step = 0; step < steps; ++step) {
    for (const std::vector<float>& part : parts) {
      const auto row = static_cast<int64_t>(part.size() / steps);
      const auto from = part.begin() + static_cast<int64_t>(step) * row;
      values->insert(values->end(), from, from + row);
    }
  }
  return static_cast<int>(width);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Episode>> Episode::Open(
    const EpisodePlace& place, const EpisodeOptions& options, uint64_t seed) {
  auto episode = absl::WrapUnique(new Episode(place));
  RETURN_IF_ERROR(episode->Read(options));
  RETURN_IF_ERROR(episode->DrawPairs(options, seed));
  return episode;
}

std::string Episode::name() const {
  return absl::StrCat(place_.shard->path(), ": record ", place_.record);
}

absl::Status Episode::Named(const absl::Status& status) const {
  return absl::Status(status.code(),
                      absl::StrCat(name(), ": ", status.message()));
}

absl::StatusOr<absl::string_view> Episode::ReadRecord(bool verify) {
  ASSIGN_OR_RETURN(bytes_, place_.shard->Map(place_.offset, place_.bytes));
  // The header was checked when the record was found.
  const absl::string_view data = bytes_.bytes().substr(
      kTfRecordHeadBytes,
      place_.bytes - kTfRecordHeadBytes - kTfRecordTailBytes);
  if (!verify ||
      LittleEndian32(data.data() + data.size()) == MaskedCrc32c(data)) {
    return data;
  }
  return absl::DataLossError(absl::StrCat(name(), " at byte ", place_.offset,
                                          ": wrong checksum of its data"));
}

absl::Status Episode::Read(const EpisodeOptions& options) {
  ASSIGN_OR_RETURN(const absl::string_view data, ReadRecord(options.verify));
  ExampleView example;
  static const MixtureSource& own = *new MixtureSource;
  const MixtureSource& names =
      options.source != nullptr ? *options.source : own;
  std::vector<std::string> cameras = options.cameras;
  if (cameras.empty()) cameras = {names.image};
  if (cameras[0].empty()) {
    return Named(
        absl::NotFoundError("features.json has no image below steps; name a "
                            "feature in mixture.textproto"));
  }
  absl::Status read = example.Parse(data);
  std::vector<absl::string_view> error;
  if (read.ok() && example.Bytes(kLerobotError, &error).ok() &&
      error.size() == 1 && IsLerobotShard(place_.shard->path())) {
    read = absl::DataLossError(error[0]);
  }
  if (read.ok()) read = ReadFrames(example, cameras);
  if (read.ok() && options.metadata == MetadataMode::kFull) {
    read = ReadMetadata(example, names);
    if (read.ok()) read = ReadNumbers(example, names, options.numbers);
  }
  return read.ok() ? read : Named(read);
}

absl::Status Episode::ReadFrames(const ExampleView& example,
                                 const std::vector<std::string>& cameras) {
  frames_.resize(cameras.size());
  for (size_t i = 0; i < cameras.size(); ++i) {
    RETURN_IF_ERROR(example.Bytes(cameras[i], &frames_[i]));
    if (frames_[i].empty()) {
      return absl::OutOfRangeError(
          absl::StrCat("feature \"", cameras[i], "\" is empty"));
    }
    if (frames_[i].size() != frames_[0].size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "feature \"", cameras[i], "\" has ", frames_[i].size(),
          " frames, and \"", cameras[0], "\" ", frames_[0].size()));
    }
  }
  return absl::OkStatus();
}

absl::Status Episode::ReadMetadata(const ExampleView& example,
                                   const MixtureSource& names) {
  const size_t steps = frames_[0].size();
  RETURN_IF_ERROR(Name(example, names.episode_id, &id_));
  RETURN_IF_ERROR(Texts(example, names.instruction, steps, &instructions_));
  ASSIGN_OR_RETURN(action_width_,
                   Rows(example, names, names.action, steps, &action_));
  ASSIGN_OR_RETURN(state_width_,
                   Rows(example, names, names.state, steps, &state_));
  return absl::OkStatus();
}

absl::Status Episode::ReadNumbers(const ExampleView& example,
                                  const MixtureSource& source,
                                  const std::vector<std::string>& features) {
  numbers_.resize(features.size());
  number_widths_.resize(features.size());
  for (size_t i = 0; i < features.size(); ++i) {
    if (features[i].empty()) continue;
    ASSIGN_OR_RETURN(number_widths_[i], Rows(example, source, {features[i]},
                                             frames_[0].size(), &numbers_[i]));
  }
  return absl::OkStatus();
}

absl::Status Episode::DrawPairs(const EpisodeOptions& options, uint64_t seed) {
  const auto frames = static_cast<int64_t>(frames_[0].size());
  const int64_t possible = frames - options.pair_offset;
  if (possible < 1 || possible < options.samples) {
    return Named(absl::OutOfRangeError(absl::StrCat(
        frames, " frames have ", possible < 0 ? 0 : possible,
        " pairs at an offset of ", options.pair_offset, ", fewer than the ",
        options.samples > 0 ? options.samples : 1,
        " that are to be drawn; lower samples_per_episode or pair_offset")));
  }
  pairs_.resize(possible);
  std::iota(pairs_.begin(), pairs_.end(), 0);
  if (options.samples == 0) return absl::OkStatus();
  // The beginning of a shuffle, so that no pair comes twice.
  Random random(seed);
  for (int i = 0; i < options.samples; ++i) {
    std::swap(pairs_[i], pairs_[i + random.Below(possible - i)]);
  }
  pairs_.resize(options.samples);
  return absl::OkStatus();
}

namespace {

// What Linux may map around an accessed page: a whole large page of the page
// cache.
constexpr int64_t kFaultAround = 2 << 20;

absl::Status Cannot(const std::string& path, absl::string_view what) {
  const std::string text =
      absl::StrCat(path, ": cannot ", what, ": ", std::strerror(errno));
  return errno == ENOENT ? absl::NotFoundError(text)
                         : absl::DataLossError(text);
}

// A file without a name, for what is in `path`.
absl::StatusOr<UniqueFd> NewUnpacked(const std::string& path) {
  const char* const folder = std::getenv("TMPDIR");
  UniqueFd out(open(folder != nullptr && *folder != 0 ? folder : "/tmp",
                    O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!out.valid()) return Cannot(path, "be unpacked: no file in $TMPDIR");
  return out;
}

absl::Status Append(const std::string& path, absl::string_view bytes,
                    const UniqueFd& out) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(out.get(), bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return Cannot(path, "be unpacked to $TMPDIR");
    bytes.remove_prefix(wrote);
  }
  return absl::OkStatus();
}

// The episodes of a LeRobot data set, as records.
absl::StatusOr<UniqueFd> UnpackLerobot(const std::string& path) {
  ASSIGN_OR_RETURN(UniqueFd out, NewUnpacked(path));
  const absl::Status read =
      ReadLerobotEpisodes(path, [&](absl::string_view example) {
        std::string record;
        AppendTfRecord(example, &record);
        return Append(path, record, out);
      });
  if (read.ok()) return out;
  return absl::DataLossError(read.message());
}

// The content of a compressed file.
absl::StatusOr<UniqueFd> Unpack(const std::string& path) {
  ASSIGN_OR_RETURN(UniqueFd out, NewUnpacked(path));
  const gzFile in = gzopen(path.c_str(), "rbe");
  if (in == nullptr) return Cannot(path, "open");
  std::vector<char> bytes(1 << 20);
  absl::Status status;
  while (status.ok()) {
    const int got =
        gzread(in, bytes.data(), static_cast<unsigned>(bytes.size()));
    int code = Z_OK;
    const char* const reason = gzerror(in, &code);
    // What comes before the damage is used, as in shards that are cut off.
    if (got <= 0 || (code != Z_OK && code != Z_STREAM_END)) {
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
        status = absl::DataLossError(
            absl::StrCat(path, ": cannot be unpacked: ", reason));
      }
      if (got <= 0) break;
    }
    if (status.ok()) {
      status = Append(path, {bytes.data(), static_cast<size_t>(got)}, out);
    }
  }
  gzclose(in);
  RETURN_IF_ERROR(status);
  return out;
}

}  // namespace

bool IsGzipShard(absl::string_view head) {
  return head.size() >= kTfRecordHeadBytes && head[0] == '\x1f' &&
         head[1] == '\x8b' && head[2] == '\x08' &&
         LittleEndian32(head.data() + 8) != MaskedCrc32c(head.substr(0, 8));
}

MappedShard::MappedShard(std::string path, UniqueFd unpacked,
                         absl::string_view bytes)
    : path_(std::move(path)),
      unpacked_(std::move(unpacked)),
      mapped_path_(unpacked_.valid()
                       ? absl::StrCat("/proc/self/fd/", unpacked_.get())
                       : path_),
      bytes_(bytes) {}

absl::StatusOr<std::unique_ptr<MappedShard>> MappedShard::Open(
    const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return Cannot(path, "open");
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return Cannot(path, "look up");
  if (!S_ISREG(info.st_mode)) {
    return absl::DataLossError(absl::StrCat(path, ": is not a plain file"));
  }
  char head[kTfRecordHeadBytes];
  const ssize_t got = pread(file.get(), head, sizeof(head), 0);
  if (got < 0) return Cannot(path, "read");
  UniqueFd unpacked;
  const bool is_lerobot = IsLerobotShard(path);
  if (is_lerobot || IsGzipShard({head, static_cast<size_t>(got)})) {
    ASSIGN_OR_RETURN(unpacked, is_lerobot ? UnpackLerobot(path) : Unpack(path));
    if (fstat(unpacked.get(), &info) != 0) return Cannot(path, "look up");
  }
  const int fd = unpacked.valid() ? unpacked.get() : file.get();
  const auto size = static_cast<size_t>(info.st_size);
  if (size == 0) {
    return absl::WrapUnique(new MappedShard(path, std::move(unpacked), {}));
  }
  void* const map = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) return Cannot(path, "map");
  return absl::WrapUnique(new MappedShard(
      path, std::move(unpacked), {static_cast<const char*>(map), size}));
}

MappedShard::~MappedShard() {
  if (bytes_.empty()) return;
  munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

void MappedShard::Release(int64_t offset) const {
  const auto size = static_cast<int64_t>(bytes_.size());
  if (offset >= size) return;
  const int64_t begin = offset / kFaultAround * kFaultAround;
  const int64_t end = std::min(begin + 2 * kFaultAround, size);
  // Only advice; may fail.
  madvise(const_cast<char*>(bytes_.data()) + begin, end - begin, MADV_DONTNEED);
}

absl::StatusOr<MappedPart> MappedShard::Map(int64_t offset,
                                            int64_t length) const {
  // Opened each time: a mixture may have more shards than a process may open.
  const UniqueFd file(
      open(mapped_path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return Cannot(path_, "open");
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return Cannot(path_, "look up");
  if (info.st_size < offset + length) {
    return absl::DataLossError(
        absl::StrCat(path_, ": has become shorter than it was"));
  }
  const int64_t begin = offset / getpagesize() * getpagesize();
  const auto size = static_cast<size_t>(offset + length - begin);
  void* const map =
      mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), begin);
  if (map == MAP_FAILED) return Cannot(path_, "map");
  auto* const bytes = static_cast<char*>(map);
  MappedPart part({bytes, size},
                  {bytes + (offset - begin), static_cast<size_t>(length)});
  // Reads all pages at once, so that a read error is an error and not a signal.
  // Kernels before 5.14 do not support it and read on access.
  if (madvise(map, size, MADV_POPULATE_READ) != 0 && errno != EINVAL) {
    return Cannot(path_, "read");
  }
  return part;
}

MappedPart::~MappedPart() {
  if (!map_.empty()) munmap(map_.data(), map_.size());
}

EpisodeOrder::EpisodeOrder(std::vector<std::string> shards,
                           const EpisodeOrderOptions& options)
    : paths_(std::move(shards)), options_(options), shards_(paths_.size()) {
  BeginPass();
}

void EpisodeOrder::BeginPass() {
  ++pass_;
  found_in_pass_ = 0;
  random_ = Random(MixSeeds(options_.seed, static_cast<uint64_t>(pass_)));
  shard_order_.resize(paths_.size());
  std::iota(shard_order_.begin(), shard_order_.end(), 0);
  if (options_.shuffle_buffer > 1) random_.Shuffle(&shard_order_);
  next_shard_ = 0;
  turn_ = 0;
  open_.clear();
}

absl::Status EpisodeOrder::OpenNextShard() {
  const int at = shard_order_[next_shard_++];
  if (shards_[at] == nullptr) {
    ASSIGN_OR_RETURN(shards_[at], MappedShard::Open(paths_[at]));
  }
  const MappedShard* const shard = shards_[at].get();
  open_.push_back({shard, TfRecordCursor(shard->path(), shard->bytes())});
  return absl::OkStatus();
}

absl::StatusOr<bool> EpisodeOrder::ReadOne() {
  for (;;) {
    while (open_.size() < static_cast<size_t>(options_.read_interleave) &&
           next_shard_ < shard_order_.size()) {
      RETURN_IF_ERROR(OpenNextShard());
    }
    if (open_.empty()) return false;
    if (turn_ >= open_.size()) turn_ = 0;
    Cursor& cursor = open_[turn_];
    EpisodePlace place;
    place.shard = cursor.shard;
    place.offset = cursor.records.offset();
    place.record = cursor.records.count();
    place.pass = pass_;
    const absl::StatusOr<std::optional<absl::string_view>> data =
        cursor.records.NextUnchecked();
    if (data.ok() && data->has_value()) {
      place.bytes = cursor.records.offset() - place.offset;
      // Only its header was read, and it may be long until its turn.
      place.shard->Release(place.offset);
      buffer_.push_back(place);
      ++found_in_pass_;
      ++turn_;
      return true;
    }
    // At its end, or nothing more can be found in it.
    open_.erase(open_.begin() + turn_);
    if (!data.ok()) return data.status();
  }
}

absl::StatusOr<EpisodePlace> EpisodeOrder::Next() {
  for (;;) {
    bool more = true;
    while (more &&
           buffer_.size() < static_cast<size_t>(options_.shuffle_buffer)) {
      ASSIGN_OR_RETURN(more, ReadOne());
    }
    if (!buffer_.empty()) break;
    if (found_in_pass_ == 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("has no episode in ", paths_.size(), " shards"));
    }
    BeginPass();
  }
  const size_t drawn =
      options_.shuffle_buffer > 1 ? random_.Below(buffer_.size()) : 0;
  const EpisodePlace place = buffer_[drawn];
  // The last one takes its place: the order within the buffer does not matter.
  buffer_[drawn] = buffer_.back();
  buffer_.pop_back();
  return place;
}

absl::StatusOr<int64_t> EpisodeOrder::Skip(int64_t count) {
  int64_t episodes = 0;
  bool has_jumped = false;
  for (int64_t i = 0; i < count; ++i) {
    const absl::StatusOr<EpisodePlace> place = Next();
    if (absl::IsFailedPrecondition(place.status())) return place.status();
    if (pass_ == 0 || has_jumped) {
      episodes += place.ok() ? 1 : 0;
      continue;
    }
    // The first pass had `i` results, and so have the others.
    has_jumped = true;
    const int64_t passes = count / i;
    pass_ = passes - 1;
    buffer_.clear();
    BeginPass();
    episodes *= passes;
    i = passes * i - 1;
  }
  return episodes;
}

void KeptFrames::Keep(int step, const uint8_t* frame, size_t bytes) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (frames_.size() >= kMost) return;
  }
  // Not initialized, since all of it is copied to, and not under the lock.
  std::unique_ptr<uint8_t[]> pixels(new uint8_t[bytes]);
  std::memcpy(pixels.get(), frame, bytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (frames_.size() < kMost) frames_.push_back({step, std::move(pixels)});
}

bool KeptFrames::Take(int step, size_t bytes, uint8_t* out) {
  std::unique_ptr<uint8_t[]> pixels;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found =
        std::find_if(frames_.begin(), frames_.end(),
                     [step](const Frame& frame) { return frame.step == step; });
    if (found == frames_.end()) return false;
    pixels = std::move(found->pixels);
    frames_.erase(found);
  }
  std::memcpy(out, pixels.get(), bytes);
  return true;
}

}  // namespace feedrate
