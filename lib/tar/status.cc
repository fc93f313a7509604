#include "lib/tar/status.h"

#include <cerrno>
#include <cstring>

#include "lib/tar/error.h"

namespace feedrate::tar {
namespace {

// What to do about the failures that people meet.
const char* Remedy(int error) {
  switch (error) {
    case ENOSPC:
      return "; free some space or choose another --dest";
    case EDQUOT:
      return "; your quota is used up";
    case EACCES:
    case EPERM:
    case EROFS:
      return "; choose a folder that you may write to";
    case EMFILE:
    case ENFILE:
      return "; raise the limit with ulimit -n";
    default:
      return "";
  }
}

}  // namespace

Status CallersMistake(std::string message) {
  return Status(Status::kCallersMistake, std::move(message));
}

Status Failed(std::string message) {
  return Status(Status::kRunFailed, std::move(message));
}

Status SystemFailure(std::string_view doing, std::string_view path, int error) {
  std::string message(doing);
  message += ' ' + Quote(path) + ": ";
  message += strerror(error);
  return Failed(message + Remedy(error));
}

}  // namespace feedrate::tar
