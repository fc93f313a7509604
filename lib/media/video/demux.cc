#include "lib/media/video/demux.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/media/image.h"

extern "C" {
#include <libavutil/avutil.h>
#include <libavutil/dict.h>
#include <libavutil/error.h>
#include <libavutil/log.h>
#include <libavutil/mem.h>
}

namespace feedrate {

std::string AvErrorText(int result) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  av_strerror(result, text, sizeof(text));
  return text;
}

void SilenceAv() {
  static const bool silenced = [] {
    av_log_set_level(AV_LOG_QUIET);
    return true;
  }();
  (void)silenced;
}

std::string AvVersion() { return av_version_info(); }

namespace {

// Short videos have a few megabytes, and their packets stay in memory. Packets
// of a film are read again when they are needed.
constexpr int64_t kHeldBytes = int64_t{64} << 20;
// More frames than a day of video has; a larger count is invalid.
constexpr int64_t kMaxFrames = int64_t{1} << 23;
constexpr int kBufferBytes = 1 << 15;
// At most as long is a packet that only repeats the frame before, or that
// stands for a B-frame packed together with another frame. FFmpeg's limit.
constexpr int kDummyBytes = 19;
// Before all times.
constexpr int64_t kNoTime = AV_NOPTS_VALUE;
static_assert(kNoTime == INT64_MIN);

absl::Status Broken(absl::string_view what, int result) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": ", AvErrorText(result)));
}

// The first frame of MPEG-4 in `bytes`, without its start code; null if there
// is none.
const uint8_t* FindVop(const uint8_t* bytes, const uint8_t* end) {
  static constexpr uint8_t kVop[] = {0, 0, 1, 0xb6};
  const auto* const vop = static_cast<const uint8_t*>(
      memmem(bytes, end - bytes, kVop, sizeof(kVop)));
  return vop == nullptr || end - vop <= static_cast<int>(sizeof(kVop))
             ? nullptr
             : vop + sizeof(kVop);
}

bool IsBVop(const uint8_t* vop) { return *vop >> 6 == 2; }

// Whether the decoder gives a frame for the packet.
bool IsShown(const AVPacket& packet, AVCodecID codec) {
  // An edit list leaves it out.
  if (packet.flags & AV_PKT_FLAG_DISCARD) return false;
  // Frames of VP8 that others only refer to.
  return codec != AV_CODEC_ID_VP8 || packet.data[0] & 0x10;
}

}  // namespace

int Mpeg4FrameCounter::Add(const AVPacket& packet) {
  if (packet.size <= kDummyBytes) return 0;
  int frames = 0;
  const uint8_t* const end = packet.data + packet.size;
  for (const uint8_t* vop = FindVop(packet.data, end); vop != nullptr;
       vop = FindVop(vop, end)) {
    references_ += IsBVop(vop) ? 0 : 1;
    // No decoder shows B-frames of which a neighbor is missing.
    frames += !IsBVop(vop) || references_ > 1 ? 1 : 0;
  }
  return frames;
}

absl::Status CheckFrameSize(const AVCodecParameters& parameters) {
  if (int64_t{parameters.width} * parameters.height <= kMostPixels) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("frames of ", parameters.width,
                                                 "x", parameters.height,
                                                 " are too large"));
}

// FFmpeg reads bytes in memory through these.
struct PacketList::Memory {
  explicit Memory(absl::string_view bytes) : bytes(bytes) {
    auto* buffer = static_cast<unsigned char*>(av_malloc(kBufferBytes));
    io = avio_alloc_context(buffer, kBufferBytes, 0, this, Read, nullptr, Seek);
  }
  ~Memory() {
    av_freep(&io->buffer);
    avio_context_free(&io);
  }
  static int Read(void* opaque, uint8_t* out, int size) {
    auto* self = static_cast<Memory*>(opaque);
    const int64_t left = static_cast<int64_t>(self->bytes.size()) - self->at;
    if (left <= 0) return AVERROR_EOF;
    const int count = static_cast<int>(std::min<int64_t>(left, size));
    std::memcpy(out, self->bytes.data() + self->at, count);
    self->at += count;
    return count;
  }
  static int64_t Seek(void* opaque, int64_t offset, int whence) {
    auto* self = static_cast<Memory*>(opaque);
    const int64_t size = static_cast<int64_t>(self->bytes.size());
    if (whence == AVSEEK_SIZE) return size;
    if ((whence & ~AVSEEK_FORCE) == SEEK_CUR) offset += self->at;
    if ((whence & ~AVSEEK_FORCE) == SEEK_END) offset += size;
    if (offset < 0) return AVERROR(EINVAL);
    self->at = offset;
    return offset;
  }

