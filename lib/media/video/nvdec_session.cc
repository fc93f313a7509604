#include "lib/media/video/nvdec_session.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/media/video/av.h"
#include "lib/media/video/frame_rgb.h"
#include "lib/media/video/nvcuvid.h"
#include "lib/media/video/nvdec_engine.h"
#include "lib/media/video/packet_filter.h"

namespace feedrate {
namespace {

// Pictures that are decoded before one is looked at: to wait for it at once
// would leave the engine idle. The library's header recommends 2 to 4.
constexpr int kDelay = 4;
// Packets back that a picture in the decode callback may be from. It is
// complete when the next one begins, and that the parser sees when it has 256
// bytes of it, or all of it where it is smaller.
constexpr int kLate = 2;
// Callbacks say so.
constexpr int kFailed = 0;
constexpr int kDone = 1;

// NumCodecs: none of the engine's.
cudaVideoCodec CodecOf(AVCodecID codec) {
  switch (codec) {
    case AV_CODEC_ID_H264:
      return cudaVideoCodec_H264;
    case AV_CODEC_ID_HEVC:
      return cudaVideoCodec_HEVC;
    case AV_CODEC_ID_MPEG4:
      return cudaVideoCodec_MPEG4;
    case AV_CODEC_ID_VP8:
      return cudaVideoCodec_VP8;
    case AV_CODEC_ID_VP9:
      return cudaVideoCodec_VP9;
    case AV_CODEC_ID_AV1:
      return cudaVideoCodec_AV1;
    default:
      return cudaVideoCodec_NumCodecs;
  }
}

// Whether streams of the codec name matrix and range as FFmpeg's enums do. For
// MPEG-4 the library has defaults of its own, and VP9 has other numbers.
bool TellsColours(cudaVideoCodec codec) {
  return codec == cudaVideoCodec_H264 || codec == cudaVideoCodec_HEVC ||
         codec == cudaVideoCodec_AV1;
}

}  // namespace

struct NvdecSession::Callbacks {
  static int CUDAAPI Sequence(void* session, CUVIDEOFORMAT* format) {
    auto* const self = static_cast<NvdecSession*>(session);
    if (!self->failure_.ok()) return kFailed;
    const absl::StatusOr<int> surfaces = self->engine_->Fit(*format, kDelay);
    self->failure_ = surfaces.status();
    if (!surfaces.ok()) return kFailed;
    Describe(*format, self);
    return *surfaces;
  }

  static int CUDAAPI Decode(void* session, CUVIDPICPARAMS* picture) {
    auto* const self = static_cast<NvdecSession*>(session);
    if (!self->failure_.ok()) return kFailed;
    // In HEVC a picture that no other of its layer needs may be needed by a
    // higher layer.
    const bool skip = picture->ref_pic_flag == 0 && self->unwanted_ > kLate &&
                      self->codec_ == AV_CODEC_ID_H264;
    self->missing_[picture->CurrPicIdx % self->missing_.size()] = skip;
    if (skip) {
      self->engine_->Skip();
      return kDone;
    }
    self->failure_ = self->engine_->Decode(picture);
    return self->failure_.ok() ? kDone : kFailed;
  }

  static int CUDAAPI Display(void* session, CUVIDPARSERDISPINFO* shown) {
    auto* const self = static_cast<NvdecSession*>(session);
    if (!self->failure_.ok()) return kFailed;
    if (shown == nullptr || self->sink_ == nullptr ||
        !self->sink_->Wants(shown->timestamp)) {
      return kDone;
    }
    self->failure_ = Show(*shown, self);
    return self->failure_.ok() ? kDone : kFailed;
  }

