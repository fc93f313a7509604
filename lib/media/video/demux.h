// FFmpeg's objects with owners, and the packets of a video file. For
// lib/media/video only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/media/video/container_check.h"
#include "lib/media/video/entry_points.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavcodec/bsf.h>
#include <libavformat/avformat.h>
#include <libavutil/frame.h>
#include <libswscale/swscale.h>
}

namespace feedrate {

struct AvDeleter {
  void operator()(AVFormatContext* context) const {
    avformat_close_input(&context);
  }
  void operator()(AVCodecContext* context) const {
    avcodec_free_context(&context);
  }
  void operator()(AVCodecParameters* parameters) const {
    avcodec_parameters_free(&parameters);
  }
  void operator()(AVFrame* frame) const { av_frame_free(&frame); }
  void operator()(AVPacket* packet) const { av_packet_free(&packet); }
  void operator()(SwsContext* context) const { sws_freeContext(context); }
};

template <typename T>
using AvPtr = std::unique_ptr<T, AvDeleter>;

// `Invalid data found when processing input` for a negative result.
std::string AvErrorText(int result);

// Stops FFmpeg from writing messages about files to standard error; the reason
// of a failure is in the status. Call it first; repeated calls do nothing.
void SilenceAv();

// Version of the libraries at run time, such as `5.1.9-0+deb12u1`.
std::string AvVersion();

// An error for frames of more pixels than kMostPixels.
absl::Status CheckFrameSize(const AVCodecParameters& parameters);

// Counts the frames that FFmpeg gives for packets of MPEG-4, at least: a packet
// may hold two, and a short one may hold none.
class Mpeg4FrameCounter {
 public:
  int Add(const AVPacket& packet);

 private:
  int64_t references_ = 0;
};

// All packets of a file's video stream, and the order in which their frames are
// shown.
class PacketList {
 public:
  // Opens the file and reads it to the end without decoding anything: no
  // container tells reliably how many frames there are and where.
  // InvalidArgument, with the reason, for files that are neither AVI, MP4/MOV
  // nor Matroska/WebM, have no video or no frame, or are not whole: a frame
  // that is lost would give its number to the next one.
  static absl::StatusOr<std::unique_ptr<PacketList>> Open(
      const VideoPlace& place);
  // Opens the file and reads nothing but its headers: only Seek, KeyBeforeTime,
  // Next, has_times and TraitsOf may be called.
  static absl::StatusOr<std::unique_ptr<PacketList>> OpenUnread(
      const VideoPlace& place);
  ~PacketList();

  // False for AVI.
  bool has_times() const;
  // Seconds are `time` x time_base().
  AVRational time_base() const;
  // Continues with the last key frame whose packet is at or before `time`, or
  // with the first packet.
  absl::Status Seek(int64_t time);
  // When the packet of that key frame is decoded; nothing when the file has no
  // list of key frames.
  std::optional<int64_t> KeyBeforeTime(int64_t time) const;
  // The next packet, as it is in the file, valid until the next call; null at
  // the end.
  absl::StatusOr<AVPacket*> Next();

  const AVCodecParameters& parameters() const { return *parameters_; }
  // Number of the stream in its file. Of several with video, the one that
  // FFmpeg calls the best.
  int stream() const { return stream_; }
  // Number of packets.
  int64_t size() const { return static_cast<int64_t>(packets_.size()); }
  // Number of frames, or nothing when only the decoder can tell.
  std::optional<int64_t> frames() const;

  // When each of `frames` frames is shown, in seconds after the first: by the
  // file's rate where packets do not say it. InvalidArgument when it has none.
  absl::StatusOr<std::vector<double>> Times(int64_t frames) const;

