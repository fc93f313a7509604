#include "lib/media/jpeg_errors.h"

#include <jerror.h>

#include <cstring>

namespace feedrate {
namespace {

constexpr int kMostScans = 100;

JpegErrors* Of(j_common_ptr cinfo) {
  return reinterpret_cast<JpegErrors*>(cinfo->err);
}

[[noreturn]] void Jump(j_common_ptr cinfo) {
  JpegErrors* errors = Of(cinfo);
  errors->code = errors->base.msg_code;
  errors->base.format_message(cinfo, errors->text);
  std::longjmp(errors->jump, 1);
}

// Pixels would be made up. What remains is sloppy writing that changes none:
// padding between segments, odd version numbers, profiles.
bool MeansDamage(int warning) {
  switch (warning) {
    case JWRN_ARITH_BAD_CODE:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_JPEG_EOF:
    case JWRN_MUST_RESYNC:
    case JWRN_NOT_SEQUENTIAL:
      return true;
    default:
      return false;
  }
}

void OnMessage(j_common_ptr cinfo, int level) {
  if (level < 0 && MeansDamage(cinfo->err->msg_code)) Jump(cinfo);
}

void LimitScans(j_common_ptr cinfo) {
  if (reinterpret_cast<j_decompress_ptr>(cinfo)->input_scan_number >
      kMostScans) {
    FailJpeg(cinfo, "too many scans");
  }
}

}  // namespace

jpeg_progress_mgr* PrepareJpegProgress(jpeg_progress_mgr* progress) {
  progress->progress_monitor = LimitScans;
  return progress;
}

jpeg_error_mgr* PrepareJpegErrors(JpegErrors* errors) {
  jpeg_std_error(&errors->base);
  errors->base.error_exit = Jump;
  errors->base.emit_message = OnMessage;
  errors->code = 0;
  errors->text[0] = '\0';
  return &errors->base;
}

void FailJpeg(j_common_ptr cinfo, const char* text) {
  JpegErrors* errors = Of(cinfo);
  errors->code = -1;
  std::strncpy(errors->text, text, sizeof(errors->text) - 1);
  errors->text[sizeof(errors->text) - 1] = '\0';
  std::longjmp(errors->jump, 1);
}

}  // namespace feedrate
