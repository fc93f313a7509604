#include "lib/media/video/clip_reader.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/media/video/clip_walk.h"
#include "lib/media/video/demux.h"
#include "lib/media/video/frame_rgb.h"

namespace feedrate {

absl::StatusOr<std::unique_ptr<ClipWalk>> ClipWalk::Open(
    const VideoPlace& place, const FindDecoder& find_decoder) {
  std::unique_ptr<ClipWalk> walk = absl::WrapUnique(new ClipWalk());
  ASSIGN_OR_RETURN(walk->packets_, PacketList::Open(place));
  const PacketList& packets = *walk->packets_;
  const AVCodecParameters& parameters = packets.parameters();
  RETURN_IF_ERROR(CheckFrameSize(parameters));
  ASSIGN_OR_RETURN(walk->decoder_, find_decoder(parameters));
  int64_t frames = 0;
  if (const std::optional<int64_t> known = packets.frames()) {
    frames = *known;
  } else {
    ASSIGN_OR_RETURN(frames, CountFrames(walk->packets_.get()));
  }
  walk->info_ = {parameters.height, parameters.width, frames,
                 walk->decoder_->name()};
  return walk;
}

namespace {

bool IsMpeg4(const PacketList& packets) {
  return packets.parameters().codec_id == AV_CODEC_ID_MPEG4;
}

class FrameCounter : public FrameSink {
 public:
  bool Wants(int64_t pts) override {
    ++count_;
    return false;
  }
  absl::Status Take(const DecodedFrame& frame) override {
    return absl::OkStatus();
  }
  int64_t count() const { return count_; }

