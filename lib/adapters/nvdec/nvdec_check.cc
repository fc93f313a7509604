// Compares frames decoded by NVDEC with those of the CPU's decoder, for every
// kind of video that this FFmpeg can encode, and prints the speed and the
// number of decoder sessions. Used by gpu_check.sh, and with sanitizers, which
// need a single process.
//
//   nvdec_check [--videos=N] [--timed=N] [FILE...]
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gflags/gflags.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/stopwatch.h"
#include "lib/base/tool/exit_code.h"
#include "lib/base/tool/tool_info.h"
#include "lib/base/tool/tool_main.h"
#include "lib/media/video/clip_reader.h"
#include "lib/media/video/clips.h"
#include "lib/media/video/nvdec/nvdec_counts.h"
#include "lib/media/video/nvdec/nvdec_reader.h"
#include "lib/media/video/synthetic_video.h"
#include "lib/ops/cuda/cuda_device.h"

DEFINE_int32(videos, 2, "N: videos of each kind");
DEFINE_int32(timed, 20, "N: timed clips per kind and rule");

namespace feedrate {
namespace {

constexpr int kClipLength = 16;
// Same as for decoder rows: visually identical.
constexpr double kMinPsnrDb = 40;

struct Kind {
  std::string name;
  // True if decoders must agree bit by bit: H.264 and similar formats are
  // exact, MPEG-4's cosine transform is not.
  bool exact;
  EncodeOptions options;
  // Instead of what the options make.
  std::string file;
};

std::vector<Kind> Kinds() {
  Kind mpeg4{"mpeg4 avi", false, {}, ""};
  Kind h264{"h264 mp4", true, {}, ""};
  h264.options.container = "mp4";
  h264.options.codec = "libx264";
  h264.options.key_interval = 50;
  h264.options.b_frames = 2;
  // 10 rows of a macroblock are cropped, and chroma samples span odd edges.
  Kind odd = h264;
  odd.name = "h264 mp4, 322x242";
  odd.options.width = 322;
  odd.options.height = 242;
  // No engine decodes it: the CPU must.
  Kind fallback = h264;
  fallback.name = "h264 mp4, 4:4:4";
  fallback.options.pixel_format = "yuv444p";
  // Fits into the decoder of the previous one.
  Kind again = h264;
  again.name = "h264 mp4, again";
  std::vector<Kind> kinds = {mpeg4, h264, odd, again, fallback};
  for (Kind& kind : kinds) kind.options.frames = 60;
  return kinds;
}

struct Difference {
  int64_t clips = 0;
  // Frames with any difference, and the first of them.
  int64_t frames = 0;
  int64_t first_frame = -1;
  int most = 0;
  double squares = 0;
  int64_t values = 0;

  void Add(int64_t number, const uint8_t* got, const uint8_t* wanted,
           int64_t bytes) {
    bool differs = false;
    for (int64_t i = 0; i < bytes; ++i) {
      const int d = std::abs(int{got[i]} - int{wanted[i]});
      differs |= d != 0;
      most = std::max(most, d);
      squares += d * d;
    }
    values += bytes;
    if (differs && frames++ == 0) first_frame = number;
  }

  double psnr_db() const {
    if (squares == 0) return INFINITY;
    return 10 *
           std::log10(255.0 * 255.0 * static_cast<double>(values) / squares);
  }
};

// Decodes one clip of a file with both decoders.
absl::Status Compare(const std::string& path, ClipRule rule,
                     NvdecReader* reader, DeviceBlock* device,
                     Difference* difference) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ClipReader> cpu,
                   ClipReader::Open(path, 1));
  const std::vector<int64_t> frames =
      ClipFrames(rule, cpu->info().frames, kClipLength, /*seed=*/1, /*item=*/0);
  const int64_t bytes = kClipLength * cpu->FrameBytes();
  std::vector<uint8_t> wanted(bytes);
  RETURN_IF_ERROR(cpu->Read(frames, wanted.data()));
  RETURN_IF_ERROR(device->Reserve(bytes));
  RETURN_IF_ERROR(reader->Open({path, {}}).status());
  RETURN_IF_ERROR(reader->Read(frames, device->data()));
  std::vector<uint8_t> got(bytes);
  RETURN_IF_ERROR(CudaStatus(
      cudaMemcpy(got.data(), device->data(), bytes, cudaMemcpyDeviceToHost),
      "cudaMemcpy"));
  for (int i = 0; i < kClipLength; ++i) {
    const int64_t at = i * cpu->FrameBytes();
    difference->Add(frames[i], got.data() + at, wanted.data() + at,
                    cpu->FrameBytes());
  }
  ++difference->clips;
  return absl::OkStatus();
}

// Time per clip, including the conversion of its frames; opening is mostly
// reading the file.
struct ClipTime {
  double open_ms = 0;
  double read_ms = 0;
};

absl::StatusOr<ClipTime> TimeOf(const std::string& path, ClipRule rule,
                                NvdecReader* reader, DeviceBlock* device) {
  int64_t open_ns = 0;
  int64_t read_ns = 0;
  for (int item = 0; item < FLAGS_timed; ++item) {
    const int64_t start = MonotonicNs();
    ASSIGN_OR_RETURN(const VideoInfo info, reader->Open({path, {}}));
    const int64_t opened = MonotonicNs();
    RETURN_IF_ERROR(reader->Read(
        ClipFrames(rule, info.frames, kClipLength, /*seed=*/1, item),
        device->data()));
    open_ns += opened - start;
    read_ns += MonotonicNs() - opened;
  }
  const double clips = std::max(FLAGS_timed, 1);
  return ClipTime{static_cast<double>(open_ns) * 1e-6 / clips,
                  static_cast<double>(read_ns) * 1e-6 / clips};
}

