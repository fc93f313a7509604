#include "lib/media/video/nvdec/fake_nvcuvid.h"

#include <cstring>
#include <deque>
#include <utility>

namespace feedrate {
namespace {

FakeNvcuvid* current = nullptr;

// The library rounds up to macroblocks.
int Coded(int size) { return (size + 15) / 16 * 16; }

CUresult Result(int code) { return static_cast<CUresult>(code); }

// Whether others may refer to the picture of a plain H.264 packet.
bool IsReference(const std::string& packet) {
  for (size_t i = 0; i + 3 < packet.size(); ++i) {
    if (packet[i] != 0 || packet[i + 1] != 0 || packet[i + 2] != 1) continue;
    const int type = packet[i + 3] & 0x1f;
    if (type == 1 || type == 5) return (packet[i + 3] & 0x60) != 0;
  }
  return true;
}

// The bits of the first byte of a packet of VP9.
bool ShowsEarlier(uint8_t first) { return (first & 0x08) != 0; }
bool IsShown(uint8_t first) { return (first & 0x02) != 0; }

// The size in the packet of a key frame of 8 bits; a multiple of 4 bits before
// it.
int Vp9Width(const uint8_t* at) {
  return ((at[4] & 15) << 12 | at[5] << 4 | at[6] >> 4) + 1;
}
int Vp9Height(const uint8_t* at) { return Vp9Width(at + 2); }

}  // namespace

// A picture is complete when the next one begins, so everything here happens
// late. Packets of VP9 are complete.
struct FakeNvcuvid::Parser {
  explicit Parser(const CUVIDPARSERPARAMS& params) : params(params) {
    is_h264 = params.CodecType == cudaVideoCodec_H264;
    is_vp9 = params.CodecType == cudaVideoCodec_VP9;
    const AVCodecID id = is_h264  ? AV_CODEC_ID_H264
                         : is_vp9 ? AV_CODEC_ID_VP9
                                  : AV_CODEC_ID_MPEG4;
    const AVCodec* const codec = avcodec_find_decoder(id);
    decoder.reset(avcodec_alloc_context3(codec));
    decoder->thread_count = 1;
    avcodec_open2(decoder.get(), codec, nullptr);
    sizes = av_parser_init(id);
    sizes->flags |= PARSER_FLAG_COMPLETE_FRAMES;
    packet.reset(av_packet_alloc());
    frame.reset(av_frame_alloc());
  }
  ~Parser() { av_parser_close(sizes); }

  bool Take(const CUVIDSOURCEDATAPACKET& data) {
    const std::string bytes(reinterpret_cast<const char*>(data.payload),
                            data.payload_size);
    if (data.flags & CUVID_PKT_ENDOFSTREAM) return End();
    if (!(data.flags & CUVID_PKT_TIMESTAMP)) {
      header += bytes;
      return true;
    }
    waiting.push_back({std::exchange(header, "") + bytes, data.timestamp});
    const int late = is_vp9 ? 0 : current->late;
    return static_cast<int>(waiting.size()) <= late || Finish();
  }

  bool End() {
    ++current->ends;
    while (!waiting.empty()) {
      if (!Finish()) return false;
    }
    avcodec_send_packet(decoder.get(), nullptr);
    if (!ShowReady() || !ShowSkipped(INT64_MAX)) return false;
    avcodec_flush_buffers(decoder.get());
    surfaces = 0;
    last_time = -1;
    lag = 0;
    return true;
  }

  // Decodes the oldest waiting packet.
  bool Finish() {
    const std::string bytes = std::move(waiting.front().first);
    time = waiting.front().second;
    waiting.pop_front();
    av_new_packet(packet.get(), static_cast<int>(bytes.size()));
    std::memcpy(packet->data, bytes.data(), bytes.size());
    packet->pts = time;
    const bool good = StartSequence() && (is_vp9 ? DecodeVp9(bytes[0])
                                                 : Decode(IsReference(bytes)));
    av_packet_unref(packet.get());
    return good && ShowReady();
  }

  // A first picture that is not shown has another one behind it.
  bool DecodeVp9(uint8_t first) {
    if (ShowsEarlier(first)) {
      index_of[time] = hidden;
      return avcodec_send_packet(decoder.get(), packet.get()) >= 0;
    }
    if (!IsShown(first)) {
      CUVIDPICPARAMS picture = {};
      hidden = picture.CurrPicIdx = next++ % surfaces;
      // From here on the real parser's times are late.
      lag = 1;
      if (params.pfnDecodePicture(params.pUserData, &picture) == 0) {
        return false;
      }
    }
    return Decode(/*is_reference=*/true);
  }

