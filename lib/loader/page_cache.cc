#include "lib/loader/page_cache.h"

#include <fcntl.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstdint>

#include "lib/base/unique_fd.h"
#include "lib/loader/remote_source.h"

namespace feedrate {
namespace {

constexpr int64_t kLooks = 16;

bool IsCached(const ItemPlace& place) {
  UniqueFd opened;
  int fd = place.fd;
  if (place.path != nullptr) {
    opened.Reset(open(place.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    fd = opened.get();
  }
  char byte = 0;
  iovec part = {&byte, 1};
  // Fails with EAGAIN rather than to wait for a disk.
  return preadv2(fd, &part, 1, place.offset + place.bytes / 2, RWF_NOWAIT) == 1;
}

}  // namespace

bool IsMostlyCached(const Source& source, const ItemOrder& order) {
  const int64_t looks = std::min(kLooks, order.count());
  int64_t cached = 0;
  for (int64_t i = 0; i < looks; ++i) {
    const int64_t item = order.Item(i * order.count() / looks);
    cached += source.remote() != nullptr ? source.remote()->IsNear(item)
                                         : IsCached(source.Place(item));
  }
  return 2 * cached >= looks;
}

}  // namespace feedrate
