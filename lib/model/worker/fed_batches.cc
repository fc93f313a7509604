#include "lib/model/worker/fed_batches.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <stdexcept>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "lib/base/unique_fd.h"
#include "lib/worker/process.h"
#include "lib/worker/source_list.h"

#if defined(FEEDRATE_CUDA)
#include <cuda_runtime_api.h>

#include "absl/strings/escaping.h"
#include "lib/model/worker/gpu_copy.h"
#endif

namespace feedrate {
namespace {

constexpr int64_t kChannels = 3;

// Memory shared by both processes.
class SharedMemory {
 public:
  explicit SharedMemory(size_t bytes)
      : bytes_(bytes), fd_(memfd_create("feedrate batches", MFD_CLOEXEC)) {
    if (!fd_.valid() || ftruncate(fd_.get(), static_cast<off_t>(bytes)) != 0) {
      throw std::runtime_error("loader: no shared memory for batches");
    }
    data_ =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    if (data_ == MAP_FAILED) {
      throw std::runtime_error("loader: not enough memory for batches");
    }
  }
  ~SharedMemory() { munmap(data_, bytes_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  char* data() const { return static_cast<char*>(data_); }
  int fd() const { return fd_.get(); }

 private:
  const size_t bytes_;
  const UniqueFd fd_;
  void* data_ = nullptr;
};

#if defined(FEEDRATE_CUDA)

void CheckCuda(cudaError_t code, absl::string_view what) {
  if (code != cudaSuccess) {
    throw std::runtime_error(
        absl::StrCat("loader: ", what, ": ", cudaGetErrorString(code)));
  }
}

// Keeps memory where it is, so that the GPU copies it by itself.
class Pin {
 public:
  Pin(void* data, size_t bytes) : data_(data) {
    CheckCuda(cudaHostRegister(data, bytes, cudaHostRegisterDefault),
              "pinning memory for batches");
  }
  ~Pin() { cudaHostUnregister(data_); }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;

 private:
  void* const data_;
};

// Memory of the current GPU that another process can open.
class GpuMemory {
 public:
  explicit GpuMemory(size_t bytes) {
    CheckCuda(cudaMalloc(&data_, bytes), "memory of the GPU for batches");
  }
  ~GpuMemory() { cudaFree(data_); }
  GpuMemory(const GpuMemory&) = delete;
  GpuMemory& operator=(const GpuMemory&) = delete;

  char* data() const { return static_cast<char*>(data_); }

  // What cuIpcOpenMemHandle takes, in hexadecimal digits.
  std::string Handle() const {
    cudaIpcMemHandle_t handle;
    CheckCuda(cudaIpcGetMemHandle(&handle, data_),
              "sharing memory of the GPU with another process");
    return absl::BytesToHexString(
        absl::string_view(handle.reserved, sizeof(handle.reserved)));
  }

 private:
  void* data_ = nullptr;
};

#endif

// Path by which another process opens a descriptor of this one.
std::string PathOf(int fd) {
  return absl::StrCat("/proc/", getpid(), "/fd/", fd);
}

class FedBatches : public BatchSource {
 public:
  FedBatches(const std::vector<ImageFile>& files, const FeederOptions& options)
      : options_(options),
        memory_(options.slots *
                ((options.on_gpu ? 0 : ImageBytes()) + ListBytes())) {
#if defined(FEEDRATE_CUDA)
    const size_t image_bytes = options.slots * ImageBytes();
    if (options.on_gpu) {
      gpu_memory_.emplace(image_bytes);
    } else if (options.to_gpu) {
      pin_.emplace(memory_.data(), image_bytes);
    }
#endif
    std::vector<SourceFile> list;
    for (const ImageFile& file : files) {
      list.push_back({file.path, file.bytes, {}});
      labels_.push_back(file.label);
    }
    list_ = LoaderValue(WriteSourceList(list));
    StartedProcess process = LoaderValue(StartProcess(Command(), {}));
    pid_ = process.pid;
    socket_ = process.control.get();
    answers_.emplace(std::move(process.control));
    last_words_.emplace(std::move(process.stderr_end));
  }

  ~FedBatches() override {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  // Batches come in order; `index` only counts.
  TrainBatch Get(int64_t) override {
#if defined(FEEDRATE_CUDA)
    if (options_.to_gpu) copy_.Wait();
#endif
    if (slot_ >= 0) GiveBack();
    slot_ = NextSlot();
    const auto* const numbers = reinterpret_cast<const int64_t*>(
        memory_.data() + (options_.on_gpu ? 0 : options_.slots * ImageBytes()) +
        slot_ * ListBytes());
    const at::Tensor labels = at::empty({options_.batch_size}, at::kLong);
    for (int64_t i = 0; i < options_.batch_size; ++i) {
      labels.mutable_data_ptr<int64_t>()[i] =
          labels_.at(static_cast<size_t>(numbers[i]));
    }
    return {Images(), labels};
  }

 private:
  // Of the current slot.
  at::Tensor Images() {
    const std::vector<int64_t> shape = {options_.batch_size, kChannels,
                                        options_.image_size,
                                        options_.image_size};
#if defined(FEEDRATE_CUDA)
    if (options_.to_gpu) {
      const char* const slots =
          options_.on_gpu ? gpu_memory_->data() : memory_.data();
      return copy_.Of(
          reinterpret_cast<const float*>(slots + slot_ * ImageBytes()), shape,
          options_.on_gpu);
    }
#endif
    return at::from_blob(memory_.data() + slot_ * ImageBytes(), shape,
                         at::kFloat);
  }

  int64_t ImageBytes() const {
    return options_.batch_size * kChannels * options_.image_size *
           options_.image_size * static_cast<int64_t>(sizeof(float));
  }
  int64_t ListBytes() const {
    return options_.batch_size * static_cast<int64_t>(sizeof(int64_t));
  }

  std::vector<std::string> Command() const {
    std::vector<std::string> command = options_.command;
    for (const std::string& word :
         {absl::StrCat("loader=", options_.loader),
          absl::StrCat("files=", PathOf(list_.get())),
          absl::StrCat("memory=", PathOf(memory_.fd())),
          absl::StrCat("slots=", options_.slots),
          absl::StrCat("batch_size=", options_.batch_size),
          absl::StrCat("image_size=", options_.image_size),
          absl::StrCat("workers=", options_.workers),
          absl::StrCat("seed=", options_.seed)}) {
      command.push_back(word);
    }
    if (!options_.fused_decode.empty()) {
      command.push_back(absl::StrCat("fused_decode=", options_.fused_decode));
    }
    for (const std::string& step : options_.recipe) {
      command.push_back(absl::StrCat("recipe.", step));
    }
#if defined(FEEDRATE_CUDA)
    if (options_.on_gpu) {
      command.push_back(absl::StrCat("gpu_memory=", gpu_memory_->Handle()));
    }
#endif
    return command;
  }

  void GiveBack() {
    const std::string line = absl::StrCat(slot_, "\n");
    // Whether the process has ended shows when the next batch is waited for.
    send(socket_, line.data(), line.size(), MSG_NOSIGNAL);
  }

  int NextSlot() {
    const std::string line = NextLine();
    absl::string_view word = line;
    int slot = 0;
    if (absl::ConsumePrefix(&word, "slot ") && absl::SimpleAtoi(word, &slot) &&
        slot >= 0 && slot < options_.slots) {
      return slot;
    }
    absl::ConsumePrefix(&word, "error ");
    throw std::runtime_error(
        absl::StrCat("loader ", options_.loader, ": ", word));
  }

  std::string NextLine() {
    for (;;) {
      last_words_->Drain();
      answers_->Fill();
      if (absl::optional<std::string> line = answers_->TakeLine()) return *line;
      if (answers_->closed()) {
        last_words_->Drain();
        throw std::runtime_error(
            absl::StrCat("loader ", options_.loader,
                         ": its process ended: ", last_words_->Text()));
      }
      pollfd polls[] = {{answers_->fd(), POLLIN, 0},
                        {last_words_->fd(), POLLIN, 0}};
      poll(polls, 2, /*timeout=*/-1);
    }
  }

  const FeederOptions options_;
  const SharedMemory memory_;
#if defined(FEEDRATE_CUDA)
  std::optional<Pin> pin_;
  std::optional<GpuMemory> gpu_memory_;
  GpuCopy copy_;
#endif
  std::vector<int64_t> labels_;
  UniqueFd list_;
  pid_t pid_ = -1;
  int socket_ = -1;
  std::optional<LineInbox> answers_;
  std::optional<LastWords> last_words_;
  // The slot that the trainer uses; -1: none yet.
  int slot_ = -1;
};

}  // namespace

std::unique_ptr<BatchSource> MakeFedBatches(const std::vector<ImageFile>& files,
                                            const FeederOptions& options) {
  return std::make_unique<FedBatches>(files, options);
}

}  // namespace feedrate