  bool StartSequence() {
    uint8_t* out = nullptr;
    int size = 0;
    av_parser_parse2(sizes, decoder.get(), &out, &size, packet->data,
                     packet->size, time, time, 0);
    if (surfaces > 0) return true;
    int width = is_h264 ? sizes->width : decoder->width;
    int height = is_h264 ? sizes->height : decoder->height;
    if (is_vp9) {
      width = Vp9Width(packet->data);
      height = Vp9Height(packet->data);
    }
    CUVIDEOFORMAT format = {};
    format.codec = params.CodecType;
    format.min_num_decode_surfaces = 8;
    format.coded_width = current->coded_width_ = Coded(width + current->left);
    format.coded_height = current->coded_height_ = Coded(height + current->top);
    format.display_area.left = current->left;
    format.display_area.top = current->top;
    format.display_area.right = current->left + width;
    format.display_area.bottom = current->top + height;
    format.chroma_format = is_h264 && sizes->format == AV_PIX_FMT_YUV444P
                               ? cudaVideoChromaFormat_444
                               : cudaVideoChromaFormat_420;
    auto& signal = format.video_signal_description;
    signal.video_format = 5;
    signal.video_full_range_flag = current->full_range;
    signal.matrix_coefficients = static_cast<unsigned char>(current->matrix);
    surfaces = params.pfnSequenceCallback(params.pUserData, &format);
    return surfaces > 0;
  }

  bool Decode(bool is_reference) {
    CUVIDPICPARAMS picture = {};
    picture.CurrPicIdx = next++ % surfaces;
    picture.ref_pic_flag = is_reference || !is_h264;
    current->decoded_ = false;
    if (params.pfnDecodePicture(params.pUserData, &picture) == 0) return false;
    index_of[time] = picture.CurrPicIdx;
    if (!current->decoded_) skipped.insert(time);
    decoder->skip_frame =
        current->decoded_ ? AVDISCARD_DEFAULT : AVDISCARD_NONREF;
    avcodec_send_packet(decoder.get(), packet.get());
    return true;
  }

  bool ShowReady() {
    while (avcodec_receive_frame(decoder.get(), frame.get()) >= 0) {
      const int64_t pts = frame->pts;
      current->pictures_[index_of[pts]].reset(av_frame_clone(frame.get()));
      av_frame_unref(frame.get());
      if (!ShowSkipped(pts) || !Show(pts)) return false;
    }
    return true;
  }

  // Pictures that were not decoded are shown in their turn too.
  bool ShowSkipped(int64_t before) {
    while (!skipped.empty() && *skipped.begin() < before) {
      const int64_t pts = *skipped.begin();
      skipped.erase(skipped.begin());
      if (!Show(pts)) return false;
    }
    return true;
  }

  bool Show(int64_t pts) {
    if (current->unshown.count(pts) > 0) return true;
    ++current->shown;
    current->times_rise &= pts > last_time;
    last_time = pts;
    CUVIDPARSERDISPINFO info = {};
    info.picture_index = index_of[pts];
    info.timestamp = pts - lag;
    return params.pfnDisplayPicture(params.pUserData, &info) != 0;
  }

  const CUVIDPARSERPARAMS params;
  bool is_h264 = false;
  bool is_vp9 = false;
  int hidden = 0;
  int64_t lag = 0;
  AvPtr<AVCodecContext> decoder;
  AVCodecParserContext* sizes = nullptr;
  AvPtr<AVPacket> packet;
  AvPtr<AVFrame> frame;
  std::string header;
  // With their times.
  std::deque<std::pair<std::string, int64_t>> waiting;
  int64_t time = 0;
  int surfaces = 0;
  int next = 0;
  int64_t last_time = -1;
  std::map<int64_t, int> index_of;
  std::set<int64_t> skipped;
};

struct FakeNvcuvid::Calls {
  static CUresult GetCaps(CUVIDDECODECAPS* caps) {
    caps->bIsSupported = 1;
    caps->nOutputFormatMask = 1;
    caps->nMinWidth = caps->nMinHeight = 48;
    caps->nMaxWidth = caps->nMaxHeight = 4096;
    caps->nMaxMBCount = 65536;
    return CUDA_SUCCESS;
  }

