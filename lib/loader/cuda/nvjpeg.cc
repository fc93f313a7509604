#include "lib/loader/cuda/nvjpeg.h"

#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/adapters/cuda/device_memory.h"
#include "lib/base/status_macros.h"
#include "lib/loader/cuda/decode_parts.h"

namespace feedrate {
namespace {

std::vector<std::string> Libraries() {
  std::vector<std::string> libraries;
  const char* given = std::getenv("NVJPEG_LIBRARY");
  if (given != nullptr) libraries.push_back(given);
  libraries.insert(libraries.end(),
                   {"libnvjpeg.so.13", "/usr/local/cuda/lib64/libnvjpeg.so.13",
                    "libnvjpeg.so.12", "libnvjpeg.so"});
  return libraries;
}

template <typename Fn>
absl::Status Find(void* handle, const char* name, Fn* function) {
  *function = reinterpret_cast<Fn>(dlsym(handle, name));
  if (*function != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("nvJPEG has no function ", name, "; CUDA 12 or later has"));
}

absl::Status Check(NvjpegStatus code, const char* call) {
  if (code == 0) return absl::OkStatus();
  // 5: no memory. 7 and 9: not on this device.
  const std::string text = absl::StrCat("nvJPEG: ", call, ": status ", code);
  if (code == 5) {
    return absl::ResourceExhaustedError(absl::StrCat(text, ", out of memory"));
  }
  if (code == 7 || code == 9) return absl::UnavailableError(text);
  return absl::InternalError(text);
}

}  // namespace

absl::StatusOr<std::unique_ptr<NvJpeg>> NvJpeg::Load() {
  for (const std::string& library : Libraries()) {
    void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) continue;
    std::unique_ptr<NvJpeg> found = absl::WrapUnique(new NvJpeg(handle));
    RETURN_IF_ERROR(Find(handle, "nvjpegCreateEx", &found->create));
    RETURN_IF_ERROR(Find(handle, "nvjpegDestroy", &found->destroy));
    RETURN_IF_ERROR(
        Find(handle, "nvjpegJpegStateCreate", &found->state_create));
    RETURN_IF_ERROR(
        Find(handle, "nvjpegJpegStateDestroy", &found->state_destroy));
    RETURN_IF_ERROR(Find(handle, "nvjpegDecodeBatchedInitialize",
                         &found->batched_initialize));
    RETURN_IF_ERROR(
        Find(handle, "nvjpegDecodeBatched", &found->decode_batched));
    Find(handle, "nvjpegGetHardwareDecoderInfo", &found->engines).IgnoreError();
    return found;
  }
  return absl::NotFoundError(
      "nvJPEG is not here; install CUDA's toolkit or the Python package "
      "nvidia-nvjpeg, and name libnvjpeg.so.13 in $NVJPEG_LIBRARY");
}

NvJpeg::~NvJpeg() { dlclose(handle_); }

absl::StatusOr<std::unique_ptr<NvJpegDecoder>> NvJpegDecoder::Create(
    const NvJpeg& library, NvjpegBackend backend) {
  std::unique_ptr<NvJpegDecoder> decoder =
      absl::WrapUnique(new NvJpegDecoder(library));
  RETURN_IF_ERROR(
      Check(library.create(backend, nullptr, nullptr, 0, &decoder->handle_),
            "nvjpegCreateEx"));
  RETURN_IF_ERROR(
      Check(library.state_create(decoder->handle_, &decoder->state_),
            "nvjpegJpegStateCreate"));
  unsigned engines = 0;
  unsigned cores = 0;
  if (backend == kNvjpegHardware && library.engines != nullptr &&
      library.engines(decoder->handle_, &engines, &cores) == 0) {
    decoder->engines_ = static_cast<int>(engines);
  }
  return decoder;
}

NvJpegDecoder::~NvJpegDecoder() {
  if (state_ != nullptr) library_.state_destroy(state_);
  if (handle_ != nullptr) library_.destroy(handle_);
}

absl::StatusOr<std::vector<int>> NvJpegDecoder::Decode(
    const std::vector<absl::string_view>& files,
    const std::vector<fused::ByteImage>& images, cudaStream_t stream) {
  const int count = static_cast<int>(files.size());
  data_.resize(count);
  lengths_.resize(count);
  destinations_.assign(count, NvjpegImage());
  for (int i = 0; i < count; ++i) {
    data_[i] = reinterpret_cast<const unsigned char*>(files[i].data());
    lengths_[i] = files[i].size();
    destinations_[i].channel[0] = images[i].data;
    destinations_[i].pitch[0] = static_cast<size_t>(images[i].stride);
  }
  bool is_first = true;
  return DecodeInParts(count, [&](int first, int size) -> absl::Status {
    // Parts share the state's memory.
    if (!is_first) {
      RETURN_IF_ERROR(
          CudaStatus(cudaStreamSynchronize(stream), "cudaStreamSynchronize"));
    }
    is_first = false;
    return DecodeSome(first, size, stream);
  });
}

absl::Status NvJpegDecoder::DecodeSome(int first, int count,
                                       cudaStream_t stream) {
  if (count != batch_size_) {
    // A state that could not be made ready is ready for nothing.
    batch_size_ = 0;
    RETURN_IF_ERROR(Check(library_.batched_initialize(handle_, state_, count, 1,
                                                      kNvjpegInterleavedRgb),
                          "nvjpegDecodeBatchedInitialize"));
    batch_size_ = count;
  }
  const absl::Status decoded =
      Check(library_.decode_batched(handle_, state_, data_.data() + first,
                                    lengths_.data() + first,
                                    destinations_.data() + first, stream),
            "nvjpegDecodeBatched");
  if (decoded.ok()) return decoded;
  // A file is broken, cut off, or of a kind or size that the engine does not
  // know; or, with status 5, all of them are more than it has room for, with
  // memory left on the device. The state begins anew.
  batch_size_ = 0;
  if (absl::IsResourceExhausted(decoded)) return decoded;
  return absl::DataLossError(decoded.message());
}

}  // namespace feedrate
