#include "lib/media/video/av.h"

#include <string>

extern "C" {
#include <libavutil/avutil.h>
#include <libavutil/error.h>
#include <libavutil/log.h>
}

namespace feedrate {

std::string AvErrorText(int result) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  av_strerror(result, text, sizeof(text));
  return text;
}

void SilenceAv() {
  static const bool silenced = [] {
    av_log_set_level(AV_LOG_QUIET);
    return true;
  }();
  (void)silenced;
}

std::string AvVersion() { return av_version_info(); }

}  // namespace feedrate