 private:
  static void Describe(const CUVIDEOFORMAT& format, NvdecSession* self) {
    const auto& area = format.display_area;
    self->left_ = area.left;
    self->top_ = area.top;
    self->picture_.width = area.right - area.left;
    self->picture_.height = area.bottom - area.top;
    AVColorSpace matrix = self->matrix_;
    bool full_range = self->full_range_;
    if (TellsColours(format.codec)) {
      const auto& signal = format.video_signal_description;
      const auto named = static_cast<AVColorSpace>(signal.matrix_coefficients);
      // Zeros may mean that nothing is said.
      if (named != AVCOL_SPC_RGB && named != AVCOL_SPC_UNSPECIFIED) {
        matrix = named;
      }
      full_range |= signal.video_full_range_flag != 0;
    }
    self->picture_.weights = WeightsOf(matrix, full_range);
  }

  static absl::Status Show(const CUVIDPARSERDISPINFO& shown,
                           NvdecSession* self) {
    // It was left out by mistake, or damaged: the parser shows it all the same.
    if (self->missing_[shown.picture_index % self->missing_.size()]) {
      return absl::UnimplementedError(absl::StrCat(
          "NVDEC: frame ", shown.timestamp, " is wanted and was not decoded"));
    }
    NvdecEngine& engine = *self->engine_;
    ASSIGN_OR_RETURN(const NvdecEngine::Surface surface,
                     engine.Map(shown.picture_index));
    Nv12Frame nv12 = self->picture_;
    const auto* const luma = reinterpret_cast<const uint8_t*>(surface.address);
    const uint8_t* const chroma = luma + surface.rows * surface.stride;
    nv12.luma = luma + self->top_ * surface.stride + self->left_;
    nv12.chroma = chroma + self->top_ / 2 * surface.stride + self->left_;
    nv12.luma_stride = nv12.chroma_stride = surface.stride;
    DecodedFrame frame;
    frame.width = nv12.width;
    frame.height = nv12.height;
    frame.is_damaged = surface.is_damaged;
    frame.on_device = &nv12;
    const absl::Status taken = self->sink_->Take(frame);
    const absl::Status unmapped = engine.Unmap(surface);
    return taken.ok() ? unmapped : taken;
  }
};

NvdecSession::NvdecSession(const Nvcuvid& library, CUstream_st* stream)
    : library_(library),
      engine_(std::make_unique<NvdecEngine>(library, stream)) {}

NvdecSession::~NvdecSession() { DestroyParser(); }

const NvdecCounts& NvdecSession::counts() const { return engine_->counts(); }

void NvdecSession::DestroyParser() {
  if (parser_ != nullptr) library_.destroy_parser(parser_);
  parser_ = nullptr;
}

absl::Status NvdecSession::Begin(const AVCodecParameters& parameters) {
  DestroyParser();
  filter_ = nullptr;
  codec_ = parameters.codec_id;
  const cudaVideoCodec codec = CodecOf(codec_);
  if (codec == cudaVideoCodec_NumCodecs) {
    return absl::UnimplementedError(
        absl::StrCat("engines do not decode ", name()));
  }
  matrix_ = parameters.color_space;
  full_range_ = parameters.color_range == AVCOL_RANGE_JPEG ||
                parameters.format == AV_PIX_FMT_YUVJ420P;
  // Numbers of its own that nobody has written down here; what the container
  // says is good enough, where it says something.
  if (codec == cudaVideoCodec_VP9 && matrix_ == AVCOL_SPC_UNSPECIFIED) {
    return absl::UnimplementedError("does not say what its colours are");
  }
  BeginRow();
  ASSIGN_OR_RETURN(filter_, PacketFilter::Create(parameters));
  return CreateParser(codec);
}

absl::Status NvdecSession::CreateParser(int codec) {
  CUVIDPARSERPARAMS params = {};
  params.CodecType = static_cast<cudaVideoCodec>(codec);
  // Until the sequence tells how many.
  params.ulMaxNumDecodeSurfaces = 1;
  // The default clock, which leaves times as they are. A picture with any
  // error in it is none (ulErrorThreshold 0).
  params.ulMaxDisplayDelay = kDelay;
  params.pUserData = this;
  params.pfnSequenceCallback = Callbacks::Sequence;
  params.pfnDecodePicture = Callbacks::Decode;
  params.pfnDisplayPicture = Callbacks::Display;
  const auto known = std::make_shared<CUVIDEOFORMATEX>();
  const absl::string_view header = filter_->header();
  if (!header.empty() && header.size() <= sizeof(known->raw_seqhdr_data)) {
    known->format.seqhdr_data_length = static_cast<unsigned>(header.size());
    std::memcpy(known->raw_seqhdr_data, header.data(), header.size());
    params.pExtVideoInfo = known.get();
  }
  // Nothing says that it is copied.
  known_ = known;
  const absl::Status created = NvcuvidStatus(
      library_.create_parser(&parser_, &params), "cuvidCreateVideoParser");
  if (!created.ok()) parser_ = nullptr;
  return created;
}

absl::Status NvdecSession::Parse(absl::string_view bytes, unsigned flags,
                                 int64_t pts) {
  CUVIDSOURCEDATAPACKET packet = {};
  packet.flags = flags;
  packet.payload = reinterpret_cast<const unsigned char*>(bytes.data());
  packet.payload_size = bytes.size();
  packet.timestamp = pts;
  failure_ = absl::OkStatus();
  const CUresult result = library_.parse(parser_, &packet);
  if (!failure_.ok()) return std::exchange(failure_, absl::OkStatus());
  const absl::Status parsed = NvcuvidStatus(result, "cuvidParseVideoData");
  if (parsed.ok() || absl::IsResourceExhausted(parsed)) return parsed;
  return absl::InvalidArgumentError(
      absl::StrCat("is damaged: ", parsed.message()));
}

absl::Status NvdecSession::ParsePacket(const AVPacket& packet) {
  const bool has_time = packet.pts != AV_NOPTS_VALUE;
  return Parse({reinterpret_cast<const char*>(packet.data),
                static_cast<size_t>(packet.size)},
               has_time ? CUVID_PKT_TIMESTAMP : 0, has_time ? packet.pts : 0);
}

absl::Status NvdecSession::ParseHeader() {
  const absl::string_view header = filter_->header();
  return header.empty() ? absl::OkStatus() : Parse(header, 0, 0);
}

absl::Status NvdecSession::ParseEnd() {
  return Parse({}, CUVID_PKT_ENDOFSTREAM, 0);
}

absl::Status NvdecSession::SendPacket(const AVPacket& packet) {
  // The parser has forgotten, with the end that it was told of.
  if (std::exchange(is_fresh_, false)) RETURN_IF_ERROR(ParseHeader());
  return filter_->Send(
      packet, [this](const AVPacket& plain) { return ParsePacket(plain); });
}

absl::Status NvdecSession::SendEnd() {
  // A mark of discontinuity would do for the parser's own state, but not get
  // the frames out.
  RETURN_IF_ERROR(filter_->Drain(
      [this](const AVPacket& plain) { return ParsePacket(plain); }));
  RETURN_IF_ERROR(ParseEnd());
  BeginRow();
  return absl::OkStatus();
}

void NvdecSession::BeginRow() {
  is_fresh_ = true;
  unwanted_ = kLate;
  missing_.fill(true);
}

absl::Status NvdecSession::Checked(absl::Status status) {
  sink_ = nullptr;
  if (status.ok()) return status;
  DestroyParser();
  // What is not the engine's has not touched its decoder.
  if (!absl::IsUnimplemented(status)) engine_->Reset();
  return status;
}

absl::Status NvdecSession::Send(const AVPacket& packet, bool wanted,
                                FrameSink* sink) {
  if (parser_ == nullptr) {
    return absl::FailedPreconditionError("NVDEC: no file was begun");
  }
  sink_ = sink;
  unwanted_ = wanted ? 0 : unwanted_ + 1;
  return Checked(SendPacket(packet));
}

absl::Status NvdecSession::Drain(FrameSink* sink) {
  if (parser_ == nullptr) {
    return absl::FailedPreconditionError("NVDEC: no file was begun");
  }
  sink_ = sink;
  return Checked(SendEnd());
}

}  // namespace feedrate
