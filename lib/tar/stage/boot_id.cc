#include "lib/tar/stage/boot_id.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

namespace feedrate::tar {

std::string BootId() {
  char text[37] = {};
  const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    const ssize_t got = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (got == sizeof(text) - 1) return text;
  }
  struct timespec now = {}, up = {};
  clock_gettime(CLOCK_REALTIME, &now);
  clock_gettime(CLOCK_BOOTTIME, &up);
  const int64_t nanoseconds =
      (now.tv_sec - up.tv_sec) * 1000000000LL + (now.tv_nsec - up.tv_nsec);
  return "booted-at-" + std::to_string(nanoseconds / 1000000000LL);
}

}  // namespace feedrate::tar
