#include "lib/media/video/load_clips.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/hash/sha256.h"
#include "lib/media/corpus.h"
#include "lib/media/parallel.h"
#include "lib/media/synthetic.h"
#include "lib/media/video/clip_reader.h"
#include "lib/media/video/demux.h"
#include "lib/media/video/frame_rgb.h"
#include "lib/media/video/synthetic_video.h"

namespace feedrate {
namespace {

// Decoded clips that wait for their place in the corpus: some 100 MB.
constexpr int64_t kBatch = 32;

// A video on its way into the set.
struct Candidate {
  std::string path;
  std::string name;
  ClipFile file;
  absl::Status status;
  std::vector<uint8_t> rgb;
  uint8_t digest[Sha256::kDigestSize] = {};
};

bool HasEnding(absl::string_view path,
               const std::vector<std::string>& endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [path](const std::string& ending) {
                       return absl::EndsWithIgnoreCase(path, ending);
                     });
}

absl::StatusOr<std::string> MakeSynthetic(const ClipRequest& request) {
  ASSIGN_OR_RETURN(const SyntheticVideoSpec spec,
                   ParseSyntheticVideo(request.files.dataset));
  const int64_t count = spec.n > 0 ? spec.n : request.files.num_items;
  if (count == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(request.files.dataset, ": how many? Set num_items, or ",
                     "write ", request.files.dataset, ",n=50"));
  }
  // Encoders may change with their version.
  std::string version = ClipReaderVersion();
  std::replace(version.begin(), version.end(), '/', '_');
  std::string folder =
      JoinPath(request.cache_folder,
               absl::StrFormat("synthetic_video/%s%s_%d_%d_ffmpeg%s",
                               spec.ids ? "ids_" : "", spec.container,
                               spec.seed, count, version));
  RETURN_IF_ERROR(WriteSyntheticVideos(spec, count, folder));
  return folder;
}

absl::StatusOr<std::vector<Candidate>> FindFiles(const ClipRequest& request) {
  std::string folder = request.files.dataset;
  if (IsSynthetic(folder)) {
    ASSIGN_OR_RETURN(folder, MakeSynthetic(request));
  }
  if (!IsFolder(folder)) {
    return absl::NotFoundError(absl::StrCat(
        folder,
        ": no such folder of videos; name a folder, or make videos with "
        "--dataset=synthetic:video"));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                   ListFiles(folder, "", /*recursive=*/true));
  const std::vector<std::string>& endings = request.files.extensions.empty()
                                                ? VideoEndings()
                                                : request.files.extensions;
  std::vector<Candidate> candidates;
  for (const std::string& path : paths) {
    if (!HasEnding(path, endings)) continue;
    Candidate& candidate = candidates.emplace_back();
    candidate.path = path;
    absl::string_view name = path;
    absl::ConsumePrefix(&name, folder);
    while (absl::ConsumePrefix(&name, "/")) {
    }
    candidate.name = std::string(name);
  }
  return candidates;
}

class Loader {
 public:
  Loader(const ClipRequest& request, std::vector<Candidate> candidates,
         CorpusWriter writer)
      : request_(request),
        candidates_(std::move(candidates)),
        writer_(std::move(writer)),
        memory_(request.files.memory_bytes > 0 ? request.files.memory_bytes
                                               : MemoryToUse()) {}

  absl::StatusOr<LoadedClips> Load() {
    while (Missing() > 0 && next_ < Found()) {
      const int64_t count = std::min({Missing(), Found() - next_, kBatch});
      ParallelFor(count, request_.files.threads, [&](int64_t i) {
        Candidate& candidate = candidates_[next_ + i];
        // The number decides the start of a consecutive clip, and must not
        // depend on broken files before it, so it is the number of the file.
        candidate.status = Decode(next_ + i, &candidate);
        Report();
      });
      for (int64_t i = 0; i < count; ++i) {
        RETURN_IF_ERROR(Keep(&candidates_[next_ + i]));
      }
      next_ += count;
    }
    if (!files_.empty()) return Finish();
    return absl::NotFoundError(absl::StrCat(
        request_.files.dataset, ": no video that can be read among ", Found(),
        " files",
        skipped_.empty()
            ? std::string()
            : absl::StrCat("; ", skipped_[0].name, ": ", skipped_[0].reason)));
  }

