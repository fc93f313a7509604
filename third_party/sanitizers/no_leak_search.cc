// The search for leaks costs seconds at the end of each process under some
// kernels, and a shell test starts dozens. Every program that uses ToolMain has
// this built in, so only unit tests search; `ASAN_OPTIONS=detect_leaks=1` asks
// for it all the same.

#ifdef __SANITIZE_ADDRESS__

extern "C" const char* __asan_default_options();

extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

#endif