 private:
  int64_t count_ = 0;
};

}  // namespace

absl::StatusOr<int64_t> ClipWalk::CountFrames(PacketList* packets) {
  ASSIGN_OR_RETURN(const std::unique_ptr<AvDecoder> decoder,
                   AvDecoder::Open(packets->parameters(), /*threads=*/1));
  FrameCounter counter;
  Mpeg4FrameCounter held;
  int64_t least = 0;
  for (int64_t i = 0; i < packets->size(); ++i) {
    ASSIGN_OR_RETURN(const AVPacket* const packet, packets->Get(i));
    if (IsMpeg4(*packets)) least += held.Add(*packet);
    RETURN_IF_ERROR(decoder->Send(*packet, /*wanted=*/true, &counter));
  }
  RETURN_IF_ERROR(decoder->Drain(&counter));
  // What the decoder leaves out, it leaves out without a word.
  if (counter.count() < least) {
    return absl::InvalidArgumentError(
        absl::StrCat("is damaged: it holds ", least, " frames, and ",
                     counter.count(), " can be decoded"));
  }
  if (counter.count() > 0) return counter.count();
  return absl::InvalidArgumentError("has no frame of video");
}

bool ClipWalk::IsWanted(int64_t number) const {
  return std::binary_search(wanted_.begin(), wanted_.end(), number);
}

absl::Status ClipWalk::CheckNumbers(const std::vector<int64_t>& frames) const {
  for (size_t i = 0; i < frames.size(); ++i) {
    if (frames[i] < 0 || frames[i] >= info_.frames ||
        (i > 0 && frames[i] < frames[i - 1])) {
      return absl::InvalidArgumentError(
          absl::StrCat("frame ", frames[i], " was asked for; there are ",
                       info_.frames, ", to be named in order"));
    }
  }
  return absl::OkStatus();
}

absl::Status ClipWalk::Read(const std::vector<int64_t>& frames,
                            const Put& put) {
  RETURN_IF_ERROR(CheckNumbers(frames));
  wanted_ = frames;
  put_ = &put;
  missing_ = static_cast<int64_t>(frames.size());
  got_.assign(frames.size(), false);
  RETURN_IF_ERROR(packets_->ordered() ? ReadOrdered() : ReadCounting());
  if (missing_ == 0) return absl::OkStatus();
  const size_t at = std::find(got_.begin(), got_.end(), false) - got_.begin();
  return absl::InvalidArgumentError(absl::StrCat(
      "frame ", wanted_[at], " of ", info_.frames, " could not be decoded"));
}

bool ClipWalk::Wants(int64_t pts) {
  number_ = packets_->ordered() ? pts : counted_++;
  arrived_.push_back(number_);
  return IsWanted(number_);
}

absl::Status ClipWalk::Take(const DecodedFrame& frame) {
  if (frame.is_damaged) {
    return absl::InvalidArgumentError(
        absl::StrCat("frame ", number_, " is damaged"));
  }
  if (frame.width != info_.width || frame.height != info_.height) {
    return absl::InvalidArgumentError(
        absl::StrCat("frame ", number_, " is ", frame.width, "x", frame.height,
                     ", not ", info_.width, "x", info_.height));
  }
  const auto [first, last] =
      std::equal_range(wanted_.begin(), wanted_.end(), number_);
  const size_t at = first - wanted_.begin();
  const size_t count = last - first;
  if (got_[at]) return absl::OkStatus();
  RETURN_IF_ERROR((*put_)(frame, at, count));
  std::fill_n(got_.begin() + at, count, true);
  missing_ -= static_cast<int64_t>(count);
  return absl::OkStatus();
}

absl::Status ClipWalk::CheckArrived(const std::vector<int64_t>& due) {
  std::sort(arrived_.begin(), arrived_.end());
  for (const int64_t number : due) {
    if (!std::binary_search(arrived_.begin(), arrived_.end(), number)) {
      return absl::InvalidArgumentError(
          absl::StrCat("frame ", number,
                       " is damaged: it cannot be decoded, "
                       "and others may need it"));
    }
  }
  return absl::OkStatus();
}

absl::Status ClipWalk::Decode(const Segment& segment) {
  RETURN_IF_ERROR(decoder_->BeginRun(packets_->EntryOf(segment.first)));
  arrived_.clear();
  std::vector<int64_t> due;
  for (int64_t i = segment.first; i <= segment.last; ++i) {
    if (packets_->Leads(i, segment.first)) continue;
    ASSIGN_OR_RETURN(const AVPacket* const packet, packets_->Get(i));
    RETURN_IF_ERROR(decoder_->Send(*packet, IsWanted(packet->pts), this));
    if (packets_->IsReference(i) && packets_->FrameOf(i) >= 0) {
      due.push_back(packets_->FrameOf(i));
    }
  }
  // The decoder holds frames back until it has seen what comes between them.
  // All wanted frames are in it now, so drain it.
  RETURN_IF_ERROR(decoder_->Drain(this));
  return CheckArrived(due);
}

std::vector<ClipWalk::Segment> ClipWalk::SegmentsOf(bool open_too) const {
  std::vector<Segment> segments;
  for (const int64_t number : wanted_) {
    const int64_t packet = packets_->PacketOf(number);
    const int64_t key = packets_->KeyBefore(packet, open_too);
    if (segments.empty() || key > segments.back().last) {
      segments.push_back({key, packet});
    } else {
      segments.back().first = std::min(segments.back().first, key);
      segments.back().last = std::max(segments.back().last, packet);
    }
  }
  return segments;
}

absl::Status ClipWalk::ReadOrdered() {
  const bool takes_open = decoder_->TakesOpenEntries();
  bool has_open = false;
  absl::Status read;
  for (const Segment& segment : SegmentsOf(takes_open)) {
    has_open |= packets_->EntryOf(segment.first) == EntryKind::kOpen;
    read = Decode(segment);
    if (!read.ok()) break;
  }
  if (read.ok() || !has_open || !takes_open) return read;
  // The stream may not keep what it promises at its open entries.
  missing_ = static_cast<int64_t>(wanted_.size());
  got_.assign(wanted_.size(), false);
  RETURN_IF_ERROR(decoder_->Drain(nullptr));
  for (const Segment& segment : SegmentsOf(/*open_too=*/false)) {
    RETURN_IF_ERROR(Decode(segment));
  }
  return absl::OkStatus();
}

absl::Status ClipWalk::ReadCounting() {
  counted_ = 0;
  RETURN_IF_ERROR(decoder_->BeginRun(EntryKind::kClean));
  int64_t sent = 0;
  for (; sent < packets_->size() && missing_ > 0; ++sent) {
    ASSIGN_OR_RETURN(const AVPacket* const packet, packets_->Get(sent));
    // A frame that is left out would not be counted.
    RETURN_IF_ERROR(decoder_->Send(*packet, /*wanted=*/true, this));
  }
  // Where packets have two frames or none, they were counted before.
  const bool is_one_each = IsMpeg4(*packets_) && packets_->frames().has_value();
  RETURN_IF_ERROR(
      decoder_->Drain(missing_ > 0 || is_one_each ? this : nullptr));
  if (!is_one_each || counted_ == sent) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("is damaged: the first ", sent, " packets have ", counted_,
                   " frames that can be decoded"));
}

