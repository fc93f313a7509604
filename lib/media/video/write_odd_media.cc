// Writes small JPEGs and clips of rare kinds into a folder.
// dev/media_answers.sh asks other libraries what is in them.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/tool/writer_main.h"
#include "lib/media/jpeg/test_files.h"
#include "lib/media/video/synthetic_video.h"

namespace feedrate {
namespace {

WriterInfo Info() {
  WriterInfo info;
  info.name = "write_odd_media";
  info.what = "images and clips of rare kinds";
  info.description = "Writes the JPEGs and clips of testdata/media.";
  info.example_folder = "testdata/media";
  info.flag_file = "lib/media/video/write_odd_media.cc";
  return info;
}

std::vector<std::pair<std::string, JpegTestFile>> Jpegs() {
  std::vector<std::pair<std::string, JpegTestFile>> jpegs;
  const auto add = [&jpegs](const std::string& name) -> JpegTestFile& {
    JpegTestFile file;
    file.width = 45;
    file.height = 37;
    file.seed = static_cast<uint32_t>(jpegs.size());
    return jpegs.emplace_back(name, file).second;
  };
  add("gray").gray = true;
  add("rgb").stored_as_rgb = true;
  add("cmyk").cmyk = true;
  add("ycck").ycck = true;
  add("arithmetic").arithmetic = true;
  add("sampling_411").horizontal = 4;
  add("sampling_440").horizontal = 1;
  add("restarts").restart_every = 3;
  add("progressive").progressive = true;
  return jpegs;
}

// Without the segment that says which program wrote it and what 255 means.
std::string WithoutAdobe(std::string jpeg) {
  const size_t at = jpeg.find("\xff\xee");
  jpeg.erase(at, 2 + 256 * static_cast<unsigned char>(jpeg[at + 2]) +
                     static_cast<unsigned char>(jpeg[at + 3]));
  return jpeg;
}

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> Clips() {
  std::vector<std::pair<std::string, std::string>> clips;
  EncodeOptions small;
  small.width = 96;
  small.height = 64;
  small.frames = 14;
  small.key_interval = 6;
  const auto add = [&](const std::string& name,
                       EncodeOptions options) -> absl::Status {
    ASSIGN_OR_RETURN(std::string file, EncodeVideo(options, clips.size() + 1));
    clips.emplace_back(absl::StrCat(name, ".", options.container),
                       std::move(file));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(add("plain", small));
  for (const int b_frames : {1, 2}) {
    EncodeOptions options = small;
    options.b_frames = b_frames;
    RETURN_IF_ERROR(add(absl::StrCat("b_frames_", b_frames), options));
    options.packed = true;
    RETURN_IF_ERROR(add(absl::StrCat("packed_", b_frames), options));
  }
  EncodeOptions h264 = small;
  h264.container = "mp4";
  h264.codec = "libx264";
  h264.b_frames = 2;
  RETURN_IF_ERROR(add("h264", h264));
  h264.hidden_frames = 5;
  RETURN_IF_ERROR(add("edit_list", h264));
  h264.hidden_frames = 0;
  h264.pixel_format = "yuv420p10le";
  RETURN_IF_ERROR(add("ten_bits", h264));
  EncodeOptions first = small;
  first.width = 80;
  first.height = 48;
  ASSIGN_OR_RETURN(const std::string one, EncodeVideo(first, 1));
  ASSIGN_OR_RETURN(const std::string two, EncodeVideo(small, 2));
  for (const char* container : {"avi", "mkv", "mp4"}) {
    ASSIGN_OR_RETURN(std::string joined, JoinVideos({one, two}, container));
    clips.emplace_back(absl::StrCat("two_streams.", container),
                       std::move(joined));
  }
  return clips;
}

absl::Status Write(const std::string& folder) {
  RETURN_IF_ERROR(MakeFolder(folder));
  for (const auto& [name, file] : Jpegs()) {
    const std::string jpeg = MakeJpeg(file);
    RETURN_IF_ERROR(WriteFileAtomically(
        JoinPath(folder, absl::StrCat(name, ".jpg")), jpeg));
    if (name != "cmyk") continue;
    RETURN_IF_ERROR(WriteFileAtomically(
        JoinPath(folder, "cmyk_without_adobe.jpg"), WithoutAdobe(jpeg)));
  }
  ASSIGN_OR_RETURN(const auto clips, Clips());
  for (const auto& [name, bytes] : clips) {
    RETURN_IF_ERROR(WriteFileAtomically(JoinPath(folder, name), bytes));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::WriterMain(argc, argv, feedrate::Info(), feedrate::Write);
}
