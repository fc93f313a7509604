#include "lib/loader/cuda/gpu_work.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"

namespace feedrate {

int BatchQueue::Piece::PartnerOf(int i) const {
  if (!paired) return -1;
  const int facing = size - 1 - places[i];
  if (facing == places[i]) return -1;
  return i > 0 && places[i - 1] == facing ? i - 1 : i + 1;
}

BatchQueue::BatchQueue(int64_t count, int batch_size, int slots, bool paired,
                       Cost cost, bool splits_last)
    : count_(count),
      batch_size_(batch_size),
      splits_last_(splits_last),
      batches_((count + batch_size - 1) / batch_size + (splits_last ? 1 : 0)),
      slots_(slots),
      paired_(paired),
      cost_(std::move(cost)),
      missing_(slots, 0) {
  for (int64_t batch = 0; batch < slots; ++batch) {
    missing_[batch] = SizeOf(batch);
  }
}

int64_t BatchQueue::BeginOf(int64_t batch) const {
  if (batch >= batches_) return count_;
  return std::min(batch * batch_size_, count_ - (splits_last_ ? 1 : 0));
}

int BatchQueue::SizeOf(int64_t batch) const {
  return static_cast<int>(BeginOf(batch + 1) - BeginOf(batch));
}

// Sorts the samples of the batch by cost.
void BatchQueue::OpenBatch() {
  const int size = SizeOf(batch_);
  // The middle one of an odd number is its own partner.
  units_.resize(paired_ ? (size + 1) / 2 : size);
  std::iota(units_.begin(), units_.end(), 0);
  low_ = 0;
  high_ = static_cast<int>(units_.size());
  if (cost_ == nullptr) return;
  const int64_t first = BeginOf(batch_);
  std::vector<double> costs;
  for (const int unit : units_) {
    costs.push_back(cost_(first + unit));
    if (paired_) costs.back() += cost_(first + size - 1 - unit);
  }
  std::stable_sort(units_.begin(), units_.end(),
                   [&](int a, int b) { return costs[a] < costs[b]; });
}

std::optional<BatchQueue::Piece> BatchQueue::Take(int most, End end) {
  std::unique_lock<std::mutex> lock(mutex_);
  // Batches before `free` have a slot; the consumer's batch keeps its own.
  changed_.wait(lock, [&] {
    const int64_t free = delivered_ - (holding_ ? 1 : 0) + slots_;
    return stopped_ || SizeOf(batch_) == 0 || batch_ < free;
  });
  if (stopped_ || SizeOf(batch_) == 0) return std::nullopt;
  if (low_ == high_) OpenBatch();
  Piece piece;
  piece.batch = batch_;
  piece.first = BeginOf(batch_);
  piece.slot = static_cast<int>(batch_ % slots_);
  piece.size = SizeOf(batch_);
  piece.paired = paired_;
  const int units =
      std::min(paired_ ? std::max(1, most / 2) : most, high_ - low_);
  if (end == End::kHigh) high_ -= units;
  const int first = end == End::kHigh ? high_ : low_;
  if (end == End::kLow) low_ += units;
  for (int i = first; i < first + units; ++i) {
    const int facing = piece.size - 1 - units_[i];
    piece.places.push_back(units_[i]);
    if (paired_ && facing != units_[i]) piece.places.push_back(facing);
  }
  if (low_ == high_) ++batch_;
  return piece;
}

void BatchQueue::Done(const Piece& piece) {
  const std::lock_guard<std::mutex> lock(mutex_);
  missing_[piece.slot] -= piece.samples();
  if (missing_[piece.slot] == 0) changed_.notify_all();
}

void BatchQueue::FreeSlot() {
  if (!holding_) return;
  // It is used by the batch `slots` later.
  const int64_t old = delivered_ - 1;
  missing_[old % slots_] = SizeOf(old + slots_);
  holding_ = false;
  changed_.notify_all();
}

void BatchQueue::GiveBack() {
  const std::lock_guard<std::mutex> lock(mutex_);
  FreeSlot();
}

bool BatchQueue::IsReady() const {
  return stopped_ || delivered_ >= batches_ ||
         missing_[delivered_ % slots_] == 0;
}

bool BatchQueue::WaitFor(double seconds) {
  std::unique_lock<std::mutex> lock(mutex_);
  FreeSlot();
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                           [&] { return IsReady(); });
}

absl::StatusOr<std::optional<BatchQueue::Batch>> BatchQueue::Next() {
  std::unique_lock<std::mutex> lock(mutex_);
  FreeSlot();
  const int64_t batch = delivered_;
  if (batch >= batches_) return std::optional<Batch>();
  changed_.wait(lock, [&] { return IsReady(); });
  if (!status_.ok()) return status_;
  if (stopped_) return std::optional<Batch>();
  ++delivered_;
  holding_ = true;
  return std::optional<Batch>(
      Batch{BeginOf(batch), SizeOf(batch), static_cast<int>(batch % slots_)});
}

void BatchQueue::Fail(const absl::Status& status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (status_.ok()) status_ = status;
  stopped_ = true;
  changed_.notify_all();
}

namespace {

// Several, so that some read files while the engines work for the others. They
// wait by spinning: one more would take a core from those that decode.
constexpr int kHardwareThreads = 3;
constexpr int kGpuThreads = 2;
constexpr int kMostThreads = 64;

absl::StatusOr<int> ThreadsOf(const std::string& value) {
  int threads = 0;
  if (absl::SimpleAtoi(value, &threads) && threads >= 1 &&
      threads <= kMostThreads) {
    return threads;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "nvjpeg_threads=", value, " is not possible; use 1 to ", kMostThreads));
}

}  // namespace