namespace {

absl::Status Failed(absl::string_view what, int result) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": ", AvErrorText(result)));
}

// In the others, FFmpeg's decoder of MPEG-4 among them, a damaged frame that
// one of several threads decodes ends the program.
bool HasSafeFrameThreads(AVCodecID codec) {
  return codec == AV_CODEC_ID_H264 || codec == AV_CODEC_ID_HEVC ||
         codec == AV_CODEC_ID_VP8 || codec == AV_CODEC_ID_VP9 ||
         codec == AV_CODEC_ID_AV1;
}

}  // namespace

absl::StatusOr<AvPtr<AVCodecContext>> AvDecoder::MakeContext(
    int threads, bool strict) const {
  const AVCodec* codec = avcodec_find_decoder(parameters_->codec_id);
  if (codec == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no decoder for its codec, ",
                     avcodec_get_name(parameters_->codec_id)));
  }
  AvPtr<AVCodecContext> context(avcodec_alloc_context3(codec));
  int result = avcodec_parameters_to_context(context.get(), parameters_.get());
  if (result < 0) return Failed("its codec's parameters are wrong", result);
  context->thread_count = threads;
  if (!HasSafeFrameThreads(codec->id)) context->thread_type = FF_THREAD_SLICE;
  context->err_recognition = strict ? AV_EF_EXPLODE : 0;
  // Else the decoder leaves out frames after an open entry that look damaged.
  if (!strict) context->flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT;
  result = avcodec_open2(context.get(), codec, nullptr);
  if (result < 0) return Failed("its decoder cannot be opened", result);
  return context;
}

absl::StatusOr<std::unique_ptr<AvDecoder>> AvDecoder::Open(
    const AVCodecParameters& parameters, int threads) {
  std::unique_ptr<AvDecoder> decoder = absl::WrapUnique(new AvDecoder());
  decoder->parameters_.reset(avcodec_parameters_alloc());
  const int copied =
      avcodec_parameters_copy(decoder->parameters_.get(), &parameters);
  if (copied < 0) return Failed("its codec's parameters are wrong", copied);
  ASSIGN_OR_RETURN(decoder->strict_,
                   decoder->MakeContext(threads, /*strict=*/true));
  decoder->context_ = decoder->strict_.get();
  decoder->frame_.reset(av_frame_alloc());
  return decoder;
}

absl::Status AvDecoder::BeginRun(EntryKind entry) {
  context_ = strict_.get();
  if (entry != EntryKind::kOpen) return absl::OkStatus();
  if (open_ == nullptr) {
    // With more threads, frames come out before their damage is known.
    ASSIGN_OR_RETURN(open_, MakeContext(/*threads=*/1, /*strict=*/false));
  }
  context_ = open_.get();
  return absl::OkStatus();
}

absl::Status AvDecoder::Receive(FrameSink* sink) {
  while (true) {
    const int received = avcodec_receive_frame(context_, frame_.get());
    if (received == AVERROR(EAGAIN) || received == AVERROR_EOF) {
      return absl::OkStatus();
    }
    if (received < 0) return Failed("a frame is damaged", received);
    DecodedFrame frame;
    frame.width = frame_->width;
    frame.height = frame_->height;
    frame.is_damaged =
        frame_->decode_error_flags != 0 ||
        (context_ == strict_.get() && frame_->flags & AV_FRAME_FLAG_CORRUPT);
    frame.on_host = frame_.get();
    absl::Status taken;
    if (sink->Wants(frame_->pts)) {
      taken = sink->Take(frame);
    } else if (frame.is_damaged) {
      taken = absl::InvalidArgumentError(absl::StrCat(
          "frame ", frame_->pts, " is damaged, and others may need it"));
    }
    av_frame_unref(frame_.get());
    RETURN_IF_ERROR(taken);
  }
}

