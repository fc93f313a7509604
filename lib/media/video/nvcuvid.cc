#include "lib/media/video/nvcuvid.h"

#include <dlfcn.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/media/video/load_nvcuvid.h"

namespace feedrate {
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

// Of those that are likely; cuda.h has them all.
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

}  // namespace feedrate