 private:
  int64_t Found() const { return static_cast<int64_t>(candidates_.size()); }
  int64_t Missing() const {
    const auto have = static_cast<int64_t>(files_.size());
    return request_.files.num_items > 0 ? request_.files.num_items - have
                                        : Found() - next_;
  }
  bool KeepsAnother() const {
    return request_.kept < 0 ||
           writer_.size() < std::max<int64_t>(1, request_.kept);
  }

  absl::Status Decode(int64_t number, Candidate* candidate) {
    std::error_code error;
    candidate->file.path =
        std::filesystem::absolute(candidate->path, error).string();
    if (!std::filesystem::is_regular_file(candidate->path, error)) {
      return absl::InvalidArgumentError("no plain file");
    }
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(candidate->path));
    ASSIGN_OR_RETURN(const std::unique_ptr<ClipReader> reader,
                     ClipReader::OpenBytes(bytes, 1));
    const VideoInfo& info = reader->info();
    candidate->file.bytes = static_cast<int64_t>(bytes.size());
    candidate->file.height = info.height;
    candidate->file.width = info.width;
    candidate->file.frames =
        ClipFrames(request_.rule, info.frames, request_.clip_length,
                   request_.seed, number);
    candidate->rgb.resize(request_.clip_length * reader->FrameBytes());
    RETURN_IF_ERROR(
        reader->Read(candidate->file.frames, candidate->rgb.data()));
    Sha256 hash;
    hash.Update(bytes.data(), bytes.size());
    hash.Finish(candidate->digest);
    return absl::OkStatus();
  }

  absl::Status Keep(Candidate* candidate) {
    if (!candidate->status.ok()) {
      skipped_.push_back(
          {candidate->name, std::string(candidate->status.message())});
      return absl::OkStatus();
    }
    AddToDigest(*candidate);
    if (KeepsAnother()) {
      const ItemSize size = {request_.clip_length, candidate->file.height,
                             candidate->file.width, 3};
      sizes_.push_back(CorpusBytesOf(size, DType::kUint8));
      RETURN_IF_ERROR(CheckMemory());
      RETURN_IF_ERROR(writer_.AddRoom({size}));
      RETURN_IF_ERROR(writer_.Write(writer_.size() - 1, candidate->rgb.data()));
    }
    candidate->rgb = {};
    bytes_ += candidate->file.bytes;
    files_.push_back(std::move(candidate->file));
    return absl::OkStatus();
  }

  // Assumes that all remaining clips are as large as the last one.
  absl::Status CheckMemory() const {
    std::vector<int64_t> sizes = sizes_;
    const int64_t wanted = request_.kept >= 0 ? request_.kept
                           : request_.files.num_items > 0
                               ? request_.files.num_items
                               : Found();
    while (static_cast<int64_t>(sizes.size()) < wanted) {
      sizes.push_back(sizes_.back());
    }
    return CheckFitsMemory(request_.files.dataset, sizes, memory_);
  }

  void AddToDigest(const Candidate& candidate) {
    const std::string size = absl::StrCat(candidate.file.bytes);
    all_.Update(candidate.name.c_str(), candidate.name.size() + 1);
    all_.Update(size.c_str(), size.size() + 1);
    all_.Update(candidate.digest, sizeof(candidate.digest));
  }

  void Report() {
    if (!request_.files.progress) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    const int64_t total = request_.files.num_items > 0
                              ? std::min(request_.files.num_items, Found())
                              : Found();
    request_.files.progress(std::min(++done_, total), total);
  }

  absl::StatusOr<LoadedClips> Finish() {
    char sha256[Sha256::kHexSize + 1];
    all_.FinishHex(sha256);
    ASSIGN_OR_RETURN(std::string id, DatasetId(request_.files.dataset));
    ASSIGN_OR_RETURN(Corpus corpus, std::move(writer_).Finish());
    const auto count = static_cast<int64_t>(files_.size());
    return LoadedClips{{std::move(corpus), std::move(id), count, bytes_, sha256,
                        std::move(skipped_)},
                       std::move(files_)};
  }

  const ClipRequest& request_;
  std::vector<Candidate> candidates_;
  CorpusWriter writer_;
  const int64_t memory_;
  int64_t next_ = 0;
  std::vector<ClipFile> files_;
  std::vector<int64_t> sizes_;
  std::vector<SkippedFile> skipped_;
  Sha256 all_;
  int64_t bytes_ = 0;
  std::mutex mutex_;
  int64_t done_ = 0;
};

}  // namespace

