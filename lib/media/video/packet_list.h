// The packets of a file's video stream, all of them, and the order in which
// their frames are shown. For lib/media/video alone.
#ifndef FEEDRATE_LIB_MEDIA_VIDEO_PACKET_LIST_H_
#define FEEDRATE_LIB_MEDIA_VIDEO_PACKET_LIST_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/media/video/av.h"

namespace feedrate {

// Where the file is: a path, or bytes that outlive what is made of them.
struct VideoPlace {
  std::string path;
  absl::string_view bytes;
};

class PacketList {
 public:
  // Opens the file and reads it to the end without decoding anything: no
  // container tells reliably how many frames there are and where. What is
  // neither AVI, MP4/MOV nor Matroska/WebM, has no video, is cut off or has no
  // frame at all is InvalidArgument, with the reason.
  static absl::StatusOr<std::unique_ptr<PacketList>> Open(
      const VideoPlace& place);
  ~PacketList();

  const AVCodecParameters& parameters() const { return *parameters_; }
  // Of frames, which is that of packets too.
  int64_t size() const { return static_cast<int64_t>(packets_.size()); }

  // True when packets say when their frames are shown. Else the order is known
  // only by decoding from the first packet on, and counting.
  bool ordered() const { return ordered_; }
  // The packet of the frame that is shown as number `frame`. REQUIRES:
  // ordered().
  int64_t PacketOf(int64_t frame) const { return by_time_[frame]; }
  // The packet to start decoding at to get the frame of `packet`. REQUIRES:
  // ordered().
  int64_t KeyBefore(int64_t packet) const { return key_before_[packet]; }

  // The packet, valid until the next call. Its dts is its number, and its pts
  // that of its frame; where the order is not known, of the packet again.
  absl::StatusOr<AVPacket*> Get(int64_t packet);

 private:
  struct Entry {
    int64_t pts = 0;
    // That its frame is shown as.
    int64_t frame = 0;
    bool is_key = false;
    AvPtr<AVPacket> packet;  // Null when not held.
  };
  struct Memory;  // The reader of `place_.bytes`.

  explicit PacketList(const VideoPlace& place);
  absl::Status OpenFile(bool probe);
  absl::Status OpenStream();
  absl::Status Scan();
  // Reads the next packet of the stream. False at the end.
  absl::StatusOr<bool> ReadNext(AVPacket* packet);
  absl::Status ReadAgain(int64_t packet);
  void Order();
  void NumberFrames();
  bool ShownAsStored() const;
  void FindKeys();

  const VideoPlace place_;
  std::unique_ptr<Memory> memory_;
  AvPtr<AVFormatContext> format_;
  int stream_ = -1;
  const AVCodecParameters* parameters_ = nullptr;
  std::vector<Entry> packets_;
  std::vector<int64_t> by_time_;
  std::vector<int64_t> key_before_;
  bool ordered_ = false;
  bool has_times_ = true;
  // MPEG-4 without B-frames, as its packets' first bytes tell.
  bool plain_mpeg4_ = true;
  // The packet at hand where they are not held, and the next one's number.
  AvPtr<AVPacket> current_;
  int64_t next_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_VIDEO_PACKET_LIST_H_
