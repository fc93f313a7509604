#include "lib/adapters/ffmpeg/ffmpeg_adapter.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/adapters/native/loader_job.h"
#include "lib/base/status_macros.h"
#include "lib/loader/clips/clip_set.h"
#include "lib/loader/loader.h"
#include "lib/loader/source.h"
#include "lib/media/video/clip_reader.h"
#include "lib/records/worker.pb.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

class ClipDecoder : public PreparedTransform {
 public:
  ClipDecoder(int threads, const std::vector<SourceFile>& files)
      : threads_(threads), files_(files) {}

  // There is nothing to draw.
  void Seed(uint64_t seed) override {}

  void Run(int64_t item) override {
    const absl::Status decoded = Decode(files_[item]);
    if (decoded.ok()) return;
    throw std::runtime_error(
        absl::StrCat(files_[item].path, ": ", decoded.message()));
  }

  absl::StatusOr<Output> RunForOutput(int64_t item) override {
    Run(item);
    Output output;
    output.data = rgb_.data();
    output.bytes = static_cast<int64_t>(rgb_.size());
    output.dtype = "uint8";
    output.layout = "THWC";
    output.shape = {static_cast<int64_t>(files_[item].frames.size()), height_,
                    width_, 3};
    return output;
  }

 private:
  absl::Status Decode(const SourceFile& file) {
    ASSIGN_OR_RETURN(const std::unique_ptr<ClipReader> reader,
                     ClipReader::Open(file.path, threads_));
    height_ = reader->info().height;
    width_ = reader->info().width;
    // Reuses the memory of the last clip.
    rgb_.resize(file.frames.size() * reader->FrameBytes());
    return reader->Read(file.frames, rgb_.data());
  }

  const int threads_;
  const std::vector<SourceFile>& files_;
  std::vector<uint8_t> rgb_;
  int height_ = 0;
  int width_ = 0;
};

absl::Status CheckSpec(const LoaderSpec& spec) {
  if (spec.channels() != 3) {
    return absl::InvalidArgumentError("clips have three channels");
  }
  if (!spec.batch_transform().empty() || !spec.ablation().empty() ||
      spec.scope() == kCopyScope) {
    return absl::InvalidArgumentError(
        "the loader of clips has no batch transforms, ablations or copies to a "
        "device");
  }
  return absl::OkStatus();
}

// A clip of a corpus, which has its frames and no others.
class DecodedClip : public ClipReader {
 public:
  explicit DecodedClip(const ItemView& clip) : clip_(clip) {
    info_ = {clip.height, clip.width, clip.frames, ""};
  }

  const VideoInfo& info() const override { return info_; }
  absl::StatusOr<std::vector<double>> Times() override {
    return absl::UnimplementedError("decoded clips have no times");
  }
  absl::Status Read(const std::vector<int64_t>& frames, uint8_t* rgb) override {
    return absl::UnimplementedError("clips are read frame by frame");
  }
  absl::Status ReadEach(const std::vector<int64_t>& frames,
                        const FrameWindow& window,
                        const TakeFrame& take) override {
    const int64_t stride = int64_t{3} * clip_.width;
    rgb_.resize(size_t{3} * window.height * window.width);
    for (size_t i = 0; i < frames.size(); ++i) {
      const uint8_t* row = static_cast<const uint8_t*>(clip_.data) +
                           (frames[i] * clip_.height + window.y) * stride +
                           int64_t{3} * window.x;
      uint8_t* out = rgb_.data();
      for (int y = 0; y < window.height; ++y, row += stride) {
        out = std::copy_n(row, 3 * window.width, out);
      }
      take(static_cast<int64_t>(i), 1, rgb_.data());
    }
    return absl::OkStatus();
  }

 private:
  const ItemView clip_;
  VideoInfo info_;
  std::vector<uint8_t> rgb_;
};

// The clips of a corpus by number.
class CorpusVideos : public Source {
 public:
  explicit CorpusVideos(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  std::string name(int64_t item) const override {
    return absl::StrCat("item ", item);
  }
  bool in_memory() const override { return true; }

 private:
  const int64_t size_;
};

absl::StatusOr<std::unique_ptr<ClipSet>> ClipsOf(const LoaderInput& input,
                                                 const Recipe& recipe) {
  ClipSetOptions options;
  options.recipe = recipe;
  if (const Corpus* const corpus = input.corpus) {
    for (int64_t i = 0; i < corpus->size(); ++i) {
      std::vector<int64_t>& frames = options.frames.emplace_back();
      for (int j = 0; j < corpus->item(i).frames; ++j) frames.push_back(j);
    }
    return ClipSet::Open(
        std::make_unique<CorpusVideos>(corpus->size()),
        [corpus](int64_t video, const char*, absl::string_view)
            -> absl::StatusOr<std::unique_ptr<ClipReader>> {
          return std::make_unique<DecodedClip>(corpus->item(video));
        },
        options);
  }
  std::vector<ListedFile> files;
  for (const SourceFile& file : input.files) {
    files.push_back({file.path, file.bytes});
    options.frames.push_back(file.frames);
  }
  return ClipSet::Open(
      ListSource(std::move(files)),
      [](int64_t, const char* path, absl::string_view) {
        return ClipReader::Open(path, /*threads=*/1);
      },
      options);
}

}  // namespace

std::string FfmpegAdapter::version() const { return ClipReaderVersion(); }

absl::StatusOr<std::unique_ptr<PreparedTransform>> FfmpegAdapter::Prepare(
    const PrepareCommand& spec, const Corpus& corpus) {
  return absl::UnimplementedError("ffmpeg is a decoder; it has no transforms");
}

absl::StatusOr<std::unique_ptr<PreparedTransform>>
FfmpegAdapter::PrepareDecoder(const PrepareCommand& spec,
                              const std::vector<SourceFile>& files) {
  for (const SourceFile& file : files) {
    if (!file.frames.empty()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(file.path, ": its clip has no frames"));
  }
  threads_ = spec.decode().threads();
  return std::make_unique<ClipDecoder>(threads_, files);
}

absl::StatusOr<std::unique_ptr<PreparedLoader>> FfmpegAdapter::PrepareLoader(
    const PrepareCommand& spec, const LoaderInput& input) {
  RETURN_IF_ERROR(CheckSpec(spec.loader()));
  threads_ = spec.loader().workers();
  ASSIGN_OR_RETURN(LoaderOptions options, LoaderOptionsOf(spec));
  // One worker at least decodes beside the consumer, and the consumer's batch
  // comes on top of those ahead of it.
  options.workers = std::max(1, options.workers);
  ++options.buffers;
  ASSIGN_OR_RETURN(std::unique_ptr<ClipSet> clips,
                   ClipsOf(input, options.recipe));
  ASSIGN_OR_RETURN(
      std::unique_ptr<Loader> loader,
      Loader::Create(std::unique_ptr<MadeSource>(std::move(clips)), options));
  return PrepareLoaderOf(std::move(loader), spec.loader());
}

}  // namespace feedrate