absl::StatusOr<LoadedClips> LoadClips(const ClipRequest& request) {
  ASSIGN_OR_RETURN(std::vector<Candidate> candidates, FindFiles(request));
  ASSIGN_OR_RETURN(CorpusWriter writer,
                   CorpusWriter::Create(DType::kUint8, Layout::kHwc));
  return Loader(request, std::move(candidates), std::move(writer)).Load();
}

namespace {

constexpr size_t kClips = 16;
constexpr int kPasses = 3;

enum class Use : uint8_t { kNone, kReference, kShown };

// What to do with each packet of a file, up to the last one needed.
struct Plan {
  std::string path;
  int stream = 0;
  std::vector<Use> uses;
  int64_t frame_bytes = 0;
};

absl::StatusOr<Plan> PlanOf(const ClipFile& file) {
  ASSIGN_OR_RETURN(const std::unique_ptr<PacketList> packets,
                   PacketList::Open({file.path, {}}));
  Plan plan;
  plan.path = absl::StrCat("file:", file.path);
  plan.stream = packets->stream();
  plan.frame_bytes = int64_t{3} * file.height * file.width;
  if (!packets->ordered()) {
    // Uses all packets in order, and counts the frames.
    plan.uses.assign(packets->size(), Use::kReference);
    for (const int64_t frame : file.frames) plan.uses[frame] = Use::kShown;
    return plan;
  }
  plan.uses.assign(packets->size(), Use::kNone);
  int64_t last = 0;
  for (const int64_t frame : file.frames) {
    const int64_t packet = packets->PacketOf(frame);
    const int64_t entry = packets->KeyBefore(packet, /*open_too=*/true);
    for (int64_t i = entry; i < packet; ++i) {
      if (packets->Leads(i, entry)) continue;
      plan.uses[i] = std::max(plan.uses[i], Use::kReference);
    }
    plan.uses[packet] = Use::kShown;
    last = std::max(last, packet);
  }
  plan.uses.resize(last + 1);
  return plan;
}

absl::Status Check(const Plan& plan, int result) {
  if (result >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(plan.path, ": ", AvErrorText(result)));
}

class Straight {
 public:
  explicit Straight(const Plan& plan) : plan_(plan), rgb_(plan.frame_bytes) {}

  absl::Status Run() {
    AVFormatContext* format = nullptr;
    RETURN_IF_ERROR(Check(
        plan_,
        avformat_open_input(&format, plan_.path.c_str(), nullptr, nullptr)));
    const AvPtr<AVFormatContext> file(format);
    const int stream = plan_.stream;
    if (stream >= static_cast<int>(format->nb_streams)) {
      return Check(plan_, AVERROR_STREAM_NOT_FOUND);
    }
    const AVCodecParameters* parameters = format->streams[stream]->codecpar;
    const AVCodec* codec = avcodec_find_decoder(parameters->codec_id);
    decoder_.reset(avcodec_alloc_context3(codec));
    RETURN_IF_ERROR(Check(
        plan_, avcodec_parameters_to_context(decoder_.get(), parameters)));
    decoder_->thread_count = 1;
    RETURN_IF_ERROR(
        Check(plan_, avcodec_open2(decoder_.get(), codec, nullptr)));
    const AvPtr<AVPacket> packet(av_packet_alloc());
    frame_.reset(av_frame_alloc());
    for (size_t at = 0; at < plan_.uses.size();) {
      const int read = av_read_frame(format, packet.get());
      if (read < 0) break;
      if (packet->stream_index == stream && packet->size > 0) {
        RETURN_IF_ERROR(Decode(at++, packet.get()));
      }
      av_packet_unref(packet.get());
    }
    return Send(nullptr);
  }

