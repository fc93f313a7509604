// Reports that are not ours, for ThreadSanitizer. Built in, because a test has
// no way to a file that it does not name.

extern "C" const char* __tsan_default_suppressions();

extern "C" const char* __tsan_default_suppressions() {
  // The distribution's glog is not instrumented, so its locks go unseen; the
  // second line is for where it is linked from its archive. FFmpeg's threads
  // count the users of a frame with atomics that go unseen too.
  return "called_from_lib:libglog.so.1\n"
         "race:google::LogMessage\n"
         "called_from_lib:libavcodec.so\n"
         "called_from_lib:libavutil.so\n";
}
