// Unpacks archives into folders of their own, for tests.
#ifndef FEEDRATE_LIB_TAR_EXTRACT_UNPACK_TESTING_H_
#define FEEDRATE_LIB_TAR_EXTRACT_UNPACK_TESTING_H_

#include <map>
#include <string>

#include "lib/tar/extract/unpack.h"
#include "lib/tar/status.h"

namespace feedrate::tar {

// A folder with a folder in it, both gone with this object. Whatever appears
// in the outer one beside the inner one has escaped.
class Cage {
 public:
  Cage();
  ~Cage();
  Cage(const Cage&) = delete;
  Cage& operator=(const Cage&) = delete;

  const std::string& outer() const { return outer_; }
  std::string inner() const { return outer_ + "/inner"; }

  // What is in the inner folder: path to content; a folder is "<folder>", a
  // symbolic link "-> target".
  std::map<std::string, std::string> Tree() const;

  // The names beside the inner folder.
  std::string Escaped() const;

 private:
  std::string outer_;
};

// How the archive arrives: as a file, or as a stream.
enum class Arrival { kFile, kStream };

Status UnpackInto(const Cage& cage, const std::string& archive, Arrival arrival,
                  const UnpackOptions& options, UnpackResult* result);

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_EXTRACT_UNPACK_TESTING_H_