void PrintTime(const char* rule, const ClipTime& time) {
  absl::PrintF(
      "       %-11s %.0f clips per second: open %.2f ms, read %.2f ms\n", rule,
      1e3 / std::max(time.open_ms + time.read_ms, 1e-6), time.open_ms,
      time.read_ms);
}

// Prints what the engine has done since `before`.
void PrintCounts(const NvdecCounts& before, const NvdecCounts& now) {
  absl::PrintF(
      "       engine: %d decoders made, %d given another size; %d pictures "
      "decoded, %d left out\n",
      now.created - before.created, now.reconfigured - before.reconfigured,
      now.decoded - before.decoded, now.skipped - before.skipped);
}

// Returns false if the frames differ from the CPU's.
absl::StatusOr<bool> CheckKind(const Kind& kind, NvdecReader* reader) {
  const std::string made = absl::StrCat("nvdec_check.", kind.options.container);
  const std::string path = kind.file.empty() ? made : kind.file;
  DeviceBlock device;
  Difference difference;
  const NvdecCounts counts = reader->counts();
  const int64_t engine = reader->engine_frames();
  const int64_t cpu = reader->cpu_frames();
  for (int video = 0; video < (kind.file.empty() ? FLAGS_videos : 1); ++video) {
    if (kind.file.empty()) {
      ASSIGN_OR_RETURN(const std::string file,
                       EncodeVideo(kind.options, video));
      RETURN_IF_ERROR(WriteFileAtomically(made, file));
    }
    for (const ClipRule rule : {ClipRule::kUniform, ClipRule::kConsecutive}) {
      RETURN_IF_ERROR(Compare(path, rule, reader, &device, &difference));
    }
  }
  const int64_t engine_frames = reader->engine_frames() - engine;
  const int64_t cpu_frames = reader->cpu_frames() - cpu;
  ASSIGN_OR_RETURN(const ClipTime uniform,
                   TimeOf(path, ClipRule::kUniform, reader, &device));
  ASSIGN_OR_RETURN(const ClipTime consecutive,
                   TimeOf(path, ClipRule::kConsecutive, reader, &device));
  if (kind.file.empty()) std::remove(made.c_str());
  const bool good =
      kind.exact ? difference.most == 0 : difference.psnr_db() >= kMinPsnrDb;
  absl::PrintF(
      "%-6s %-18s %d clips, %d frames by the engine, %d by the CPU; largest "
      "difference %d, PSNR %.1f dB",
      good ? "ok" : "FAILED", kind.name, difference.clips, engine_frames,
      cpu_frames, difference.most, difference.psnr_db());
  if (difference.frames > 0) {
    absl::PrintF("; %d frames differ, frame %d first", difference.frames,
                 difference.first_frame);
  }
  absl::PrintF("\n");
  PrintTime("uniform", uniform);
  PrintTime("consecutive", consecutive);
  PrintCounts(counts, reader->counts());
  return good;
}

ToolInfo Info() {
  ToolInfo info;
  info.name = "nvdec_check";
  info.summary = "compare frames decoded by NVDEC with those of the CPU";
  info.usage = "[--videos=N] [--timed=N] [FILE...]";
  info.description =
      "Encodes videos, or takes the named files, decodes clips of them on\n"
      "the GPU and on the CPU, and prints how much the frames differ, clips\n"
      "per second, and how many NVDEC decoders were created. Frames of named\n"
      "files must be the same to the bit.\n"
      "Exit 3: the frames are not the same; 4: there is no NVDEC engine, with\n"
      "the reason.";
  info.examples = {"nvdec_check --videos=1", "nvdec_check hevc.mp4 av1.mp4"};
  info.takes_arguments = true;
  info.flag_files = {"lib/adapters/nvdec/nvdec_check.cc"};
  return info;
}

absl::StatusOr<ExitCode> RunFromFlags(const std::vector<std::string>& files) {
  const absl::StatusOr<CudaStream> stream = CudaStream::Create();
  absl::StatusOr<std::unique_ptr<NvdecReader>> reader =
      stream.ok() ? NvdecReader::Create(stream->get()) : stream.status();
  if (!reader.ok()) {
    absl::PrintF("left out: %s\n", reader.status().message());
    return ExitCode::kCannotTell;
  }
  bool good = true;
  std::vector<Kind> kinds;
  for (const std::string& file : files) {
    kinds.push_back({BaseName(file), true, {}, file});
  }
  if (files.empty()) kinds = Kinds();
  for (const Kind& kind : kinds) {
    const absl::StatusOr<bool> same = CheckKind(kind, reader->get());
    if (!same.ok()) {
      absl::PrintF("FAILED %-18s %s\n", kind.name, same.status().ToString());
    }
    std::fflush(stdout);
    good &= same.value_or(false);
  }
  return good ? ExitCode::kDone : ExitCode::kCheckSaidNo;
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::ToolMain(argc, argv, feedrate::Info(),
                            feedrate::RunFromFlags);
}
