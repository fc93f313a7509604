#include "lib/media/video/synthetic_video.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/media/image.h"
#include "lib/media/item_ids.h"
#include "lib/media/parallel.h"
#include "lib/media/synthetic.h"
#include "lib/media/synthetic_random.h"
#include "lib/media/video/clips.h"
#include "lib/media/video/demux.h"

extern "C" {
#include <libavutil/dict.h>
#include <libavutil/display.h>
#include <libavutil/mem.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
}

namespace feedrate {
namespace {

absl::Status Wrong(absl::string_view dataset, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      dataset, ": ", what,
      "; write for example synthetic:video,n=50,seed=1,container=mp4"));
}

// One NAME=VALUE, whose form DatasetId has checked.
absl::Status ReadParameter(absl::string_view dataset, absl::string_view text,
                           SyntheticVideoSpec* spec) {
  const std::vector<std::string> parts =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  if (parts[0] == "n") {
    if (absl::SimpleAtoi(parts[1], &spec->n) && spec->n >= 1) {
      return absl::OkStatus();
    }
    return Wrong(dataset, "n must be a whole number above 0");
  }
  if (parts[0] == "seed" && !spec->ids) {
    if (absl::SimpleAtoi(parts[1], &spec->seed)) return absl::OkStatus();
    return Wrong(dataset, "seed must be a whole number of 64 bits");
  }
  if (parts[0] == "container") {
    spec->container = parts[1];
    if (parts[1] == "avi" || parts[1] == "mp4") return absl::OkStatus();
    return Wrong(dataset, "container must be avi or mp4");
  }
  return Wrong(
      dataset,
      absl::StrCat("parameter \"", parts[0], "\" is unknown; n",
                   spec->ids ? "" : ", seed", " and container are not"));
}

// Frames of a video of one color: more than a clip has.
constexpr int kIdFrames = 24;

uint64_t SeedOf(const SyntheticVideoSpec& spec, int64_t index) {
  SyntheticRandom seeds(spec.seed);
  return seeds.Next() ^ (static_cast<uint64_t>(index) * 0xd1342543de82ef95u);
}

}  // namespace

absl::StatusOr<SyntheticVideoSpec> ParseSyntheticVideo(
    absl::string_view dataset) {
  ASSIGN_OR_RETURN(const std::string id, DatasetId(dataset));
  const std::vector<absl::string_view> parts =
      absl::StrSplit(absl::StripPrefix(id, "synthetic:"), ',');
  SyntheticVideoSpec spec;
  spec.ids = parts[0] == "ids";
  if (parts[0] != "video" && !spec.ids) {
    return Wrong(dataset,
                 absl::StrCat("there are no synthetic clips of kind \"",
                              parts[0], "\", only video and ids"));
  }
  for (size_t i = 1; i < parts.size(); ++i) {
    RETURN_IF_ERROR(ReadParameter(dataset, parts[i], &spec));
  }
  if (spec.ids && spec.n > kItemIds) {
    return Wrong(dataset, absl::StrCat("there are ", kItemIds, " ids"));
  }
  return spec;
}

EncodeOptions SyntheticVideoOptions(const SyntheticVideoSpec& spec,
                                    int64_t index) {
  EncodeOptions options;
  options.container = spec.container;
  if (spec.container == "mp4") {
    options.codec = "libx264";
    options.key_interval = 50;
    options.b_frames = 3;
  }
  if (spec.ids) {
    options.frames = kIdFrames;
    options.color = ItemIdColor(index);
    return options;
  }
  SyntheticRandom random(SeedOf(spec, index));
  options.frames = random.Between(150, 200);
  return options;
}

std::string SyntheticVideoName(const SyntheticVideoSpec& spec, int64_t index) {
  return absl::StrFormat("synthetic_%08d.%s", index, spec.container);
}

absl::Status WriteSyntheticVideos(const SyntheticVideoSpec& spec, int64_t count,
                                  const std::string& folder) {
  RETURN_IF_ERROR(MakeFolder(folder));
  std::mutex mutex;
  absl::Status first_failure;
  ParallelFor(count, 0, [&](int64_t i) {
    const std::string path = JoinPath(folder, SyntheticVideoName(spec, i));
    if (IsFile(path)) return;
    const absl::StatusOr<std::string> file =
        EncodeVideo(SyntheticVideoOptions(spec, i), SeedOf(spec, i));
    const absl::Status written =
        file.ok() ? WriteFileAtomically(path, *file) : file.status();
    const std::lock_guard<std::mutex> lock(mutex);
    first_failure.Update(written);
  });
  return first_failure;
}

