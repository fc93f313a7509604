// libjpeg's way of failing, made into a jump and a text. For jpeg*.cc alone.
#ifndef FEEDRATE_LIB_MEDIA_JPEG_ERRORS_H_
#define FEEDRATE_LIB_MEDIA_JPEG_ERRORS_H_

#include <csetjmp>
#include <cstddef>

// jpeglib.h uses FILE without including it.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on

namespace feedrate {

// `base` first: libjpeg hands its address back. Functions that call setjmp on
// `jump` must have no variable with a destructor, which a jump would not run.
struct JpegErrors {
  jpeg_error_mgr base;
  std::jmp_buf jump;
  int code;  // Of the last failure: a value of jerror.h.
  char text[JMSG_LENGTH_MAX];
};

// Makes `errors` jump at errors and at warnings that mean damaged data; other
// warnings are passed over. Returns what to put into `cinfo.err`.
jpeg_error_mgr* PrepareJpegErrors(JpegErrors* errors);

// Makes `progress` fail files of more than a hundred scans: a file may ask for
// any number of passes over the whole image; those that people make have about
// ten. Returns what to put into `cinfo.progress`.
jpeg_progress_mgr* PrepareJpegProgress(jpeg_progress_mgr* progress);

// Fails with `text` as libjpeg itself would.
[[noreturn]] void FailJpeg(j_common_ptr cinfo, const char* text);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_JPEG_ERRORS_H_