 private:
  absl::Status Decode(size_t at, AVPacket* packet) {
    const Use use = plan_.uses[at];
    if (use == Use::kNone) return absl::OkStatus();
    packet->pts = static_cast<int64_t>(at);
    decoder_->skip_frame =
        use == Use::kShown ? AVDISCARD_DEFAULT : AVDISCARD_NONREF;
    return Send(packet);
  }

  absl::Status Send(const AVPacket* packet) {
    const int sent = avcodec_send_packet(decoder_.get(), packet);
    if (sent != AVERROR_EOF) RETURN_IF_ERROR(Check(plan_, sent));
    while (avcodec_receive_frame(decoder_.get(), frame_.get()) >= 0) {
      const int64_t at = frame_->pts;
      if (at >= 0 && at < static_cast<int64_t>(plan_.uses.size()) &&
          plan_.uses[at] == Use::kShown &&
          int64_t{3} * frame_->width * frame_->height == plan_.frame_bytes) {
        RETURN_IF_ERROR(converter_.Convert(*frame_, rgb_.data()));
      }
      av_frame_unref(frame_.get());
    }
    return absl::OkStatus();
  }

  const Plan& plan_;
  std::vector<uint8_t> rgb_;
  AvPtr<AVCodecContext> decoder_;
  AvPtr<AVFrame> frame_;
  FrameRgb converter_;
};

// What our own reader does, with the time to find the packets.
absl::Status ReadClip(const ClipFile& file) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ClipReader> reader,
                   ClipReader::Open(file.path, 1));
  std::vector<uint8_t> rgb(file.frames.size() * reader->FrameBytes());
  return reader->Read(file.frames, rgb.data());
}

// Seconds for `clips` clips.
absl::StatusOr<double> TimeOf(
    int64_t clips, int threads,
    const std::function<absl::Status(int64_t clip)>& decode) {
  std::vector<absl::Status> statuses(clips);
  const auto start = std::chrono::steady_clock::now();
  ParallelFor(clips, threads, [&](int64_t i) { statuses[i] = decode(i); });
  const std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
  return elapsed.count();
}

}  // namespace

absl::StatusOr<double> DecodeLimit(const std::vector<ClipFile>& files,
                                   int threads) {
  if (files.empty()) return absl::InvalidArgumentError("there are no clips");
  const size_t count = std::min(files.size(), kClips);
  std::vector<const ClipFile*> chosen;
  std::vector<Plan> plans;
  for (size_t i = 0; i < count; ++i) {
    chosen.push_back(&files[i * files.size() / count]);
    ASSIGN_OR_RETURN(plans.emplace_back(), PlanOf(*chosen.back()));
  }
  const auto clips = static_cast<int64_t>(count) * threads;
  double best_s = 1e9;
  for (int pass = 0; pass < kPasses; ++pass) {
    ASSIGN_OR_RETURN(const double straight_s,
                     TimeOf(clips, threads, [&](int64_t i) {
                       return Straight(plans[i % count]).Run();
                     }));
    ASSIGN_OR_RETURN(const double reader_s,
                     TimeOf(clips, threads, [&](int64_t i) {
                       return ReadClip(*chosen[i % count]);
                     }));
    best_s = std::min({best_s, straight_s, reader_s});
  }
  return static_cast<double>(clips) / std::max(best_s, 1e-9);
}

}  // namespace feedrate