namespace {

// Mirrors at the edges, so that there is a picture wherever the camera looks.
int Mirrored(int64_t at, int size) {
  const int64_t period = int64_t{2} * size;
  const auto inside = static_cast<int>(((at % period) + period) % period);
  return inside < size ? inside : static_cast<int>(period - 1 - inside);
}

uint8_t ToByte(int value, int highest = 235) {
  return static_cast<uint8_t>(std::clamp(value, 16, highest));
}

// What synthetic videos show: a camera that moves over a picture, with
// something moving in front of it.
class MovingScene {
 public:
  MovingScene(const EncodeOptions& options, uint64_t seed);

  // Luma (16 to 235) and chroma of pixel (x, y) of frame `number`.
  struct Yuv {
    uint8_t y;
    uint8_t u;
    uint8_t v;
  };
  Yuv At(int64_t number, int x, int y) const;

 private:
  const std::optional<std::array<uint8_t, 3>> color_;
  const Image picture_;
  const int width_;
  const int height_;
  const uint32_t grain_key_;
  int speed_x_;
  int speed_y_;
  int thing_speed_;
};

MovingScene::MovingScene(const EncodeOptions& options, uint64_t seed)
    : color_(options.color),
      picture_(color_.has_value() ? Image(1, 1, 3) : SyntheticPixels(seed, 0)),
      width_(options.width),
      height_(options.height),
      grain_key_(static_cast<uint32_t>(seed * 0x9e3779b1u + 17)) {
  SyntheticRandom random(seed ^ 0x51ed270b4d2a1f3cu);
  // In quarters of a pixel per frame.
  speed_x_ = random.Between(-12, 12);
  speed_y_ = random.Between(-4, 4);
  thing_speed_ = random.Between(6, 20);
}

MovingScene::Yuv MovingScene::At(int64_t number, int x, int y) const {
  const std::optional<bool> square = PatternAt(number, width_, x, y);
  if (square.has_value()) {
    return {static_cast<uint8_t>(*square ? 235 : 16), 128, 128};
  }
  const int side = height_ / 4;
  const int64_t left = Mirrored(number * thing_speed_ / 4, width_);
  const int64_t top = height_ / 3 + Mirrored(number, height_ / 4);
  const bool thing = x >= left && x < left + side && y >= top && y < top + side;
  // The object has its own texture, which moves with it.
  const int64_t from_x =
      thing ? 2 * (x - left) + 31 : x + number * speed_x_ / 4;
  const int64_t from_y = thing ? 2 * (y - top) + 7 : y + number * speed_y_ / 4;
  const uint8_t* rgb =
      color_.has_value()
          ? color_->data()
          : picture_.view().row(Mirrored(from_y, picture_.height())) +
                3 * Mirrored(from_x, picture_.width());
  // Scenes keep to what they have always been.
  const int chroma = color_.has_value() ? 240 : 235;
  const int r = rgb[0];
  const int g = rgb[1];
  const int b = rgb[2];
  const uint32_t place =
      static_cast<uint32_t>((number * height_ + y) * width_ + x);
  const int grain =
      color_.has_value()
          ? 0
          : static_cast<int>(PixelHash(grain_key_, place) % 5) - 2;
  return {ToByte(16 + ((66 * r + 129 * g + 25 * b + 128) >> 8) + grain),
          ToByte(128 + ((-38 * r - 74 * g + 112 * b + 128) >> 8), chroma),
          ToByte(128 + ((112 * r - 94 * g - 18 * b + 128) >> 8), chroma)};
}

constexpr int kFramesPerSecond = 25;
constexpr int kBufferBytes = 1 << 15;

absl::Status Failed(absl::string_view what, int result) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": ", AvErrorText(result)));
}

absl::Status Check(absl::string_view what, int result) {
  return result < 0 ? Failed(what, result) : absl::OkStatus();
}

struct MuxerDeleter {
  void operator()(AVFormatContext* muxer) const {
    muxer->pb = nullptr;
    avformat_free_context(muxer);
  }
};