absl::Status AvDecoder::Send(const AVPacket& packet, bool wanted,
                             FrameSink* sink) {
  context_->skip_frame = wanted ? AVDISCARD_DEFAULT : AVDISCARD_NONREF;
  const int sent = avcodec_send_packet(context_, &packet);
  if (sent < 0 && sent != AVERROR_EOF) {
    return Failed(absl::StrCat("packet ", packet.dts, " is damaged"), sent);
  }
  return Receive(sink);
}

absl::Status AvDecoder::Drain(FrameSink* sink) {
  if (sink != nullptr) {
    context_->skip_frame = AVDISCARD_DEFAULT;
    const int sent = avcodec_send_packet(context_, nullptr);
    if (sent < 0 && sent != AVERROR_EOF) {
      return Failed("its last frames are damaged", sent);
    }
    RETURN_IF_ERROR(Receive(sink));
  }
  avcodec_flush_buffers(context_);
  return absl::OkStatus();
}

namespace {

class AvClipReader : public ClipReader {
 public:
  static absl::StatusOr<std::unique_ptr<ClipReader>> Open(
      const VideoPlace& place, int threads) {
    auto reader = std::make_unique<AvClipReader>();
    const auto find_decoder = [&](const AVCodecParameters& parameters)
        -> absl::StatusOr<FrameDecoder*> {
      ASSIGN_OR_RETURN(reader->decoder_, AvDecoder::Open(parameters, threads));
      return reader->decoder_.get();
    };
    ASSIGN_OR_RETURN(reader->walk_, ClipWalk::Open(place, find_decoder));
    return reader;
  }

  const VideoInfo& info() const override { return walk_->info(); }
  absl::StatusOr<std::vector<double>> Times() override {
    return walk_->Times();
  }

  absl::Status Read(const std::vector<int64_t>& frames, uint8_t* rgb) override {
    const int64_t bytes = FrameBytes();
    const auto put = [&](const DecodedFrame& frame, size_t first,
                         size_t count) -> absl::Status {
      uint8_t* const out = rgb + static_cast<int64_t>(first) * bytes;
      RETURN_IF_ERROR(converter_.Convert(*frame.on_host, out));
      for (size_t i = 1; i < count; ++i)
        std::memcpy(out + i * bytes, out, bytes);
      return absl::OkStatus();
    };
    return walk_->Read(frames, put);
  }

  absl::Status ReadEach(const std::vector<int64_t>& frames,
                        const FrameWindow& window,
                        const TakeFrame& take) override {
    rgb_.resize(size_t{3} * window.height * window.width);
    const auto put = [&](const DecodedFrame& frame, size_t first,
                         size_t count) -> absl::Status {
      RETURN_IF_ERROR(converter_.Convert(*frame.on_host, window, rgb_.data()));
      take(static_cast<int64_t>(first), static_cast<int64_t>(count),
           rgb_.data());
      return absl::OkStatus();
    };
    return walk_->Read(frames, put);
  }

 private:
  std::unique_ptr<AvDecoder> decoder_;
  std::unique_ptr<ClipWalk> walk_;
  FrameRgb converter_;
  std::vector<uint8_t> rgb_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ClipReader>> ClipReader::Open(
    const std::string& path, int threads) {
  return AvClipReader::Open({path, {}}, threads);
}

absl::StatusOr<std::unique_ptr<ClipReader>> ClipReader::OpenBytes(
    absl::string_view bytes, int threads) {
  return AvClipReader::Open({"", bytes}, threads);
}

std::string ClipReaderVersion() { return AvVersion(); }

}  // namespace feedrate
