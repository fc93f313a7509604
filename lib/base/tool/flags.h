// DEFINE_string and its kin for the flags of one source file.
//
// A flag of gflags' own is registered before main, under a name that only one
// file of a program may have. These wait until ToolMain registers those of
// ToolInfo::flag_files, so that one executable can hold many programs
// (tools/programs).
#pragma once

#include <string>
#include <vector>

#include "gflags/gflags.h"

namespace feedrate {

// Flags of a source file. Makes one before main.
class FileFlags {
 public:
  using Definition = void (*)();

  // `definition` registers flags with gflags.
  FileFlags(const char* file, Definition definition);
  FileFlags(const FileFlags&) = delete;
  FileFlags& operator=(const FileFlags&) = delete;

  // Registers the flags of files whose paths end with one of `files`; of each
  // file once.
  static void Register(const std::vector<std::string>& files);

 private:
  const char* const file_;
  Definition definition_;
  FileFlags* const next_;
};

}  // namespace feedrate

#define FEEDRATE_FLAG(type, name, value, help)                    \
  static type FLAGS_##name = value;                               \
  static ::feedrate::FileFlags flag_of_file_##name(__FILE__, [] { \
    gflags::FlagRegisterer(#name, help, __FILE__, &FLAGS_##name,  \
                           new type(FLAGS_##name));               \
  })

#undef DEFINE_bool
#undef DEFINE_double
#undef DEFINE_int32
#undef DEFINE_int64
#undef DEFINE_string
#undef DEFINE_uint64
#define DEFINE_bool(name, value, help) FEEDRATE_FLAG(bool, name, value, help)
#define DEFINE_double(name, value, help) \
  FEEDRATE_FLAG(double, name, value, help)
#define DEFINE_int32(name, value, help) \
  FEEDRATE_FLAG(gflags::int32, name, value, help)
#define DEFINE_int64(name, value, help) \
  FEEDRATE_FLAG(gflags::int64, name, value, help)
#define DEFINE_string(name, value, help) \
  FEEDRATE_FLAG(std::string, name, value, help)
#define DEFINE_uint64(name, value, help) \
  FEEDRATE_FLAG(gflags::uint64, name, value, help)