// A file in memory that FFmpeg writes and seeks in.
class MemoryFile {
 public:
  MemoryFile() {
    auto* buffer = static_cast<unsigned char*>(av_malloc(kBufferBytes));
    io_ =
        avio_alloc_context(buffer, kBufferBytes, 1, this, nullptr, Write, Seek);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() {
    av_freep(&io_->buffer);
    avio_context_free(&io_);
  }
  AVIOContext* io() { return io_; }
  std::string Finish() {
    avio_flush(io_);
    return std::move(bytes_);
  }

 private:
  static int Write(void* opaque, uint8_t* data, int size) {
    auto* self = static_cast<MemoryFile*>(opaque);
    const size_t end = self->at_ + size;
    if (end > self->bytes_.size()) self->bytes_.resize(end);
    std::memcpy(&self->bytes_[self->at_], data, size);
    self->at_ = end;
    return size;
  }
  static int64_t Seek(void* opaque, int64_t offset, int whence) {
    auto* self = static_cast<MemoryFile*>(opaque);
    const auto size = static_cast<int64_t>(self->bytes_.size());
    if (whence == AVSEEK_SIZE) return size;
    if (whence == SEEK_CUR) offset += static_cast<int64_t>(self->at_);
    if (whence == SEEK_END) offset += size;
    if (offset < 0) return AVERROR(EINVAL);
    self->at_ = static_cast<size_t>(offset);
    return offset;
  }

  AVIOContext* io_ = nullptr;
  std::string bytes_;
  size_t at_ = 0;
};

// Encodes one video into a file in memory.
class Encoder {
 public:
  Encoder(const EncodeOptions& options, uint64_t seed)
      : options_(options), scene_(options, seed) {}

  absl::StatusOr<std::string> Run() {
    RETURN_IF_ERROR(OpenCodec());
    RETURN_IF_ERROR(OpenMuxer());
    for (int64_t i = 0; i < options_.frames; ++i) {
      RETURN_IF_ERROR(PaintFrame(i));
      RETURN_IF_ERROR(Encode(frame_.get()));
    }
    RETURN_IF_ERROR(Encode(nullptr));
    if (options_.packed) RETURN_IF_ERROR(WritePacked());
    RETURN_IF_ERROR(Check("trailer", av_write_trailer(muxer_.get())));
    return file_.Finish();
  }

 private:
  absl::Status OpenCodec() {
    const AVCodec* codec = avcodec_find_encoder_by_name(options_.codec.c_str());
    if (codec == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("this FFmpeg has no encoder ", options_.codec));
    }
    codec_.reset(avcodec_alloc_context3(codec));
    codec_->width = options_.width;
    codec_->height = options_.height;
    codec_->pix_fmt = av_get_pix_fmt(options_.pixel_format.c_str());
    codec_->time_base = {1, kFramesPerSecond};
    codec_->framerate = {kFramesPerSecond, 1};
    codec_->gop_size = options_.key_interval;
    codec_->max_b_frames = options_.b_frames;
    // Rate control and threads would make the bytes depend on the machine.
    codec_->thread_count = 1;
    codec_->flags |= AV_CODEC_FLAG_BITEXACT;
    const bool is_x264 = options_.codec == "libx264";
    if (is_x264) {
      av_opt_set(codec_->priv_data, "crf",
                 options_.color.has_value() ? "4" : "23", 0);
      av_opt_set(codec_->priv_data, "preset", "veryfast", 0);
      // On x86-64, one file in ten differed with it.
      av_opt_set(codec_->priv_data, "mbtree", "0", 0);
    } else {
      codec_->flags |= AV_CODEC_FLAG_QSCALE;
      codec_->global_quality =
          FF_QP2LAMBDA * (options_.color.has_value() ? 1 : 5);
    }
    if (options_.container == "mp4" || options_.container == "mov" ||
        options_.container == "mkv") {
      codec_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    }
    AVDictionary* options = nullptr;
    av_dict_parse_string(&options, options_.codec_options.c_str(), "=", ",", 0);
    const int opened = avcodec_open2(codec_.get(), codec, &options);
    av_dict_free(&options);
    return Check(absl::StrCat("encoder ", options_.codec), opened);
  }

