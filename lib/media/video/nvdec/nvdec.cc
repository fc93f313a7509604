#include "lib/media/video/nvdec/nvdec.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/media/video/frame_rgb.h"
#include "lib/media/video/nvdec/nvdec_engine.h"

namespace feedrate {
namespace {

// Pictures that are decoded before one is used: waiting for it at once would
// leave the engine idle. The library's header recommends 2 to 4.
constexpr int kDelay = 4;
// How many packets back a picture in the decode callback may belong to. A
// picture is complete when the next one begins, which the parser detects after
// 256 bytes of it, or all of it where it is smaller.
constexpr int kLate = 2;
// What callbacks return.
constexpr int kFailed = 0;
constexpr int kDone = 1;

// NumCodecs means that the CPU decodes it: engines lack it or, for VP8, it was
// never compared.
cudaVideoCodec CodecOf(AVCodecID codec) {
  switch (codec) {
    case AV_CODEC_ID_H264:
      return cudaVideoCodec_H264;
    case AV_CODEC_ID_HEVC:
      return cudaVideoCodec_HEVC;
    case AV_CODEC_ID_MPEG4:
      return cudaVideoCodec_MPEG4;
    case AV_CODEC_ID_AV1:
      return cudaVideoCodec_AV1;
    case AV_CODEC_ID_VP9:
      return cudaVideoCodec_VP9;
    default:
      return cudaVideoCodec_NumCodecs;
  }
}

// Whether streams of the codec name matrix and range as FFmpeg's enums do. For
// MPEG-4 the library has its own defaults.
bool TellsColors(cudaVideoCodec codec) {
  return codec == cudaVideoCodec_H264 || codec == cudaVideoCodec_HEVC ||
         codec == cudaVideoCodec_AV1;
}

// Whether the codec has pictures that are decoded and not shown. After them the
// parser's times of VP9 go astray; those of AV1 are not trusted either.
bool HidesPictures(AVCodecID codec) {
  return codec == AV_CODEC_ID_VP9 || codec == AV_CODEC_ID_AV1;
}

// The first byte of a packet of VP9 with 8 bits: nothing but the number of an
// earlier picture to show.
bool ShowsEarlierVp9(uint8_t first) { return (first & 0xf8) == 0x88; }

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
    const size_t index = picture->CurrPicIdx % self->missing_.size();
    self->missing_[index] = skip;
    self->times_[index] = self->packet_time_;
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
    if (shown == nullptr) return kDone;
    const absl::StatusOr<int64_t> time =
        self->TimeOf(shown->picture_index, shown->timestamp);
    self->failure_ = time.status();
    if (!time.ok()) return kFailed;
    if (self->sink_ == nullptr || !self->sink_->Wants(*time)) return kDone;
    self->failure_ = Show(*shown, *time, self);
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
    if (TellsColors(format.codec)) {
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

  static absl::Status Show(const CUVIDPARSERDISPINFO& shown, int64_t time,
                           NvdecSession* self) {
    // It was left out by mistake, or damaged; the parser shows it anyway.
    if (self->missing_[shown.picture_index % self->missing_.size()]) {
      return absl::UnimplementedError(absl::StrCat(
          "NVDEC: frame ", time, " is wanted and was not decoded"));
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
  BeginRow();
  ASSIGN_OR_RETURN(filter_, PacketFilter::Create(parameters));
  return CreateParser(codec);
}

absl::Status NvdecSession::CreateParser(int codec) {
  CUVIDPARSERPARAMS params = {};
  params.CodecType = static_cast<cudaVideoCodec>(codec);
  // Until the sequence says how many.
  params.ulMaxNumDecodeSurfaces = 1;
  // The default clock, which does not change times. A picture with any error is
  // not shown (ulErrorThreshold 0).
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
  // It is not documented whether this is copied.
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

absl::StatusOr<int64_t> NvdecSession::TimeOf(int picture, int64_t parser_time) {
  if (!HidesPictures(codec_)) return parser_time;
  const int64_t decoded = times_[picture % times_.size()];
  if (unshown_.empty() ||
      (!unshown_.front().shows_earlier && unshown_.front().pts != decoded)) {
    return absl::UnimplementedError(absl::StrCat(
        "NVDEC: a picture before frame ", decoded, " was not shown"));
  }
  const int64_t pts = unshown_.front().pts;
  unshown_.pop_front();
  return pts;
}

void NvdecSession::ReadVp9Colors(const AVPacket& packet) {
  // A key frame of 8 bits begins so, then three bits for the matrix and one for
  // the range. FFmpeg's decoder takes them rather than the container's.
  constexpr uint8_t kSync[] = {0x49, 0x83, 0x42};
  constexpr AVColorSpace kMatrices[] = {
      AVCOL_SPC_UNSPECIFIED, AVCOL_SPC_BT470BG,   AVCOL_SPC_BT709,
      AVCOL_SPC_SMPTE170M,   AVCOL_SPC_SMPTE240M, AVCOL_SPC_BT2020_NCL,
      AVCOL_SPC_RESERVED,    AVCOL_SPC_RGB};
  if (packet.size < 5 || (packet.data[0] & 0xfc) != 0x80 ||
      std::memcmp(packet.data + 1, kSync, sizeof(kSync)) != 0) {
    return;
  }
  matrix_ = kMatrices[packet.data[4] >> 5];
  full_range_ = (packet.data[4] >> 4 & 1) != 0;
}

absl::Status NvdecSession::ParsePacket(const AVPacket& packet) {
  const bool has_time = packet.pts != AV_NOPTS_VALUE;
  packet_time_ = packet.pts;
  if (HidesPictures(codec_) && packet.size > 0) {
    // A packet shows one frame, whatever else it has. Where one of AV1 shows an
    // earlier picture, another decoder must read the file.
    const bool shows_earlier =
        codec_ == AV_CODEC_ID_VP9 && ShowsEarlierVp9(packet.data[0]);
    unshown_.push_back({packet.pts, shows_earlier});
  }
  if (codec_ == AV_CODEC_ID_VP9) ReadVp9Colors(packet);
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
  // The parser dropped them at the end of the stream.
  if (std::exchange(is_fresh_, false)) RETURN_IF_ERROR(ParseHeader());
  return filter_->Send(
      packet, [this](const AVPacket& plain) { return ParsePacket(plain); });
}

absl::Status NvdecSession::SendEnd() {
  // A discontinuity flag would reset the parser's state, but not return the
  // frames.
  RETURN_IF_ERROR(filter_->Drain(
      [this](const AVPacket& plain) { return ParsePacket(plain); }));
  RETURN_IF_ERROR(ParseEnd());
  const bool all_shown = unshown_.empty();
  BeginRow();
  if (all_shown) return absl::OkStatus();
  return absl::UnimplementedError("NVDEC: the last picture was not shown");
}

void NvdecSession::BeginRow() {
  is_fresh_ = true;
  unwanted_ = kLate;
  missing_.fill(true);
  unshown_.clear();
}

absl::Status NvdecSession::Checked(absl::Status status) {
  sink_ = nullptr;
  if (status.ok()) return status;
  DestroyParser();
  // An unsupported stream has not touched the decoder.
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

namespace {

template <typename Function>
absl::Status Find(void* library, const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(dlsym(library, name));
  if (*function != nullptr) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("NVDEC: libnvcuvid.so.1 has no function ", name,
                   "; it is of a driver before 418"));
}

absl::StatusOr<Nvcuvid> Load() {
  void* const handle = dlopen("libnvcuvid.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return absl::UnavailableError(
        "NVDEC: libnvcuvid.so.1 is not here; the driver's video part is not "
        "installed (in a container: NVIDIA_DRIVER_CAPABILITIES has no "
        "`video`)");
  }
  Nvcuvid found;
  RETURN_IF_ERROR(Find(handle, "cuvidGetDecoderCaps", &found.get_decoder_caps));
  RETURN_IF_ERROR(Find(handle, "cuvidCreateDecoder", &found.create_decoder));
  RETURN_IF_ERROR(Find(handle, "cuvidDestroyDecoder", &found.destroy_decoder));
  RETURN_IF_ERROR(
      Find(handle, "cuvidReconfigureDecoder", &found.reconfigure_decoder));
  RETURN_IF_ERROR(Find(handle, "cuvidDecodePicture", &found.decode_picture));
  RETURN_IF_ERROR(
      Find(handle, "cuvidGetDecodeStatus", &found.get_decode_status));
  RETURN_IF_ERROR(Find(handle, "cuvidMapVideoFrame64", &found.map_video_frame));
  RETURN_IF_ERROR(
      Find(handle, "cuvidUnmapVideoFrame64", &found.unmap_video_frame));
  RETURN_IF_ERROR(Find(handle, "cuvidCreateVideoParser", &found.create_parser));
  RETURN_IF_ERROR(Find(handle, "cuvidParseVideoData", &found.parse));
  RETURN_IF_ERROR(
      Find(handle, "cuvidDestroyVideoParser", &found.destroy_parser));
  return found;
}

// The likely ones; cuda.h lists all.
absl::string_view NameOf(int code) {
  switch (code) {
    case 1:
      return "invalid value";
    case 2:
      return "out of memory";
    case 100:
      return "no device";
    case 101:
      return "invalid device";
    case 201:
      return "no context of CUDA in this thread";
    case 400:
      return "invalid handle";
    case 700:
      return "illegal address";
    case 801:
      return "not supported";
    case 999:
      return "unknown error";
    default:
      return "see CUresult in cuda.h";
  }
}

}  // namespace

absl::StatusOr<const Nvcuvid*> LoadNvcuvid() {
  static const auto* const loaded = new absl::StatusOr<Nvcuvid>(Load());
  if (!loaded->ok()) return loaded->status();
  return &**loaded;
}

absl::Status NvcuvidStatus(CUresult result, absl::string_view call) {
  if (result == CUDA_SUCCESS) return absl::OkStatus();
  const int code = static_cast<int>(result);
  const std::string text =
      absl::StrCat("NVDEC: ", call, ": error ", code, " (", NameOf(code), ")");
  return code == 2 ? absl::ResourceExhaustedError(text)
                   : absl::InternalError(text);
}

namespace {

// The most that a decoder takes, for any codec.
constexpr int kMaxSurfaces = 32;
// Enough for the longest reference lists, when the parser does not say.
constexpr int kUsualSurfaces = 20;
// One is read while the next becomes ready.
constexpr int kOutputSurfaces = 2;

int SurfacesFor(const CUVIDEOFORMAT& format, int delay) {
  const int needed = format.min_num_decode_surfaces > 0
                         ? format.min_num_decode_surfaces
                         : kUsualSurfaces;
  // One more for the picture that is being decoded.
  return std::min(kMaxSurfaces, needed + delay + 1);
}

}  // namespace

absl::Status NvdecEngine::CheckKind(const CUVIDEOFORMAT& format) {
  if (format.chroma_format != cudaVideoChromaFormat_420 ||
      format.bit_depth_luma_minus8 != 0 ||
      format.bit_depth_chroma_minus8 != 0) {
    return absl::UnimplementedError("is not of 8 bits and 4:2:0");
  }
  // Otherwise chroma would be shared by different pixels than in the stream.
  if (format.coded_width % 2 != 0 || format.coded_height % 2 != 0 ||
      format.display_area.left % 2 != 0 || format.display_area.top % 2 != 0) {
    return absl::UnimplementedError("has an odd size or an odd margin");
  }
  const auto& area = format.display_area;
  if (area.left < 0 || area.left >= area.right ||
      static_cast<unsigned>(area.right) > format.coded_width || area.top < 0 ||
      area.top >= area.bottom ||
      static_cast<unsigned>(area.bottom) > format.coded_height) {
    return absl::UnimplementedError("shows more than it codes");
  }
  if (caps_.eCodecType != format.codec || caps_.bIsSupported == 0) {
    caps_ = {};
    caps_.eCodecType = format.codec;
    caps_.eChromaFormat = format.chroma_format;
    RETURN_IF_ERROR(NvcuvidStatus(library_.get_decoder_caps(&caps_),
                                  "cuvidGetDecoderCaps"));
  }
  const bool gives_nv12 =
      caps_.nOutputFormatMask & 1 << cudaVideoSurfaceFormat_NV12;
  if (caps_.bIsSupported != 0 && gives_nv12) return absl::OkStatus();
  return absl::UnimplementedError("is of a codec that the engine lacks");
}

absl::Status NvdecEngine::CheckSize(Size size) const {
  if (size.width >= caps_.nMinWidth && size.height >= caps_.nMinHeight &&
      size.width <= caps_.nMaxWidth && size.height <= caps_.nMaxHeight &&
      uint64_t{size.width} * size.height / 256 <= caps_.nMaxMBCount) {
    return absl::OkStatus();
  }
  return absl::UnimplementedError(absl::StrCat(
      "is coded as ", size.width, "x", size.height, "; the engine decodes ",
      caps_.nMinWidth, "x", caps_.nMinHeight, " to ", caps_.nMaxWidth, "x",
      caps_.nMaxHeight));
}

absl::StatusOr<int> NvdecEngine::Fit(const CUVIDEOFORMAT& format, int delay) {
  RETURN_IF_ERROR(CheckKind(format));
  const Size size = {format.coded_width, format.coded_height};
  RETURN_IF_ERROR(CheckSize(size));
  const int surfaces = SurfacesFor(format, delay);
  if (decoder_ != nullptr && codec_ == format.codec && surfaces <= surfaces_) {
    const bool is_same =
        size.width == size_.width && size.height == size_.height;
    if (is_same || Reconfigure(size)) return surfaces;
  }
  RETURN_IF_ERROR(Create(format, surfaces));
  return surfaces;
}

bool NvdecEngine::Reconfigure(Size size) {
  if (size.width > most_.width || size.height > most_.height) return false;
  CUVIDRECONFIGUREDECODERINFO info = {};
  info.ulWidth = info.ulTargetWidth = size.width;
  info.ulHeight = info.ulTargetHeight = size.height;
  info.ulNumDecodeSurfaces = static_cast<unsigned>(surfaces_);
  info.display_area.right = static_cast<int16_t>(size.width);
  info.display_area.bottom = static_cast<int16_t>(size.height);
  if (library_.reconfigure_decoder(decoder_, &info) != CUDA_SUCCESS) {
    return false;
  }
  size_ = size;
  ++counts_.reconfigured;
  return true;
}

absl::Status NvdecEngine::Create(const CUVIDEOFORMAT& format, int surfaces) {
  const Size size = {format.coded_width, format.coded_height};
  // Room for the largest file so far, so that one decoder serves alternating
  // sizes.
  Size most = {std::max(size.width, most_.width),
               std::max(size.height, most_.height)};
  if (codec_ != format.codec || !CheckSize(most).ok()) most = size;
  Reset();
  CUVIDDECODECREATEINFO info = {};
  info.ulWidth = info.ulTargetWidth = size.width;
  info.ulHeight = info.ulTargetHeight = size.height;
  info.ulMaxWidth = most.width;
  info.ulMaxHeight = most.height;
  info.ulNumDecodeSurfaces = static_cast<unsigned>(surfaces);
  info.ulNumOutputSurfaces = kOutputSurfaces;
  info.CodecType = format.codec;
  info.ChromaFormat = format.chroma_format;
  info.OutputFormat = cudaVideoSurfaceFormat_NV12;
  info.DeinterlaceMode = cudaVideoDeinterlaceMode_Weave;
  info.ulCreationFlags = cudaVideoCreate_PreferCUVID;
  CUvideodecoder decoder = nullptr;
  RETURN_IF_ERROR(NvcuvidStatus(library_.create_decoder(&decoder, &info),
                                "cuvidCreateDecoder"));
  decoder_ = decoder;
  codec_ = format.codec;
  size_ = size;
  most_ = most;
  surfaces_ = surfaces;
  ++counts_.created;
  return absl::OkStatus();
}

absl::Status NvdecEngine::Decode(CUVIDPICPARAMS* picture) {
  ++counts_.decoded;
  return NvcuvidStatus(library_.decode_picture(decoder_, picture),
                       "cuvidDecodePicture");
}

absl::StatusOr<NvdecEngine::Surface> NvdecEngine::Map(int picture) {
  CUVIDPROCPARAMS params = {};
  // Rows as stored, regardless of fields.
  params.progressive_frame = 1;
  params.output_stream = stream_;
  Surface surface;
  unsigned stride = 0;
  RETURN_IF_ERROR(
      NvcuvidStatus(library_.map_video_frame(
                        decoder_, picture, &surface.address, &stride, &params),
                    "cuvidMapVideoFrame64"));
  surface.stride = stride;
  surface.rows = size_.height;
  // Not every codec reports a status; a missing one says nothing about the
  // picture.
  CUVIDGETDECODESTATUS status = {};
  surface.is_damaged =
      library_.get_decode_status(decoder_, picture, &status) == CUDA_SUCCESS &&
      (status.decodeStatus == cuvidDecodeStatus_Error ||
       status.decodeStatus == cuvidDecodeStatus_Error_Concealed);
  return surface;
}

absl::Status NvdecEngine::Unmap(const Surface& surface) {
  return NvcuvidStatus(library_.unmap_video_frame(decoder_, surface.address),
                       "cuvidUnmapVideoFrame64");
}

void NvdecEngine::Reset() {
  if (decoder_ == nullptr) return;
  library_.destroy_decoder(decoder_);
  decoder_ = nullptr;
  surfaces_ = 0;
}

}  // namespace feedrate