  static CUresult Create(CUvideodecoder* decoder, CUVIDDECODECREATEINFO*) {
    if (current->create_result != 0) return Result(current->create_result);
    ++current->decoders;
    *decoder = current;
    return CUDA_SUCCESS;
  }

  static CUresult Destroy(CUvideodecoder) {
    --current->decoders;
    return CUDA_SUCCESS;
  }

  static CUresult Reconfigure(CUvideodecoder, CUVIDRECONFIGUREDECODERINFO*) {
    return CUDA_SUCCESS;
  }

  static CUresult Decode(CUvideodecoder, CUVIDPICPARAMS*) {
    current->decoded_ = true;
    return Result(current->decode_result);
  }

  static CUresult Status(CUvideodecoder, int picture,
                         CUVIDGETDECODESTATUS* status) {
    const bool is_damaged =
        current->damaged.count(current->pictures_[picture]->pts) > 0;
    status->decodeStatus = is_damaged ? cuvidDecodeStatus_Error_Concealed
                                      : cuvidDecodeStatus_Success;
    return CUDA_SUCCESS;
  }

  static CUresult Map(CUvideodecoder, int picture, unsigned long long* address,
                      unsigned* pitch, CUVIDPROCPARAMS*) {
    if (current->map_result != 0) return Result(current->map_result);
    const AVFrame& frame = *current->pictures_[picture];
    // Rows have gaps between them.
    const int stride = current->coded_width_ + 32;
    *pitch = static_cast<unsigned>(stride);
    current->surface_.assign(stride * current->coded_height_ * 3 / 2, 0);
    uint8_t* const luma = current->surface_.data();
    uint8_t* const chroma = luma + stride * current->coded_height_;
    for (int y = 0; y < frame.height; ++y) {
      std::memcpy(luma + (y + current->top) * stride + current->left,
                  frame.data[0] + y * frame.linesize[0], frame.width);
    }
    for (int y = 0; y < (frame.height + 1) / 2; ++y) {
      uint8_t* const out =
          chroma + (y + current->top / 2) * stride + current->left;
      for (int x = 0; x < (frame.width + 1) / 2; ++x) {
        out[2 * x] = frame.data[1][y * frame.linesize[1] + x];
        out[2 * x + 1] = frame.data[2][y * frame.linesize[2] + x];
      }
    }
    *address = reinterpret_cast<uintptr_t>(luma);
    ++current->mapped;
    return CUDA_SUCCESS;
  }

  static CUresult Unmap(CUvideodecoder, unsigned long long) {
    --current->mapped;
    return CUDA_SUCCESS;
  }

  static CUresult CreateParser(CUvideoparser* parser,
                               CUVIDPARSERPARAMS* params) {
    if (current->create_parser_result != 0) {
      return Result(current->create_parser_result);
    }
    ++current->parsers;
    ++current->created_parsers;
    *parser = new Parser(*params);
    return CUDA_SUCCESS;
  }

  static CUresult Parse(CUvideoparser parser, CUVIDSOURCEDATAPACKET* packet) {
    if (current->parse_result != 0) return Result(current->parse_result);
    return static_cast<Parser*>(parser)->Take(*packet) ? CUDA_SUCCESS
                                                       : CUDA_ERROR_UNKNOWN;
  }

  static CUresult DestroyParser(CUvideoparser parser) {
    --current->parsers;
    delete static_cast<Parser*>(parser);
    return CUDA_SUCCESS;
  }
};

FakeNvcuvid::FakeNvcuvid() {
  SilenceAv();
  current = this;
  library_.get_decoder_caps = Calls::GetCaps;
  library_.create_decoder = Calls::Create;
  library_.destroy_decoder = Calls::Destroy;
  library_.reconfigure_decoder = Calls::Reconfigure;
  library_.decode_picture = Calls::Decode;
  library_.get_decode_status = Calls::Status;
  library_.map_video_frame = Calls::Map;
  library_.unmap_video_frame = Calls::Unmap;
  library_.create_parser = Calls::CreateParser;
  library_.parse = Calls::Parse;
  library_.destroy_parser = Calls::DestroyParser;
}

FakeNvcuvid::~FakeNvcuvid() { current = nullptr; }

}  // namespace feedrate