  absl::Status OpenMuxer() {
    AVFormatContext* muxer = nullptr;
    const std::string name = absl::StrCat("video.", options_.container);
    RETURN_IF_ERROR(Check(absl::StrCat("container ", options_.container),
                          avformat_alloc_output_context2(
                              &muxer, nullptr, nullptr, name.c_str())));
    muxer_.reset(muxer);
    muxer->flags |= AVFMT_FLAG_BITEXACT;
    muxer->pb = file_.io();
    stream_ = avformat_new_stream(muxer, nullptr);
    RETURN_IF_ERROR(Check("stream", avcodec_parameters_from_context(
                                        stream_->codecpar, codec_.get())));
    stream_->time_base = codec_->time_base;
    stream_->avg_frame_rate = codec_->framerate;
    if (options_.rotation != 0) {
      auto* matrix = reinterpret_cast<int32_t*>(av_stream_new_side_data(
          stream_, AV_PKT_DATA_DISPLAYMATRIX, 9 * sizeof(int32_t)));
      av_display_rotation_set(matrix, options_.rotation);
    }
    if (options_.hidden_frames > 0) muxer->avoid_negative_ts = 0;
    AVDictionary* options = nullptr;
    av_dict_parse_string(&options, options_.container_options.c_str(), "=", ",",
                         0);
    const int begun = avformat_write_header(muxer, &options);
    av_dict_free(&options);
    RETURN_IF_ERROR(Check("header", begun));
    frame_.reset(av_frame_alloc());
    packet_.reset(av_packet_alloc());
    return absl::OkStatus();
  }

  absl::Status PaintFrame(int64_t number) {
    // A new frame each time: the encoder may hold the last one.
    av_frame_unref(frame_.get());
    frame_->format = codec_->pix_fmt;
    frame_->width = options_.width;
    frame_->height = options_.height;
    RETURN_IF_ERROR(Check("frame", av_frame_get_buffer(frame_.get(), 0)));
    frame_->pts = (options_.variable_rate ? number + number / 2 : number) -
                  options_.hidden_frames;
    const AVPixFmtDescriptor* format = av_pix_fmt_desc_get(codec_->pix_fmt);
    for (int plane = 0; plane < 3; ++plane) PaintPlane(*format, number, plane);
    return absl::OkStatus();
  }

  void PaintPlane(const AVPixFmtDescriptor& format, int64_t number, int plane) {
    const int shift_x = plane == 0 ? 0 : format.log2_chroma_w;
    const int shift_y = plane == 0 ? 0 : format.log2_chroma_h;
    const int depth = format.comp[plane].depth;
    const int columns = -((-options_.width) >> shift_x);
    const int rows = -((-options_.height) >> shift_y);
    for (int row = 0; row < rows; ++row) {
      uint8_t* line = frame_->data[plane] + row * frame_->linesize[plane];
      for (int column = 0; column < columns; ++column) {
        const MovingScene::Yuv pixel =
            scene_.At(number, column << shift_x, row << shift_y);
        const uint8_t value = plane == 0   ? pixel.y
                              : plane == 1 ? pixel.u
                                           : pixel.v;
        if (depth == 8) {
          line[column] = value;
        } else {
          reinterpret_cast<uint16_t*>(line)[column] =
              static_cast<uint16_t>(value << (depth - 8));
        }
      }
    }
  }

  // Null means the end.
  absl::Status Encode(AVFrame* frame) {
    if (frame != nullptr && codec_->flags & AV_CODEC_FLAG_QSCALE) {
      frame->quality = codec_->global_quality;
    }
    RETURN_IF_ERROR(Check("encoding", avcodec_send_frame(codec_.get(), frame)));
    while (true) {
      const int received = avcodec_receive_packet(codec_.get(), packet_.get());
      if (received == AVERROR(EAGAIN) || received == AVERROR_EOF) {
        return absl::OkStatus();
      }
      RETURN_IF_ERROR(Check("encoding", received));
      if (options_.packed) {
        held_.emplace_back(reinterpret_cast<const char*>(packet_->data),
                           packet_->size);
        av_packet_unref(packet_.get());
        continue;
      }
      av_packet_rescale_ts(packet_.get(), codec_->time_base,
                           stream_->time_base);
      packet_->stream_index = stream_->index;
      RETURN_IF_ERROR(Check(
          "writing", av_interleaved_write_frame(muxer_.get(), packet_.get())));
    }
  }

