// The loader of cuda for sanitizers: runs one epoch per input line, in a single
// process.
//
//   bazel-bin/lib/adapters/cuda/bench_cuda --folder=images --work=crop
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gflags/gflags.h"
#include "lib/adapters/cuda/cuda_loader.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/tool/exit_code.h"
#include "lib/base/tool/tool_info.h"
#include "lib/base/tool/tool_main.h"
#include "lib/loader/source.h"
#include "lib/records/worker.pb.h"
#include "lib/worker/message.h"
#include "lib/worker/source_list.h"

DEFINE_string(folder, "", "FOLDER: folder of JPEG files");
DEFINE_string(
    work, "crop",
    "WORD: a crop of 224 or a resized crop, both flipped half of the time, or "
    "a training recipe {crop|resized_crop|mixup|cutmix|three_augment}");
DEFINE_string(
    nvjpeg, "auto",
    "WORD: what decodes in addition to the CPU {auto|hardware|gpu|both|off}");
DEFINE_int32(nvjpeg_threads, 0,
             "N: threads that feed nvJPEG; 0 uses the loader's default");
DEFINE_bool(jpeg_index, false,
            "make an index of the files in your cache, and decode by it");
DEFINE_int32(workers, 12, "N: threads that decode on the CPU");
DEFINE_int32(prefetch, 2, "N: batches prepared in advance");
DEFINE_int64(batch_size, 256, "N: images per batch");
DEFINE_int64(items, 4096, "N: images per epoch");

namespace feedrate {
namespace {

constexpr char kFlip[] = "0.5 flip{axis=horizontal}";

ToolInfo Info() {
  ToolInfo info;
  info.name = "bench_cuda";
  info.summary = "run one epoch of the cuda loader per input line";
  info.usage = "--folder=FOLDER [flags]";
  info.description =
      "Decodes on the CPU and with nvJPEG, and makes normalized batches on\n"
      "the device. Answers each line with {\"items\":…,\"elapsed_s\":…}.";
  info.examples = {"yes | head -3 | bench_cuda --folder=images --work=crop"};
  info.flag_files = {"lib/adapters/cuda/bench_cuda.cc"};
  return info;
}

void SetWork(PrepareCommand* spec) {
  spec->set_native_op("feedrate::steps");
  if (FLAGS_work == "mixup" || FLAGS_work == "cutmix") {
    spec->set_native_op(absl::StrCat("feedrate::", FLAGS_work));
    spec->mutable_loader()->set_batch_transform(FLAGS_work);
  } else if (FLAGS_work == "resized_crop") {
    spec->mutable_loader()->set_is_crop(true);
    spec->add_params(
        "step1=resized_crop{size=(224,224);scale=(0.08,1.0);"
        "ratio=(0.75,1.3333333333)}");
    spec->add_params(absl::StrCat("step2=", kFlip));
  } else if (FLAGS_work == "three_augment") {
    spec->add_params(absl::StrCat("step1=", kFlip));
    spec->add_params(
        "step2=jitter{saturation=0} | tone{kind=solarize;amount=128} | "
        "gaussian_blur{size=5;sigma=2.0}");
    spec->add_params(
        "step3=jitter{brightness=U(0.7,1.3);contrast=U(0.7,1.3);"
        "saturation=U(0.7,1.3)}");
  } else {
    spec->add_params(absl::StrCat("step1=", kFlip));
  }
}

PrepareCommand SpecFromFlags() {
  PrepareCommand spec;
  spec.set_library("cuda");
  spec.set_transform(FLAGS_work);
  spec.set_device("cuda");
  LoaderSpec& loader = *spec.mutable_loader();
  loader.set_scope(kDecodeScope);
  loader.set_source("files");
  loader.set_batch_size(FLAGS_batch_size);
  loader.set_workers(FLAGS_workers);
  loader.set_prefetch(FLAGS_prefetch);
  loader.set_channels(3);
  loader.set_crop(224);
  loader.set_crop_position("random");
  for (const double value : {0.485, 0.456, 0.406}) {
    loader.add_mean(value);
  }
  for (const double value : {0.229, 0.224, 0.225}) {
    loader.add_std(value);
  }
  loader.set_input_scale(255);
  loader.set_on_error("fail");
  if (FLAGS_nvjpeg != "auto")
    (*loader.mutable_settings())["nvjpeg"] = FLAGS_nvjpeg;
  if (FLAGS_nvjpeg_threads > 0) {
    (*loader.mutable_settings())["nvjpeg_threads"] =
        absl::StrCat(FLAGS_nvjpeg_threads);
  }
  if (FLAGS_jpeg_index) {
    (*loader.mutable_settings())["jpeg_index"] = "true";
  }
  SetWork(&spec);
  return spec;
}

absl::StatusOr<std::vector<SourceFile>> FilesFromFlags() {
  if (FLAGS_folder.empty()) {
    return absl::InvalidArgumentError("--folder is missing");
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Source> source,
                   FolderSource(FLAGS_folder));
  std::vector<SourceFile> files;
  for (int64_t i = 0; i < source->size(); ++i) {
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(source->name(i)));
    files.push_back({source->name(i), static_cast<int64_t>(bytes.size())});
  }
  if (files.empty()) {
    return absl::NotFoundError(absl::StrCat(FLAGS_folder, " has no images"));
  }
  return files;
}

absl::StatusOr<ExitCode> RunFromFlags(const std::vector<std::string>&) {
  RETURN_IF_ERROR(CheckChoice(
      "--work", FLAGS_work,
      {"crop", "resized_crop", "mixup", "cutmix", "three_augment"}));
  ASSIGN_OR_RETURN(const std::vector<SourceFile> files, FilesFromFlags());
  const PrepareCommand spec = SpecFromFlags();
  RETURN_IF_ERROR(CheckLoaderSpec(spec.loader()));
  ASSIGN_OR_RETURN(const std::unique_ptr<PreparedLoader> loader,
                   MakeCudaLoader(spec, files));
  EpochCommand command;
  command.set_count(FLAGS_items);
  for (std::string line; std::getline(std::cin, line);
       command.set_seed(command.seed() + 1)) {
    ASSIGN_OR_RETURN(const EpochReply reply, loader->RunEpoch(command));
    std::cout << absl::StrFormat("{\"items\":%d,\"elapsed_s\":%.9f}\n",
                                 reply.items(), reply.elapsed_s())
              << std::flush;
  }
  return ExitCode::kDone;
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::ToolMain(argc, argv, feedrate::Info(),
                            feedrate::RunFromFlags);
}
