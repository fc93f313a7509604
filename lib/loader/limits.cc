#include "lib/loader/limits.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/files.h"
#include "lib/media/image.h"
#include "lib/media/jpeg/region.h"
#include "lib/media/parallel.h"

namespace feedrate {
namespace {

constexpr int kRounds = 3;
constexpr size_t kMostFiles = 256;

using Clock = std::chrono::steady_clock;

int Threads(const LimitOptions& options) {
  return options.threads > 0 ? options.threads : UsableProcessors();
}

// Items per second of the best round, where `work(thread, i)` does item i.
// Every thread continues until time is up, so that all are always busy.
template <typename Work>
double BestRate(const LimitOptions& options, const Work& work) {
  const int threads = Threads(options);
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<int64_t> next{0};
    const auto begin = Clock::now();
    const auto end =
        begin + std::chrono::duration<double>(options.seconds / kRounds);
    ParallelFor(threads, threads, [&](int64_t thread) {
      do {
        work(static_cast<int>(thread), next.fetch_add(1));
      } while (Clock::now() < end);
    });
    const std::chrono::duration<double> elapsed = Clock::now() - begin;
    best = std::max(best, static_cast<double>(next.load()) / elapsed.count());
  }
  return best;
}

struct EncodedItem {
  std::string bytes;
  JpegRegion region;
};

// Start and length of a crop along one side. Images smaller than the crop
// shorten it.
std::pair<int, int> Place(int size, const LimitOptions& options,
                          Random* random) {
  const int length = std::min(size, options.crop);
  const int room = size - length;
  if (options.centered) return {room / 2, length};
  return {static_cast<int>(random->Below(room + 1)), length};
}

// Returns false for files that cannot be decoded.
bool LoadItem(const std::string& path, const LimitOptions& options,
              Random* random, EncodedItem* item) {
  absl::StatusOr<std::string> bytes = ReadFile(path);
  if (!bytes.ok()) return false;
  item->bytes = *std::move(bytes);
  JpegTurboRegion decoder;
  const absl::StatusOr<ImageInfo> info = decoder.Open(item->bytes);
  if (!info.ok()) return false;
  JpegRegion& region = item->region;
  if (options.resized.has_value()) {
    const DrawnWindow window =
        DrawResizedWindow(*options.resized, info->height, info->width, random);
    region.x = window.x;
    region.y = window.y;
    region.width = window.width;
    region.height = window.height;
  } else {
    std::tie(region.x, region.width) = Place(info->width, options, random);
    std::tie(region.y, region.height) = Place(info->height, options, random);
  }
  std::vector<uint8_t> rgb(size_t{3} * region.width * region.height);
  return decoder.Decode(region, {}, rgb.data(), size_t{3} * region.width).ok();
}

std::vector<EncodedItem> LoadItems(const std::vector<std::string>& paths,
                                   const LimitOptions& options) {
  Random random(options.seed);
  std::vector<EncodedItem> items;
  const size_t count = std::min(paths.size(), kMostFiles);
  for (size_t i = 0; i < count; ++i) {
    EncodedItem item;
    if (LoadItem(paths[i * paths.size() / count], options, &random, &item)) {
      items.push_back(std::move(item));
    }
  }
  return items;
}

// Items per second of one decoder on all threads.
template <typename Decoder>
double DecodeRate(const std::vector<EncodedItem>& items,
                  const LimitOptions& options) {
  struct Thread {
    Decoder decoder;
    std::vector<uint8_t> rgb;
  };
  std::vector<Thread> threads(Threads(options));
  size_t most = 0;
  for (const EncodedItem& item : items) {
    most = std::max(most, size_t{3} * item.region.width * item.region.height);
  }
  for (Thread& thread : threads) thread.rgb.resize(most);
  return BestRate(options, [&](int number, int64_t i) {
    Thread& thread = threads[number];
    const EncodedItem& item = items[i % items.size()];
    // It could be decoded when it was loaded, and has not changed.
    thread.decoder.Open(item.bytes).IgnoreError();
    thread.decoder
        .Decode(item.region, {}, thread.rgb.data(),
                size_t{3} * item.region.width)
        .IgnoreError();
  });
}

}  // namespace

absl::StatusOr<double> DecodeLimit(const std::vector<std::string>& paths,
                                   const LimitOptions& options) {
  const std::vector<EncodedItem> items = LoadItems(paths, options);
  if (items.empty()) {
    return absl::NotFoundError(absl::StrCat("none of ", paths.size(),
                                            " files is a JPEG to decode: the ",
                                            "limit cannot be measured"));
  }
  // Neither is always the faster one: it depends on the files and the machine.
  return std::max(DecodeRate<JpegRegionDecoder>(items, options),
                  DecodeRate<JpegTurboRegion>(items, options));
}

double BatchCopyLimit(int64_t item_bytes, int batch_size,
                      const LimitOptions& options) {
  if (item_bytes <= 0 || batch_size <= 0) return 0;
  const size_t size = static_cast<size_t>(item_bytes);
  // Each thread has places of its own in the batch: thread t has t, t + threads
  // and so on.
  const int64_t threads = Threads(options);
  const int64_t places = (batch_size + threads - 1) / threads * threads;
  // Both buffers are written, so that no page is the kernel's zero page.
  const std::vector<char> from(size * places, 1);
  std::vector<char> to(size * places, 2);
  return BestRate(options, [&](int thread, int64_t i) {
    const size_t at = (i % places / threads * threads + thread) * size;
    std::memcpy(&to[at], &from[at], size);
  });
}

}  // namespace feedrate
