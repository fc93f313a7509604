#include "lib/loader/python/dlpack_export.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

// Python's own, in every process that has Python.
extern "C" __attribute__((weak)) int PyCapsule_IsValid(void* capsule,
                                                       const char* name);
extern "C" __attribute__((weak)) void* PyCapsule_GetPointer(void* capsule,
                                                            const char* name);

namespace feedrate {
namespace {

// DLPack's binary interface, of all its versions before 1.0, which consumers
// still take: github.com/dmlc/dlpack.
struct DlTensor {
  void* data;
  int32_t device_type;
  int32_t device_id;
  int32_t ndim;
  uint8_t type_code;
  uint8_t type_bits;
  uint16_t type_lanes;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
struct DlManagedTensor {
  DlTensor tensor;
  void* owner;
  void (*deleter)(DlManagedTensor* self);
};
constexpr int32_t kDlCpu = 1;
constexpr int32_t kDlCuda = 2;
constexpr uint8_t kDlUnsigned = 1;
constexpr uint8_t kDlFloat = 2;
constexpr char kDlName[] = "dltensor";

// A batch that a consumer of DLPack has.
struct Export {
  DlManagedTensor managed = {};
  int64_t shape[5] = {};
  int64_t strides[5] = {};
  std::shared_ptr<KeptBatch> batch;
  // Where the consumer works on it; null in host memory.
  void* stream = nullptr;
  pid_t process = 0;
};

// Called by the consumer, on any thread.
void EndExport(DlManagedTensor* managed) {
  auto* const ended = static_cast<Export*>(managed->owner);
  // A forked process has the memory, but neither the threads nor the GPU.
  if (ended->process != getpid()) return;
  if (ended->stream != nullptr) ended->batch->block->UsedBy(ended->stream);
  delete ended;
}

}  // namespace

void* ExportBatch(std::shared_ptr<KeptBatch> kept, const ExportedShape& shape,
                  int gpu, void* stream) {
  auto made = std::make_unique<Export>();
  const LoaderBatch& batch = kept->batch;
  const SampleShape& one = shape.sample;
  int64_t* next = made->shape;
  *next++ = batch.size;
  if (shape.frames > 0) *next++ = shape.frames;
  const int64_t planes[] = {one.channels, one.height, one.width};
  const int64_t pixels[] = {one.height, one.width, one.channels};
  next = std::copy_n(one.is_planes() ? planes : pixels, 3, next);
  const auto dimensions = static_cast<int>(next - made->shape);
  made->strides[dimensions - 1] = 1;
  for (int i = dimensions - 2; i >= 0; --i) {
    made->strides[i] = made->strides[i + 1] * made->shape[i + 1];
  }
  DlTensor& tensor = made->managed.tensor;
  tensor.data = const_cast<float*>(batch.data);
  tensor.device_type = gpu < 0 ? kDlCpu : kDlCuda;
  tensor.device_id = std::max(gpu, 0);
  tensor.ndim = dimensions;
  tensor.type_code = one.is_float() ? kDlFloat : kDlUnsigned;
  tensor.type_bits = one.is_float() ? 32 : 8;
  tensor.type_lanes = 1;
  tensor.shape = made->shape;
  tensor.strides = made->strides;
  made->batch = std::move(kept);
  made->stream = gpu < 0 ? nullptr : stream;
  made->process = getpid();
  made->managed.owner = made.get();
  made->managed.deleter = EndExport;
  return &made.release()->managed;
}

void DropCapsule(void* capsule) {
  // A consumer has given it another name.
  if (PyCapsule_IsValid(capsule, kDlName) == 0) return;
  EndExport(
      static_cast<DlManagedTensor*>(PyCapsule_GetPointer(capsule, kDlName)));
}

}  // namespace feedrate