  const absl::string_view bytes;
  int64_t at = 0;
  AVIOContext* io = nullptr;
};

PacketList::PacketList(const VideoPlace& place) : place_(place) {}

PacketList::~PacketList() {
  // Uses memory_ until it is destroyed.
  format_ = nullptr;
}

absl::Status PacketList::OpenFile(bool probe) {
  format_ = nullptr;
  memory_ = nullptr;
  AVFormatContext* format = avformat_alloc_context();
  if (place_.path.empty()) {
    memory_ = std::make_unique<Memory>(place_.bytes);
    format->pb = memory_->io;
  }
  AVDictionary* options = nullptr;
  // In playlist formats a file may name others, also on the network.
  av_dict_set(&options, "protocol_whitelist", "file", 0);
  av_dict_set(&options, "format_whitelist", "avi,mov,mp4,matroska,webm", 0);
  const std::string url =
      place_.path.empty() ? "" : absl::StrCat("file:", place_.path);
  const int opened =
      avformat_open_input(&format, url.c_str(), nullptr, &options);
  av_dict_free(&options);
  if (opened >= 0) format_.reset(format);
  RETURN_IF_ERROR(CheckNotCut(place_));
  if (opened < 0) return Broken("no video", opened);
  if (!probe) return absl::OkStatus();
  const int found = avformat_find_stream_info(format, nullptr);
  return found < 0 ? Broken("no video", found) : absl::OkStatus();
}

std::vector<int> PacketList::VideoStreams() const {
  std::vector<int> streams;
  for (unsigned i = 0; i < format_->nb_streams; ++i) {
    const AVStream& stream = *format_->streams[i];
    const bool is_cover = stream.disposition & AV_DISPOSITION_ATTACHED_PIC;
    if (stream.codecpar->codec_type == AVMEDIA_TYPE_VIDEO && !is_cover) {
      streams.push_back(static_cast<int>(i));
    }
  }
  return streams;
}

absl::Status PacketList::OpenStream() {
  // Headers of these formats contain what the decoder needs. Only where they do
  // not, or where streams must be compared, frames are decoded to find out.
  for (const bool probe : {false, true}) {
    RETURN_IF_ERROR(OpenFile(probe));
    const std::vector<int> streams = VideoStreams();
    if (streams.size() > 1 && !probe) continue;
    stream_ = streams.empty() ? -1 : streams[0];
    if (streams.size() > 1) {
      const int best = av_find_best_stream(format_.get(), AVMEDIA_TYPE_VIDEO,
                                           -1, -1, nullptr, 0);
      if (std::find(streams.begin(), streams.end(), best) != streams.end()) {
        stream_ = best;
      }
    }
    if (stream_ < 0) {
      return absl::InvalidArgumentError("has no video stream");
    }
    for (unsigned i = 0; i < format_->nb_streams; ++i) {
      if (static_cast<int>(i) == stream_) continue;
      format_->streams[i]->discard = AVDISCARD_ALL;
    }
    parameters_ = format_->streams[stream_]->codecpar;
    entry_points_.emplace(*parameters_);
    if (parameters_->codec_id != AV_CODEC_ID_NONE && parameters_->width > 0 &&
        parameters_->height > 0) {
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError("its video stream has no codec or size");
}

absl::StatusOr<bool> PacketList::ReadNext(AVPacket* packet) {
  while (true) {
    const int read = av_read_frame(format_.get(), packet);
    if (read == AVERROR_EOF) return false;
    if (read < 0) return Broken("cannot be read to its end", read);
    if (packet->stream_index == stream_) {
      if (packet->size > 0) break;
      ++empty_packets_;
    }
    av_packet_unref(packet);
  }
  if (packet->flags & AV_PKT_FLAG_CORRUPT) {
    return absl::InvalidArgumentError(
        absl::StrCat("is cut off or damaged at frame ", packets_.size()));
  }
  return true;
}

absl::Status PacketList::LookAtMpeg4(const AVPacket& packet) {
  const bool is_dummy = packet.size <= kDummyBytes;
  has_dummies_ |= is_dummy;
  const uint8_t* const begin = packet.data;
  const uint8_t* const end = begin + packet.size;
  const uint8_t* const vop = FindVop(begin, end);
  // Everything begins with a start code: two zeros or more, and a one.
  const auto one = std::find_if(begin, end, [](uint8_t c) { return c != 0; });
  if (!is_dummy && (vop == nullptr || *one != 1 || one - begin < 2)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "is damaged: packet ", size(), " does not begin with a frame"));
  }
  // A dummy might stand for a B-frame.
  plain_mpeg4_ &= !is_dummy && !IsBVop(vop);
  return absl::OkStatus();
}

