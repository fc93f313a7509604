#include "lib/loader/mixture/dataset_stream.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/loader/source.h"
#include "lib/media/image.h"
#include "lib/media/image_file.h"
#include "lib/media/parallel.h"
#include "lib/ops/params.h"

namespace feedrate {

DatasetStream::DatasetStream(MixtureSource source,
                             const DatasetStreamOptions& options,
                             OnFault on_fault)
    : source_(std::move(source)),
      options_(options),
      on_fault_(std::move(on_fault)),
      order_(source_.shards, options.order) {}

void DatasetStream::Opening::Run() {
  if (found_.ok()) result_ = Episode::Open(place_, options_, seed_);
}

std::shared_ptr<DatasetStream::Opening> DatasetStream::Begin() {
  const size_t open = line_.size() + (current_ != nullptr ? 1 : 0);
  if (!end_.ok() || open >= static_cast<size_t>(options_.ahead)) return nullptr;
  auto opening = std::make_shared<Opening>();
  const absl::StatusOr<EpisodePlace> place = order_.Next();
  if (place.ok()) {
    opening->place_ = *place;
    opening->options_ = options_.episode;
    opening->options_.source = &source_;
    opening->seed_ = MixSeeds(options_.seed, static_cast<uint64_t>(planned_++));
  } else {
    opening->found_ = place.status();
  }
  line_.push_back(opening);
  return opening;
}

void DatasetStream::Opened(const std::shared_ptr<Opening>& opening) {
  opening->is_open_ = true;
  if (opening->found_.ok()) {
    largest_bytes_ = std::max(largest_bytes_, opening->place_.bytes);
  }
}

bool DatasetStream::ready() const {
  return !end_.ok() || current_ != nullptr ||
         (!line_.empty() && line_.front()->is_open_);
}

int64_t DatasetStream::left_in_episode() const {
  if (current_ == nullptr) return 0;
  return static_cast<int64_t>(current_->pairs().size() - next_pair_);
}

StreamPlace DatasetStream::place() const {
  if (current_ != nullptr) {
    return {begun_ - 1, static_cast<int64_t>(next_pair_)};
  }
  return {begun_, static_cast<int64_t>(first_pair_)};
}

absl::Status DatasetStream::StartAt(const StreamPlace& place) {
  ASSIGN_OR_RETURN(planned_, order_.Skip(place.episode));
  begun_ = place.episode;
  first_pair_ = static_cast<size_t>(place.pair);
  // An earlier pass had a usable episode, or it would have ended there.
  last_good_pass_ = order_.pass() - 1;
  return absl::OkStatus();
}

absl::Status DatasetStream::PassOver(const std::string& place,
                                     const absl::Status& status) {
  const absl::Status named = absl::Status(
      status.code(),
      absl::StrCat("data set \"", source_.name, "\": ", status.message()));
  // No more data can follow: end in any mode.
  if (absl::IsFailedPrecondition(status) || options_.fail) end_ = named;
  if (end_.ok()) on_fault_(place, std::string(status.message()));
  return end_;
}

absl::StatusOr<bool> DatasetStream::Settle() {
  RETURN_IF_ERROR(end_);
  if (current_ != nullptr) return true;
  const std::shared_ptr<Opening> first = std::move(line_.front());
  line_.pop_front();
  ++begun_;
  if (!first->found_.ok()) {
    RETURN_IF_ERROR(PassOver(source_.name, first->found_));
    return false;
  }
  const int64_t pass = first->place_.pass;
  if (!first->result_.ok()) {
    RETURN_IF_ERROR(
        PassOver(first->place_.shard->path(), first->result_.status()));
    if (pass <= last_good_pass_ + 1) return false;
    end_ = absl::FailedPreconditionError(
        absl::StrCat("data set \"", source_.name,
                     "\": none of its episodes can be used; the ",
                     "last: ", first->result_.status().message()));
    return end_;
  }
  last_good_pass_ = std::max(last_good_pass_, pass);
  current_ = *std::move(first->result_);
  next_pair_ = first_pair_;
  first_pair_ = 0;
  if (next_pair_ >= current_->pairs().size()) {
    end_ = absl::DataLossError(absl::StrCat(
        "data set \"", source_.name, "\": ", current_->name(), ": has ",
        current_->pairs().size(), " pairs, and the interrupted mixture had ",
        next_pair_, " of them; use the same data"));
    return end_;
  }
  return true;
}

void DatasetStream::Close() {
  end_ = absl::CancelledError("closed");
  line_.clear();
  current_ = nullptr;
  order_.Close();
}

PlannedSample DatasetStream::Next() {
  PlannedSample sample;
  sample.step = current_->pairs()[next_pair_++];
  sample.next_pair = next_pair_;
  const bool is_last = next_pair_ == current_->pairs().size();
  sample.episode = is_last ? std::move(current_) : current_;
  if (is_last) current_ = nullptr;
  return sample;
}

MixOrder::MixOrder(const std::vector<double>& weights, int block, int prime,
                   uint64_t seed)
    : rising_(weights), block_(block), prime_(prime), seed_(seed) {
  std::partial_sum(rising_.begin(), rising_.end(), rising_.begin());
  const double total = rising_.back();
  for (double& share : rising_) share /= total;
}

int MixOrder::DatasetAt(int64_t position) const {
  const auto datasets = static_cast<int64_t>(rising_.size());
  if (position < prime_ * datasets) {
    return static_cast<int>(position / prime_);
  }
  const int64_t block = (position - prime_ * datasets) / block_;
  const double drawn =
      Random(MixSeeds(seed_, static_cast<uint64_t>(block))).Unit();
  const auto found = std::upper_bound(rising_.begin(), rising_.end(), drawn);
  // Rounding may leave the last sum below 1.
  return static_cast<int>(
      std::min<int64_t>(found - rising_.begin(), datasets - 1));
}

int64_t MixOrder::BlockEnd(int64_t position) const {
  const int64_t primed = prime_ * static_cast<int64_t>(rising_.size());
  if (position < primed) return (position / prime_ + 1) * prime_;
  return primed + ((position - primed) / block_ + 1) * block_;
}

namespace {

// Differs from every data set number used in seeds.
constexpr uint64_t kMixing = ~uint64_t{0};

}  // namespace

DatasetStreamOptions PlannedStream(const MixtureSpec& spec, uint64_t seed,
                                   size_t source) {
  DatasetStreamOptions options;
  options.order.read_interleave = spec.read_interleave;
  options.order.shuffle_buffer = spec.shuffle_buffer;
  options.order.seed = MixSeeds(seed, 2 * source);
  options.episode.samples = spec.samples_per_episode;
  options.episode.pair_offset = spec.pair_offset;
  options.seed = MixSeeds(seed, 2 * source + 1);
  return options;
}

MixOrder PlannedOrder(const std::vector<double>& weights,
                      const MixtureSpec& spec, uint64_t seed) {
  return {weights, spec.mix_block_length, spec.prime_each_dataset_samples,
          MixSeeds(seed, kMixing)};
}

namespace {

// Writes zeros around `inner` rows and columns of a frame.
struct Border {
  int before = 0;
  int inner = 0;
};

Border PlaceOf(int size, int wanted, int* from) {
  Border border;
  border.inner = std::min(size, wanted);
  border.before = (wanted - border.inner) / 2;
  *from = (size - border.inner) / 2;
  return border;
}

void ClearAround(const Border& rows, const Border& columns,
                 const FrameShape& shape, uint8_t* out) {
  const size_t stride = size_t{3} * shape.width;
  const int rows_after = shape.height - rows.before - rows.inner;
  std::memset(out, 0, stride * rows.before);
  std::memset(out + stride * (rows.before + rows.inner), 0,
              stride * rows_after);
  if (columns.inner == shape.width) return;
  const size_t left = size_t{3} * columns.before;
  const size_t right = stride - left - size_t{3} * columns.inner;
  for (int y = rows.before; y < rows.before + rows.inner; ++y) {
    uint8_t* const row = out + stride * y;
    std::memset(row, 0, left);
    std::memset(row + stride - right, 0, right);
  }
}

}  // namespace

template <typename Jpeg>
auto FrameDecoderOf<Jpeg>::Open(absl::string_view file)
    -> absl::StatusOr<Opened> {
  Opened opened;
  if (IsVideoFrame(file)) {
    ASSIGN_OR_RETURN(opened.whole, videos_.Decode(file));
  } else if (IsPng(file)) {
    ASSIGN_OR_RETURN(const ImageInfo info, ReadPngHeader(file));
    whole_.resize(size_t{3} * info.height * info.width);
    RETURN_IF_ERROR(DecodePng(file, info.height, info.width, whole_.data()));
    opened.whole = {whole_.data(), info.height, info.width, 3};
  } else {
    ASSIGN_OR_RETURN(opened.info, decoder_.Open(file));
    opened.is_jpeg = true;
    return opened;
  }
  opened.info.height = opened.whole.height;
  opened.info.width = opened.whole.width;
  return opened;
}

template <typename Jpeg>
absl::StatusOr<ImageView> FrameDecoderOf<Jpeg>::DecodeWhole(
    absl::string_view file) {
  if (resize_.height > 0) {
    const FrameShape shape{resize_.height, resize_.width};
    resized_.resize(shape.bytes());
    RETURN_IF_ERROR(Decode(file, shape, resized_.data()));
    return ImageView{resized_.data(), shape.height, shape.width, 3};
  }
  ASSIGN_OR_RETURN(const Opened opened, Open(file));
  if (!opened.is_jpeg) return opened.whole;
  const ImageInfo& info = opened.info;
  const size_t stride = size_t{3} * info.width;
  whole_.resize(stride * info.height);
  RETURN_IF_ERROR(decoder_.Decode({0, 0, info.width, info.height}, {},
                                  whole_.data(), stride));
  return ImageView{whole_.data(), info.height, info.width, 3};
}

template <typename Jpeg>
absl::Status FrameDecoderOf<Jpeg>::Decode(absl::string_view file,
                                          const FrameShape& shape,
                                          uint8_t* out) {
  ASSIGN_OR_RETURN(const Opened opened, Open(file));
  const ImageInfo& info = opened.info;
  const bool resizes = resize_.height > 0;
  ResampleWindow kept;
  const Border rows =
      PlaceOf(resizes ? resize_.height : info.height, shape.height, &kept.y);
  const Border columns =
      PlaceOf(resizes ? resize_.width : info.width, shape.width, &kept.x);
  kept.height = rows.inner;
  kept.width = columns.inner;
  ResampleWindow needed = kept;
  if (resizes) {
    if (resampler_ == nullptr || !(resampler_->window() == kept)) {
      resampler_ = std::make_unique<Resampler>(resize_.height, resize_.width,
                                               resize_.filter, kept);
    }
    needed = resampler_->Plan(info.height, info.width);
  }
  const size_t stride = size_t{3} * shape.width;
  uint8_t* const inner =
      out + stride * rows.before + size_t{3} * columns.before;
  const uint8_t* from = nullptr;
  size_t from_stride = size_t{3} * info.width;
  if (!opened.is_jpeg) {
    from = opened.whole.row(needed.y) + size_t{3} * needed.x;
  } else {
    const JpegRegion region{needed.x, needed.y, needed.width, needed.height};
    if (!resizes) {
      RETURN_IF_ERROR(decoder_.Decode(region, {}, inner, stride));
    } else {
      from_stride = size_t{3} * needed.width;
      whole_.resize(from_stride * needed.height);
      RETURN_IF_ERROR(decoder_.Decode(region, {}, whole_.data(), from_stride));
      from = whole_.data();
    }
  }
  if (resizes) {
    resampler_->Run(from, from_stride, inner, stride);
  } else if (from != nullptr) {
    for (int y = 0; y < needed.height; ++y) {
      std::memcpy(inner + stride * y, from + from_stride * y,
                  size_t{3} * needed.width);
    }
  }
  ClearAround(rows, columns, shape, out);
  return absl::OkStatus();
}

template class FrameDecoderOf<JpegRegionDecoder>;
template class FrameDecoderOf<JpegTurboRegion>;

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
        sources[i], how, [](const std::string&, const std::string&) {});
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

