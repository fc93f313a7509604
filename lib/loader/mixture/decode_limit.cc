#include "lib/loader/mixture/decode_limit.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/base/status_macros.h"
#include "lib/loader/mixture/dataset_stream.h"
#include "lib/loader/mixture/frame_decoder.h"
#include "lib/loader/mixture/mix_order.h"
#include "lib/loader/mixture/mixture_plan.h"
#include "lib/media/parallel.h"

namespace feedrate {
namespace {

using Clock = std::chrono::steady_clock;

absl::Status Settle(DatasetStream* stream) {
  for (;;) {
    if (const auto opening = stream->Begin()) {
      opening->Run();
      stream->Opened(opening);
    }
    ASSIGN_OR_RETURN(const bool settled, stream->Settle());
    if (settled) return absl::OkStatus();
  }
}

// The distinct frames of some samples of a mixture.
struct Frames {
  std::vector<std::string> jpegs;
  int64_t samples = 0;
};

absl::StatusOr<Frames> DrawFrames(const std::vector<MixtureSource>& sources,
                                  const MixtureSpec& spec,
                                  const MixtureLimitOptions& options) {
  std::vector<std::unique_ptr<DatasetStream>> streams;
  std::vector<double> weights;
  for (size_t i = 0; i < sources.size(); ++i) {
    DatasetStreamOptions how = PlannedStream(spec, options.seed, i);
    how.fail = false;
    auto stream = std::make_unique<DatasetStream>(
        sources[i].name, sources[i].shards, how,
        [](const std::string&, const std::string&) {});
    if (!Settle(stream.get()).ok()) continue;
    streams.push_back(std::move(stream));
    weights.push_back(sources[i].weight);
  }
  if (streams.empty()) {
    return absl::FailedPreconditionError("no data set has a usable episode");
  }
  const MixOrder order = PlannedOrder(weights, spec, options.seed);
  Frames frames;
  std::set<std::tuple<const void*, int64_t, int64_t, int>> seen;
  for (; frames.samples < options.samples; ++frames.samples) {
    DatasetStream* const stream =
        streams[order.DatasetAt(frames.samples)].get();
    RETURN_IF_ERROR(Settle(stream));
    const PlannedSample sample = stream->Next();
    const EpisodePlace& place = sample.episode->place();
    for (const int step : {sample.step, sample.step + spec.pair_offset}) {
      if (!seen.insert({place.shard, place.record, place.pass, step}).second)
        continue;
      frames.jpegs.emplace_back(sample.episode->frames()[step]);
    }
  }
  return frames;
}

}  // namespace

absl::StatusOr<double> MixtureDecodeLimit(
    const std::vector<MixtureSource>& sources, const MixtureSpec& spec,
    const MixtureLimitOptions& options) {
  ASSIGN_OR_RETURN(const Frames frames, DrawFrames(sources, spec, options));
  const FrameShape shape = {spec.frame_height, spec.frame_width};
  struct Thread {
    FrameDecoder decoder;
    std::vector<uint8_t> pixels;
  };
  const int count = options.threads > 0 ? options.threads : UsableProcessors();
  std::vector<Thread> threads(count);
  for (Thread& thread : threads) thread.pixels.resize(shape.bytes());
  double best_s = 0;
  for (int round = 0; round < options.rounds; ++round) {
    std::atomic<size_t> next{0};
    const Clock::time_point begin = Clock::now();
    ParallelFor(count, count, [&](int64_t i) {
      Thread& thread = threads[i];
      for (size_t at; (at = next.fetch_add(1)) < frames.jpegs.size();) {
        // A frame that cannot be decoded costs a loader its time as well.
        thread.decoder.Decode(frames.jpegs[at], shape, thread.pixels.data())
            .IgnoreError();
      }
    });
    const std::chrono::duration<double> took = Clock::now() - begin;
    best_s = round == 0 ? took.count() : std::min(best_s, took.count());
  }
  return best_s > 0 ? static_cast<double>(frames.samples) / best_s : 0;
}

}  // namespace feedrate