  // True when packets say when their frames are shown. Otherwise the order is
  // known only by decoding from the first packet and counting.
  bool ordered() const { return ordered_; }
  // The packet of frame number `frame` in display order. REQUIRES: ordered().
  int64_t PacketOf(int64_t frame) const { return by_time_[frame]; }
  // The packet where decoding must start to get the frame of `packet`: a clean
  // entry, or also an open one. REQUIRES: ordered().
  int64_t KeyBefore(int64_t packet, bool open_too) const {
    return open_too ? packets_[packet].entry : packets_[packet].clean_entry;
  }
  EntryKind EntryOf(int64_t packet) const {
    return packets_[packet].traits.entry;
  }
  // Whether `packet` cannot be decoded, and need not be, when decoding starts
  // with `entry`. REQUIRES: ordered(), entry <= packet.
  bool Leads(int64_t packet, int64_t entry) const {
    return packets_[packet].leads && packets_[packet].last_entry <= entry;
  }
  // Whether other frames depend on the packet's. False where that is not known.
  bool IsReference(int64_t packet) const {
    return packets_[packet].traits.is_reference;
  }
  // Number of the packet's frame, or -1 when it is not shown.
  int64_t FrameOf(int64_t packet) const { return packets_[packet].frame; }
  PacketTraits TraitsOf(const AVPacket& packet) const {
    return entry_points_->Of(packet);
  }

  // The packet, valid until the next call. Its dts is its number, and its pts
  // the number of its frame, or -1 when that is not shown; where the order is
  // not known, the number of the packet.
  absl::StatusOr<AVPacket*> Get(int64_t packet);

 private:
  struct Entry {
    int64_t pts = 0;
    // Number of its frame in display order.
    int64_t frame = -1;
    // The entry at or before it in the file, and where its frame's decoding can
    // start.
    int64_t last_entry = 0;
    int64_t entry = 0;
    int64_t clean_entry = 0;
    PacketTraits traits;
    // Follows an entry in the file, and is shown before it.
    bool leads = false;
    bool is_shown = true;
    AvPtr<AVPacket> packet;  // Null when not held.
  };
  struct Memory;  // The reader of `place_.bytes`.

  explicit PacketList(const VideoPlace& place);
  absl::Status OpenFile(bool probe);
  absl::Status OpenStream();
  std::vector<int> VideoStreams() const;
  absl::Status Scan();
  absl::Status LookAtMpeg4(const AVPacket& packet);
  // Reads the next packet of the stream. False at the end.
  absl::StatusOr<bool> ReadNext(AVPacket* packet);
  absl::Status CheckWhole() const;
  absl::Status ReadAgain(int64_t packet);
  void FindLeading();
  absl::Status Order();
  void NumberFrames();
  bool ShownAsStored() const;
  void FindKeys();
  void TellDelay();

  const VideoPlace place_;
  std::unique_ptr<Memory> memory_;
  AvPtr<AVFormatContext> format_;
  int stream_ = -1;
  AVCodecParameters* parameters_ = nullptr;
  std::optional<EntryPoints> entry_points_;
  std::vector<Entry> packets_;
  std::vector<int64_t> by_time_;
  int64_t empty_packets_ = 0;
  int64_t first_place_ = -1;  // Byte position of the first packet.
  bool ordered_ = false;
  bool has_times_ = true;
  // MPEG-4 without B-frames, as its packets' first bytes tell.
  bool plain_mpeg4_ = true;
  // MPEG-4 with packets that may stand for no frame, or for one that is in the
  // packet before.
  bool has_dummies_ = false;
  // The current packet where packets are not held, and the number of the next
  // one.
  AvPtr<AVPacket> current_;
  int64_t next_ = 0;
};

// Turns the packets of a container into the plain stream that the parser of a
// GPU's engine reads: start codes in place of lengths (H.264, HEVC), and one
// frame per packet (MPEG-4, in some AVI files). Other codecs' packets stay as
// they are. Not thread-safe.
class PacketFilter {
 public:
  using Emit = std::function<absl::Status(const AVPacket& packet)>;

  // InvalidArgument when the file's description of the stream is broken.
  static absl::StatusOr<std::unique_ptr<PacketFilter>> Create(
      const AVCodecParameters& parameters);

  // What precedes the first packet: parameter sets, as plain stream.
  absl::string_view header() const;

  // Emits the result for a packet: normally one packet with the same times.
  absl::Status Send(const AVPacket& packet, const Emit& emit);
  // Emits what it held back. The next packet may be from anywhere.
  absl::Status Drain(const Emit& emit);

 private:
  struct Deleter {
    void operator()(AVBSFContext* context) const { av_bsf_free(&context); }
  };

  PacketFilter() = default;
  absl::Status Receive(const Emit& emit);

  std::unique_ptr<AVBSFContext, Deleter> context_;
  AvPtr<AVPacket> in_;
  AvPtr<AVPacket> out_;
};

}  // namespace feedrate
