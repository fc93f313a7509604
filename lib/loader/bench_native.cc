// The native loader for tools/pipeline/bench.py: runs one epoch per input line.
//
//   bazel-bin/lib/loader/bench_native --folder=images --scope=decode
//
// A line `limit` is answered with the machine's upper limit.
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "gflags/gflags.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/tool/exit_code.h"
#include "lib/base/tool/tool_info.h"
#include "lib/base/tool/tool_main.h"
#include "lib/loader/limits.h"
#include "lib/loader/loader.h"
#include "lib/loader/source/source.h"
#include "lib/media/convert_corpus.h"
#include "lib/media/corpus.h"
#include "lib/media/image.h"
#include "lib/media/load_images.h"

DEFINE_string(folder, "", "FOLDER: folder of JPEG files");
DEFINE_string(scope, "decode",
              "WORD: start from files, or from decoded images {decode|memory}");
DEFINE_int32(channels, 3, "N: 3, or 9 in memory");
DEFINE_int32(workers, 2, "N: number of threads");
DEFINE_int32(batch_size, 256, "N: images per batch");
DEFINE_int64(items, 1000, "N: images per epoch");
DEFINE_bool(persistent, false, "keep the threads between epochs");
DEFINE_string(write_decoded, "",
              "FOLDER: measure nothing; instead write the images there as "
              "NUMBER_HEIGHT_WIDTH.rgb");

namespace feedrate {
namespace {

constexpr int kCrop = 224;

ToolInfo Info() {
  ToolInfo info;
  info.name = "bench_native";
  info.summary = "run one epoch of the native loader per input line";
  info.usage = "--folder=FOLDER [flags]";
  info.description =
      "Random crop to 224, a flip half of the time, normalization. Used by\n"
      "tools/pipeline/bench.py.";
  info.examples = {"bench_native --folder=images --scope=decode"};
  info.flag_files = {"lib/loader/bench_native.cc"};
  return info;
}

LoaderOptions Options() {
  LoaderOptions options;
  options.workers = FLAGS_workers;
  options.batch_size = FLAGS_batch_size;
  options.persistent = FLAGS_persistent;
  options.recipe.channels = FLAGS_channels;
  options.recipe.crop = kCrop;
  TransformSpec flip;
  flip.native_op = "cv::flip";
  flip.params = {"flip_code=1"};
  options.recipe.steps = {{{flip}, 0.5}};
  return options;
}

absl::StatusOr<Corpus> LoadFolder() {
  LoadRequest request;
  request.dataset = FLAGS_folder;
  ASSIGN_OR_RETURN(auto images, LoadImages(request));
  if (FLAGS_channels == 3) return std::move(images.corpus);
  CorpusForm form;
  form.channels = FLAGS_channels;
  return ConvertCorpus(images.corpus, form, 0);
}

absl::Status WriteDecoded() {
  ASSIGN_OR_RETURN(const Corpus corpus, LoadFolder());
  RETURN_IF_ERROR(MakeFolder(FLAGS_write_decoded));
  for (int64_t i = 0; i < corpus.size(); ++i) {
    const ImageView image = corpus.image(i);
    const std::string name =
        absl::StrFormat("%08d_%d_%d.rgb", i, image.height, image.width);
    RETURN_IF_ERROR(WriteFileAtomically(
        JoinPath(FLAGS_write_decoded, name),
        absl::string_view(reinterpret_cast<const char*>(image.data),
                          image.size_bytes())));
  }
  return absl::OkStatus();
}

absl::StatusOr<double> Limit(const Source& source) {
  LimitOptions options;
  options.threads = FLAGS_workers;
  options.crop = kCrop;
  if (FLAGS_scope == "memory") {
    return BatchCopyLimit(int64_t{4} * FLAGS_channels * kCrop * kCrop,
                          FLAGS_batch_size, options);
  }
  std::vector<std::string> paths;
  for (int64_t i = 0; i < source.size(); ++i) paths.push_back(source.name(i));
  return DecodeLimit(paths, options);
}

absl::Status Answer(const std::string& line, Loader* loader) {
  if (line == "limit") {
    ASSIGN_OR_RETURN(const double limit, Limit(loader->source()));
    std::cout << absl::StrFormat("{\"limit\":%.1f}\n", limit) << std::flush;
    return absl::OkStatus();
  }
  const auto begin = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(const auto epoch, loader->StartEpoch(0, {0, FLAGS_items}));
  int64_t items = 0;
  for (;;) {
    ASSIGN_OR_RETURN(const LoaderBatch* batch, epoch->Next());
    if (batch == nullptr) break;
    items += batch->size;
  }
  epoch->Stop();
  const std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - begin;
  std::cout << absl::StrFormat("{\"items\":%d,\"elapsed_s\":%.9f}\n", items,
                               elapsed.count())
            << std::flush;
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> RunFromFlags(const std::vector<std::string>&) {
  if (FLAGS_folder.empty()) {
    return absl::InvalidArgumentError("--folder is missing");
  }
  if (!FLAGS_write_decoded.empty()) {
    RETURN_IF_ERROR(WriteDecoded());
    return ExitCode::kDone;
  }
  std::unique_ptr<Corpus> corpus;  // Must outlive the source.
  std::unique_ptr<Source> source;
  if (FLAGS_scope == "memory") {
    ASSIGN_OR_RETURN(Corpus loaded, LoadFolder());
    corpus = std::make_unique<Corpus>(std::move(loaded));
    ASSIGN_OR_RETURN(source, MemorySource(*corpus));
  } else {
    ASSIGN_OR_RETURN(source, FolderSource(FLAGS_folder));
  }
  ASSIGN_OR_RETURN(const auto loader,
                   Loader::Create(std::move(source), Options()));
  for (std::string line; std::getline(std::cin, line);) {
    RETURN_IF_ERROR(Answer(line, loader.get()));
  }
  return ExitCode::kDone;
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::ToolMain(argc, argv, feedrate::Info(),
                            feedrate::RunFromFlags);
}
