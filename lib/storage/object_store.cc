#include "lib/storage/object_store.h"

#include <utility>

#include "lib/storage/latch.h"

namespace feedrate {

absl::Status ObjectStore::Read(const ReadRequest& request) {
  absl::Status result;
  Latch finished(1);
  StartRead(request, [&](absl::Status status) {
    result = std::move(status);
    finished.CountDown();
  });
  finished.Wait();
  return result;
}

}  // namespace feedrate