absl::StatusOr<GpuLoaderOptions> GpuLoaderOptionsOf(
    int workers, const std::map<std::string, std::string>& settings) {
  GpuLoaderOptions options;
  options.workers = std::max(0, workers);
  // Without the setting, use what is available.
  std::string nvjpeg = "auto";
  int threads = 0;
  for (const auto& [name, value] : settings) {
    if (name == "nvjpeg_threads") {
      ASSIGN_OR_RETURN(threads, ThreadsOf(value));
    } else if (name == "nvjpeg") {
      nvjpeg = value;
    } else if (name == "jpeg_index" && (value == "true" || value == "false")) {
      options.jpeg_index = value == "true";
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("cuda knows no setting ", name, "=", value,
                       "; there are nvjpeg, nvjpeg_threads, and "
                       "jpeg_index=true|false"));
    }
  }
  if (options.jpeg_index) {
    if (nvjpeg == "auto" || nvjpeg == "off") return options;
    return absl::InvalidArgumentError(
        absl::StrCat("nvjpeg=", nvjpeg,
                     ": with jpeg_index=true nvJPEG decodes nothing; leave one "
                     "of the two out"));
  }
  options.nvjpeg_optional = settings.count("nvjpeg") == 0;
  if (nvjpeg == "off") return options;
  // Its kernels are no faster than two cores, and keep two cores waiting.
  if (nvjpeg == "auto") nvjpeg = "hardware";
  const bool both = nvjpeg == "both";
  if (!both && nvjpeg != "hardware" && nvjpeg != "gpu") {
    return absl::InvalidArgumentError(
        absl::StrCat("nvjpeg=", nvjpeg,
                     " is not possible; use auto, hardware, gpu, both or off"));
  }
  if (both || nvjpeg == "hardware") {
    options.hardware_threads = threads > 0 ? threads : kHardwareThreads;
  }
  if (both || nvjpeg == "gpu") {
    options.gpu_threads = threads > 0 ? threads : kGpuThreads;
  }
  return options;
}

absl::StatusOr<std::vector<int>> DecodeInParts(int count,
                                               const DecodePart& decode) {
  std::vector<int> refused;
  // First and count of the parts to try, the next one last.
  std::vector<std::pair<int, int>> parts = {{0, count}};
  while (!parts.empty()) {
    const auto [first, size] = parts.back();
    parts.pop_back();
    if (size == 0) continue;
    const absl::Status decoded = decode(first, size);
    if (decoded.ok()) continue;
    if (!absl::IsDataLoss(decoded) && !absl::IsResourceExhausted(decoded)) {
      return decoded;
    }
    if (size == 1) {
      refused.push_back(first);
      continue;
    }
    const int half = size / 2;
    parts.push_back({first + half, size - half});
    parts.push_back({first, half});
  }
  return refused;
}

namespace {

int Byte(absl::string_view bytes, size_t at) {
  return static_cast<uint8_t>(bytes[at]);
}
int Word(absl::string_view bytes, size_t at) {
  return Byte(bytes, at) << 8 | Byte(bytes, at + 1);
}

// C0 to CF except tables (C4), an extension (C8) and arithmetic coding (CC).
bool IsFrame(int marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 &&
         marker != 0xCC;
}

// Reads a frame header, which starts with its length.
std::optional<JpegHead> ReadFrame(absl::string_view frame, int marker) {
  if (frame.size() < 8) return std::nullopt;
  JpegHead head;
  head.baseline = marker == 0xC0 && Byte(frame, 2) == 8;
  head.height = Word(frame, 3);
  head.width = Word(frame, 5);
  head.components = Byte(frame, 7);
  if (frame.size() < 8 + 3u * head.components) return std::nullopt;
  if (head.components < 2) return head;
  const int first = Byte(frame, 9);
  const int second = Byte(frame, 12);
  if ((second >> 4) == 0 || (second & 15) == 0) return std::nullopt;
  head.across = (first >> 4) / (second >> 4);
  head.down = (first & 15) / (second & 15);
  return head;
}

}  // namespace

std::optional<JpegHead> ReadJpegHead(absl::string_view bytes) {
  if (bytes.size() < 4 || Word(bytes, 0) != 0xFFD8) return std::nullopt;
  size_t at = 2;
  while (at + 4 <= bytes.size()) {
    if (Byte(bytes, at) != 0xFF) return std::nullopt;
    const int marker = Byte(bytes, at + 1);
    // Any number of FF bytes may precede a marker.
    if (marker == 0xFF) {
      ++at;
      continue;
    }
    if (IsFrame(marker)) return ReadFrame(bytes.substr(at + 2), marker);
    // Pixel data before a frame header.
    if (marker == 0xDA) return std::nullopt;
    at += 2 + static_cast<size_t>(Word(bytes, at + 2));
  }
  return std::nullopt;
}

bool EngineDecodes(const JpegHead& head) {
  return head.baseline && head.height > 0 && head.width > 0 &&
         (head.components == 1 || head.components == 3) && head.across <= 2 &&
         head.down <= 2 && head.across >= 1 && head.down >= 1;
}

}  // namespace feedrate
