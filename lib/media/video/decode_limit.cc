#include "lib/media/video/decode_limit.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/media/parallel.h"
#include "lib/media/video/av.h"
#include "lib/media/video/frame_rgb.h"
#include "lib/media/video/packet_list.h"

namespace feedrate {
namespace {

constexpr size_t kClips = 8;
constexpr int kPasses = 3;

enum class Use : uint8_t { kNone, kReference, kShown };

// What is to be done with each packet of a file, up to the last one needed.
struct Plan {
  std::string path;
  std::vector<Use> uses;
  int64_t frame_bytes = 0;
};

absl::StatusOr<Plan> PlanOf(const ClipFile& file) {
  ASSIGN_OR_RETURN(const std::unique_ptr<PacketList> packets,
                   PacketList::Open({file.path, {}}));
  Plan plan;
  plan.path = absl::StrCat("file:", file.path);
  plan.frame_bytes = int64_t{3} * file.height * file.width;
  if (!packets->ordered()) {
    // All of them, in order; frames are told by counting.
    plan.uses.assign(packets->size(), Use::kReference);
    for (const int64_t frame : file.frames) plan.uses[frame] = Use::kShown;
    return plan;
  }
  plan.uses.assign(packets->size(), Use::kNone);
  int64_t last = 0;
  for (const int64_t frame : file.frames) {
    const int64_t packet = packets->PacketOf(frame);
    for (int64_t i = packets->KeyBefore(packet); i < packet; ++i) {
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
    const int stream =
        av_find_best_stream(format, AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
    RETURN_IF_ERROR(Check(plan_, stream));
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

// Seconds for `clips` clips, the plans over and over.
absl::StatusOr<double> TimeOf(const std::vector<Plan>& plans, int64_t clips,
                              int threads) {
  std::vector<absl::Status> statuses(clips);
  const auto start = std::chrono::steady_clock::now();
  ParallelFor(clips, threads, [&](int64_t i) {
    statuses[i] = Straight(plans[i % plans.size()]).Run();
  });
  const std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
  return elapsed.count();
}

}  // namespace

absl::StatusOr<double> DecodeLimit(const std::vector<ClipFile>& files,
                                   int threads) {
  if (files.empty()) return absl::InvalidArgumentError("there are no clips");
  std::vector<Plan> plans;
  for (size_t i = 0; i < std::min(files.size(), kClips); ++i) {
    ASSIGN_OR_RETURN(plans.emplace_back(), PlanOf(files[i]));
  }
  const auto clips = static_cast<int64_t>(plans.size()) * threads;
  double best_s = 1e9;
  for (int pass = 0; pass < kPasses; ++pass) {
    ASSIGN_OR_RETURN(const double elapsed_s, TimeOf(plans, clips, threads));
    best_s = std::min(best_s, elapsed_s);
  }
  return static_cast<double>(clips) / std::max(best_s, 1e-9);
}

}  // namespace feedrate