  // Writes what was held, packed.
  absl::Status WritePacked() {
    // A frame that is not coded.
    const std::string dummy("\0\0\1\xb6\x50\x4f\x7f", 7);
    // What DivX calls itself. The p says that frames are packed.
    const std::string name(
        "\0\0\1\xb2"
        "DivX503b1393p",
        17);
    held_[0].insert(held_[0].find(kVop), name);
    std::vector<std::string> packets;
    for (size_t i = 0; i < held_.size();) {
      packets.push_back(held_[i++]);
      if (i == held_.size() || !IsBFrame(held_[i])) continue;
      packets.back() += held_[i++];
      while (i < held_.size() && IsBFrame(held_[i])) {
        packets.push_back(held_[i++]);
      }
      packets.push_back(dummy);
    }
    packets.push_back(dummy);
    for (size_t i = 0; i < packets.size(); ++i) {
      RETURN_IF_ERROR(Check(
          "packet",
          av_new_packet(packet_.get(), static_cast<int>(packets[i].size()))));
      std::memcpy(packet_->data, packets[i].data(), packets[i].size());
      packet_->pts = packet_->dts = static_cast<int64_t>(i);
      packet_->stream_index = stream_->index;
      if (VopType(packets[i]) == 0) packet_->flags |= AV_PKT_FLAG_KEY;
      RETURN_IF_ERROR(Check(
          "writing", av_interleaved_write_frame(muxer_.get(), packet_.get())));
    }
    return absl::OkStatus();
  }

  // The type of the first frame in a packet of MPEG-4: 0 key, 1 P, 2 B.
  static int VopType(const std::string& packet) {
    return static_cast<uint8_t>(packet[packet.find(kVop) + 4]) >> 6;
  }
  static bool IsBFrame(const std::string& packet) {
    return VopType(packet) == 2;
  }

  static inline const std::string kVop{"\0\0\1\xb6", 4};

  const EncodeOptions& options_;
  const MovingScene scene_;
  std::vector<std::string> held_;
  AvPtr<AVCodecContext> codec_;
  MemoryFile file_;
  std::unique_ptr<AVFormatContext, MuxerDeleter> muxer_;
  AVStream* stream_ = nullptr;
  AvPtr<AVFrame> frame_;
  AvPtr<AVPacket> packet_;
};

}  // namespace

absl::StatusOr<std::string> EncodeVideo(const EncodeOptions& options,
                                        uint64_t seed) {
  SilenceAv();
  return Encoder(options, seed).Run();
}

absl::StatusOr<std::string> JoinVideos(const std::vector<std::string>& files,
                                       const std::string& container,
                                       int64_t skipped) {
  // A delay of times, so that no frame is decoded after its own time.
  const int64_t delay = skipped > 0 ? 16 : 0;
  MemoryFile file;
  AVFormatContext* made = nullptr;
  const std::string name = absl::StrCat("video.", container);
  RETURN_IF_ERROR(Check(
      "container",
      avformat_alloc_output_context2(&made, nullptr, nullptr, name.c_str())));
  const std::unique_ptr<AVFormatContext, MuxerDeleter> muxer(made);
  muxer->flags |= AVFMT_FLAG_BITEXACT;
  muxer->pb = file.io();
  std::vector<std::unique_ptr<PacketList>> lists;
  int64_t packets = 0;
  for (const std::string& bytes : files) {
    ASSIGN_OR_RETURN(lists.emplace_back(), PacketList::Open({"", bytes}));
    packets = std::max(packets, lists.back()->size());
    AVStream* const stream = avformat_new_stream(made, nullptr);
    RETURN_IF_ERROR(
        Check("stream", avcodec_parameters_copy(stream->codecpar,
                                                &lists.back()->parameters())));
    stream->codecpar->codec_tag = 0;
    stream->time_base = {1, kFramesPerSecond};
    stream->avg_frame_rate = {kFramesPerSecond, 1};
    if (lists.size() == files.size()) {
      stream->disposition = AV_DISPOSITION_DEFAULT;
    }
  }
  RETURN_IF_ERROR(Check("header", avformat_write_header(made, nullptr)));
  for (int64_t i = skipped; i < packets; ++i) {
    for (size_t s = 0; s < lists.size(); ++s) {
      if (i >= lists[s]->size()) continue;
      ASSIGN_OR_RETURN(const AVPacket* const packet, lists[s]->Get(i));
      const AvPtr<AVPacket> copy(av_packet_clone(packet));
      copy->stream_index = static_cast<int>(s);
      copy->pts += delay;
      copy->duration = 1;
      av_packet_rescale_ts(copy.get(), {1, kFramesPerSecond},
                           made->streams[s]->time_base);
      RETURN_IF_ERROR(
          Check("writing", av_interleaved_write_frame(made, copy.get())));
    }
  }
  RETURN_IF_ERROR(Check("trailer", av_write_trailer(made)));
  return file.Finish();
}

}  // namespace feedrate
