// Prints what the native loader delivers, one JSON object per sample, so that
// tests can compare it with other readers of the same files.
//
//   dump_samples FOLDER SAMPLES FRAME_SIZE [ACTION_CHUNK [FRAMES]]
//
// The file FRAMES gets the pixels of all frames.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lib/base/status_macros.h"
#include "lib/hash/sha256.h"
#include "lib/json/json.h"
#include "lib/loader/mixture/mixture_folder.h"
#include "lib/loader/mixture/mixture_loader.h"

namespace feedrate {
namespace {

absl::Status Dump(const std::string& folder, int64_t samples, int size,
                  int action_chunk, std::FILE* pixels) {
  ASSIGN_OR_RETURN(const std::vector<MixtureSource> sources,
                   ReadMixtureFolder(folder));
  MixtureOptions options;
  options.count = samples;
  options.spec.metadata = "full";
  options.spec.samples_per_episode = 0;
  options.spec.action_chunk = action_chunk;
  options.spec.frame_height = options.spec.frame_width = size;
  MixtureMemory memory;
  RETURN_IF_ERROR(memory.Reserve(options.spec));
  ASSIGN_OR_RETURN(const std::unique_ptr<MixtureLoader> loader,
                   MixtureLoader::Start(sources, options, &memory));
  for (;;) {
    ASSIGN_OR_RETURN(const MixtureBatch* const batch, loader->Next());
    if (batch == nullptr) return absl::OkStatus();
    const size_t bytes = batch->shape.bytes();
    for (int i = 0; i < batch->size; ++i) {
      const SampleMetadata& sample = batch->metadata[i];
      const uint8_t* const frames = batch->frames + 2 * bytes * i;
      const Json line = {{"dataset", sources[sample.dataset].name},
                         {"episode_id", sample.episode_id},
                         {"step", sample.step},
                         {"instruction", sample.instruction},
                         {"action", sample.action},
                         {"action_padded", sample.action_padded},
                         {"state", sample.state},
                         {"first", Sha256Hex(frames, bytes)},
                         {"second", Sha256Hex(frames + bytes, bytes)}};
      std::puts(
          line.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
      if (pixels != nullptr) std::fwrite(frames, 1, 2 * bytes, pixels);
    }
  }
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  if (argc < 4) return 1;
  std::FILE* const pixels = argc > 5 ? std::fopen(argv[5], "wb") : nullptr;
  const absl::Status done =
      feedrate::Dump(argv[1], std::atoll(argv[2]), std::atoi(argv[3]),
                     argc > 4 ? std::atoi(argv[4]) : 1, pixels);
  if (pixels != nullptr && std::fclose(pixels) != 0) return 1;
  if (!done.ok()) std::fprintf(stderr, "%s\n", done.ToString().c_str());
  return done.ok() ? 0 : 1;
}
