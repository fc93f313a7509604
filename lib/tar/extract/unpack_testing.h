// Unpacks archives into temporary folders, for tests.
#pragma once

#include <map>
#include <string>

#include "lib/tar/extract/unpack.h"
#include "lib/tar/status.h"

namespace feedrate::tar {

// A folder with an inner folder, both removed by the destructor. Whatever
// appears in the outer folder next to the inner one has escaped.
class Sandbox {
 public:
  Sandbox();
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  const std::string& outer() const { return outer_; }
  std::string inner() const { return outer_ + "/inner"; }

  // What is in the inner folder: maps a path to its content. The content of a
  // folder is "<folder>", of a symbolic link "-> target".
  std::map<std::string, std::string> Tree() const;

  // The names next to the inner folder.
  std::string Escaped() const;

 private:
  std::string outer_;
};

// How the archive arrives: as a file, or as a stream.
enum class Arrival { kFile, kStream };

Status UnpackInto(const Sandbox& sandbox, const std::string& archive,
                  Arrival arrival, const UnpackOptions& options,
                  UnpackResult* result);

}  // namespace feedrate::tar