absl::Status PacketList::Scan() {
  const bool is_mpeg4 = parameters_->codec_id == AV_CODEC_ID_MPEG4;
  int64_t held = 0;
  AvPtr<AVPacket> packet;
  while (true) {
    if (packet == nullptr) packet.reset(av_packet_alloc());
    ASSIGN_OR_RETURN(const bool more, ReadNext(packet.get()));
    if (!more) break;
    if (size() >= kMaxFrames) {
      return absl::InvalidArgumentError("has more frames than a day has");
    }
    if (is_mpeg4) RETURN_IF_ERROR(LookAtMpeg4(*packet));
    if (packets_.empty()) first_place_ = packet->pos;
    Entry entry;
    entry.pts = packet->pts;
    entry.is_shown = IsShown(*packet, parameters_->codec_id);
    entry.traits = TraitsOf(*packet);
    held += packet->size;
    packet->pts = packet->dts = size();
    if (held <= kHeldBytes) {
      entry.packet = std::move(packet);
    } else {
      av_packet_unref(packet.get());
    }
    packets_.push_back(std::move(entry));
  }
  next_ = size();
  if (!packets_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("has no frame of video");
}

absl::Status PacketList::CheckWhole() const {
  // MP4 lists its frames before or after them; others have them one by one.
  int64_t stored = -1;
  if (absl::string_view(format_->iformat->name).find("mp4") !=
      absl::string_view::npos) {
    stored = avformat_index_get_entries_count(format_->streams[stream_]) -
             empty_packets_;
  } else {
    ASSIGN_OR_RETURN(stored, CountStored(place_, stream_, first_place_));
  }
  if (stored < 0 || stored == size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("is cut off or damaged: it stores ", stored, " frames, and ",
                   size(), " can be read"));
}

// Whether frames come out of the decoder in the order of their packets.
bool PacketList::ShownAsStored() const {
  if (parameters_->codec_id == AV_CODEC_ID_MPEG4) return plain_mpeg4_;
  const AVCodecDescriptor* codec =
      avcodec_descriptor_get(parameters_->codec_id);
  return codec != nullptr && !(codec->props & AV_CODEC_PROP_REORDER);
}

absl::Status PacketList::Order() {
  for (int64_t i = 0; i < size(); ++i) {
    if (packets_[i].is_shown) by_time_.push_back(i);
  }
  if (by_time_.empty()) {
    return absl::InvalidArgumentError("has no frame of video");
  }
  if (!has_times_ || has_dummies_) {
    ordered_ = ShownAsStored() && !has_dummies_;
    for (int64_t i = 0; i < size(); ++i) packets_[i].pts = i;
    return absl::OkStatus();
  }
  const auto earlier = [this](int64_t a, int64_t b) {
    return packets_[a].pts < packets_[b].pts;
  };
  const auto back =
      std::is_sorted_until(by_time_.begin(), by_time_.end(), earlier);
  if (back != by_time_.end() && ShownAsStored()) {
    return absl::InvalidArgumentError(
        absl::StrCat("is damaged: frame ", back - by_time_.begin(),
                     " is shown before the one that precedes it"));
  }
  std::sort(by_time_.begin(), by_time_.end(), earlier);
  // Two frames with the same time: only the decoder knows which is shown first.
  ordered_ = true;
  for (size_t i = 1; i < by_time_.size(); ++i) {
    ordered_ &= earlier(by_time_[i - 1], by_time_[i]);
  }
  return absl::OkStatus();
}

std::optional<int64_t> PacketList::frames() const {
  // Without times, it is not known which frames lead the first entry.
  if (has_dummies_ ||
      (!ordered_ && packets_[0].traits.entry != EntryKind::kClean)) {
    return std::nullopt;
  }
  return static_cast<int64_t>(by_time_.size());
}

absl::StatusOr<std::vector<double>> PacketList::Times(int64_t frames) const {
  std::vector<double> times(frames);
  if (has_times_ && ordered_ && frames == *this->frames()) {
    for (int64_t i = 0; i < frames; ++i) {
      // Ascending, but as far apart as 64 bits allow.
      const auto after = static_cast<uint64_t>(packets_[by_time_[i]].pts) -
                         static_cast<uint64_t>(packets_[by_time_[0]].pts);
      times[i] = static_cast<double>(after) * av_q2d(time_base());
    }
    return times;
  }
  AVStream* const stream = format_->streams[stream_];
  const AVRational rate = av_guess_frame_rate(format_.get(), stream, nullptr);
  if (rate.num <= 0 || rate.den <= 0) {
    return absl::InvalidArgumentError("does not say when frames are shown");
  }
  for (int64_t i = 0; i < frames; ++i) {
    times[i] = static_cast<double>(i) / av_q2d(rate);
  }
  return times;
}

void PacketList::NumberFrames() {
  if (ordered_) {
    for (size_t i = 0; i < by_time_.size(); ++i) {
      packets_[by_time_[i]].frame = static_cast<int64_t>(i);
    }
  } else {
    for (int64_t i = 0; i < size(); ++i) packets_[i].frame = i;
  }
  for (const Entry& entry : packets_) {
    if (entry.packet != nullptr) entry.packet->pts = entry.frame;
  }
}

// Marks frames that are shown before the entry that they follow. Those of the
// first entry belong to frames that the file does not have; no decoder shows
// them.
void PacketList::FindLeading() {
  int64_t entry = 0;
  const AVCodecID codec = parameters_->codec_id;
  for (int64_t i = 0; i < size(); ++i) {
    Entry& packet = packets_[i];
    const Entry& last = packets_[entry];
    if (packet.traits.entry != EntryKind::kNone) {
      entry = i;
    } else if (codec == AV_CODEC_ID_HEVC) {
      packet.leads = packet.traits.skips_entry;
    } else if (codec != AV_CODEC_ID_H264 ||
               last.traits.entry == EntryKind::kOpen) {
      // Containers may give no time to frames before the beginning.
      packet.leads = has_times() && packet.pts < last.pts &&
                     (entry == 0 || packet.pts != kNoTime);
    }
    packet.last_entry = entry;
    if (packet.leads && entry == 0) packet.is_shown = false;
    has_times_ &= packet.pts != kNoTime || !packet.is_shown;
  }
}

void PacketList::FindKeys() {
  // The last entry, and the one before it.
  int64_t entry[2] = {0, 0};
  int64_t clean[2] = {0, 0};
  for (int64_t i = 0; i < size(); ++i) {
    Entry& packet = packets_[i];
    if (packet.traits.entry != EntryKind::kNone) {
      entry[1] = entry[0];
      entry[0] = i;
    }
    if (packet.traits.entry == EntryKind::kClean) {
      clean[1] = clean[0];
      clean[0] = i;
    }
    // Frames that lead need the entry before.
    packet.entry = entry[packet.leads];
    packet.clean_entry = clean[packet.leads && packet.last_entry == clean[0]];
  }
}

// Tells the decoder how many frames it must hold back. In H.264 it guesses
// otherwise, and loses the first frames.
void PacketList::TellDelay() {
  constexpr int64_t kMostDelay = 16;
  if (!ordered_ || parameters_->codec_id != AV_CODEC_ID_H264) return;
  int delay = parameters_->video_delay;
  for (int64_t i = 0; i < size(); ++i) {
    int later = 0;
    for (int64_t j = std::max<int64_t>(0, i - kMostDelay); j < i; ++j) {
      later += packets_[j].pts > packets_[i].pts;
    }
    delay = std::max(delay, later);
  }
  parameters_->video_delay = delay;
}

absl::StatusOr<std::unique_ptr<PacketList>> PacketList::OpenUnread(
    const VideoPlace& place) {
  SilenceAv();
  std::unique_ptr<PacketList> list(new PacketList(place));
  RETURN_IF_ERROR(list->OpenStream());
  list->current_.reset(av_packet_alloc());
  const AVRational base = list->time_base();
  if (base.num > 0 && base.den > 0) return list;
  return absl::InvalidArgumentError("its video stream has no unit of time");
}

bool PacketList::has_times() const {
  return absl::string_view(format_->iformat->name) != "avi";
}

AVRational PacketList::time_base() const {
  return format_->streams[stream_]->time_base;
}

absl::Status PacketList::Seek(int64_t time) {
  int result =
      av_seek_frame(format_.get(), stream_, time, AVSEEK_FLAG_BACKWARD);
  // Before the first key frame.
  if (result < 0) {
    result = avformat_seek_file(format_.get(), stream_, INT64_MIN, time,
                                INT64_MAX, AVSEEK_FLAG_BACKWARD);
  }
  return result < 0 ? Broken("cannot be searched", result) : absl::OkStatus();
}

std::optional<int64_t> PacketList::KeyBeforeTime(int64_t time) const {
  const AVIndexEntry* const entry = avformat_index_get_entry_from_timestamp(
      format_->streams[stream_], time, AVSEEK_FLAG_BACKWARD);
  if (entry == nullptr) return std::nullopt;
  return entry->timestamp;
}

absl::StatusOr<AVPacket*> PacketList::Next() {
  av_packet_unref(current_.get());
  ASSIGN_OR_RETURN(const bool more, ReadNext(current_.get()));
  return more ? current_.get() : nullptr;
}

absl::StatusOr<std::unique_ptr<PacketList>> PacketList::Open(
    const VideoPlace& place) {
  SilenceAv();
  std::unique_ptr<PacketList> list(new PacketList(place));
  RETURN_IF_ERROR(list->OpenStream());
  RETURN_IF_ERROR(list->Scan());
  RETURN_IF_ERROR(list->CheckWhole());
  list->FindLeading();
  RETURN_IF_ERROR(list->Order());
  list->NumberFrames();
  list->FindKeys();
  list->TellDelay();
  return list;
}

absl::Status PacketList::ReadAgain(int64_t packet) {
  if (packet < next_) {
    RETURN_IF_ERROR(OpenStream());
    next_ = 0;
  }
  if (current_ == nullptr) current_.reset(av_packet_alloc());
  for (; next_ <= packet; ++next_) {
    av_packet_unref(current_.get());
    ASSIGN_OR_RETURN(const bool more, ReadNext(current_.get()));
    if (!more) {
      return absl::InvalidArgumentError("became shorter while it was read");
    }
  }
  current_->pts = packets_[packet].frame;
  current_->dts = packet;
  return absl::OkStatus();
}

absl::StatusOr<AVPacket*> PacketList::Get(int64_t packet) {
  if (packets_[packet].packet != nullptr) return packets_[packet].packet.get();
  if (next_ != packet + 1 || current_ == nullptr) {
    RETURN_IF_ERROR(ReadAgain(packet));
  }
  return current_.get();
}

}  // namespace feedrate
