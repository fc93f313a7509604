#include "lib/runner/clip_frames.h"

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/media/corpus.h"
#include "lib/media/image.h"
#include "lib/reference/compare.h"
#include "lib/worker/child.h"

namespace feedrate {
namespace {

bool IsClip(const ChildOutput& output) { return output.info.shape.size() == 4; }

}  // namespace

ImageView FrameOfItem(const Corpus& corpus, int64_t item, int frame) {
  const ItemView view = corpus.item(item);
  const int64_t bytes = view.bytes / view.frames;
  return {static_cast<const uint8_t*>(view.data) + frame * bytes, view.height,
          view.width, view.channels};
}

int FramesOfOutput(const ChildOutput& output) {
  return IsClip(output) ? static_cast<int>(output.info.shape[0]) : 1;
}

OutputView FrameOfOutput(const ChildOutput& output, int frame) {
  const int64_t bytes =
      static_cast<int64_t>(output.bytes.size()) / FramesOfOutput(output);
  // Without the axis of time.
  const size_t first = IsClip(output) ? 1 : 0;
  const std::vector<int64_t> shape(output.info.shape.begin() + first,
                                   output.info.shape.end());
  OutputView view;
  view.data = output.bytes.data() + frame * bytes;
  view.bytes = bytes;
  view.dtype = output.info.dtype;
  view.layout = absl::string_view(output.info.layout).substr(first);
  const bool channels_first = view.layout == "CHW";
  view.height = static_cast<int>(shape[channels_first ? 1 : 0]);
  view.width = static_cast<int>(shape[channels_first ? 2 : 1]);
  view.channels = static_cast<int>(shape[channels_first ? 0 : 2]);
  return view;
}

}  // namespace feedrate
