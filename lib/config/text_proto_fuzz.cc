// Any bytes as a config: an error in one line with the place, or a message
// that prints to text which reads back the same.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "lib/config/matrix.pb.h"
#include "lib/config/places.h"
#include "lib/config/quota.pb.h"
#include "lib/config/run_config.pb.h"
#include "lib/config/text_proto.h"

namespace feedrate {
namespace {

template <typename Message>
void ParseAs(absl::string_view text) {
  Message message;
  Places places("f");
  const absl::Status status = ParseTextProto(text, "f", &message, &places);
  if (!status.ok()) {
    CHECK(absl::StartsWith(status.message(), "f:")) << status;
    CHECK(!absl::StrContains(status.message(), '\n')) << status;
    return;
  }
  CHECK(absl::StartsWith(places.Of("selection.libraries[1]"), "f"));
  const std::string printed = PrintTextProto(message);
  Message again;
  CHECK(ParseTextProto(printed, "g", &again).ok()) << printed;
  CHECK_EQ(PrintTextProto(again), printed);
}

}  // namespace
}  // namespace feedrate

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  feedrate::ParseAs<feedrate::RunConfig>(text);
  feedrate::ParseAs<feedrate::Matrix>(text);  // Has enums.
  feedrate::ParseAs<feedrate::Quota>(text);
  return 0;
}