// Seconds to decode all frames once: the best of `rounds`.
template <typename Jpeg>
double BestSeconds(const Frames& frames, const FrameShape& shape, int count,
                   int rounds) {
  struct Thread {
    FrameDecoderOf<Jpeg> decoder;
    std::vector<uint8_t> pixels;
  };
  std::vector<Thread> threads(count);
  for (Thread& thread : threads) thread.pixels.resize(shape.bytes());
  double best_s = 0;
  for (int round = 0; round < rounds; ++round) {
    std::atomic<size_t> next{0};
    const Clock::time_point begin = Clock::now();
    ParallelFor(count, count, [&](int64_t i) {
      Thread& thread = threads[i];
      for (size_t at; (at = next.fetch_add(1)) < frames.jpegs.size();) {
        // A frame that cannot be decoded takes time in a loader too.
        thread.decoder.Decode(frames.jpegs[at], shape, thread.pixels.data())
            .IgnoreError();
      }
    });
    const std::chrono::duration<double> took = Clock::now() - begin;
    best_s = round == 0 ? took.count() : std::min(best_s, took.count());
  }
  return best_s;
}

}  // namespace

absl::StatusOr<double> MixtureDecodeLimit(
    const std::vector<MixtureSource>& sources, const MixtureSpec& spec,
    const MixtureLimitOptions& options) {
  ASSIGN_OR_RETURN(const Frames frames, DrawFrames(sources, spec, options));
  const FrameShape shape = {spec.frame_height, spec.frame_width};
  const int count = options.threads > 0 ? options.threads : UsableProcessors();
  const double best_s = std::min(
      BestSeconds<JpegRegionDecoder>(frames, shape, count, options.rounds),
      // One round is enough to notice that libjpeg-turbo is faster.
      BestSeconds<JpegTurboRegion>(frames, shape, count, 1));
  return best_s > 0 ? static_cast<double>(frames.samples) / best_s : 0;
}

}  // namespace feedrate
