#include "lib/storage/object_store.h"

#include <utility>

#include "absl/synchronization/notification.h"

namespace feedrate {

absl::Status ObjectStore::Read(const ReadRequest& request) {
  absl::Status result;
  absl::Notification finished;
  StartRead(request, [&](absl::Status status) {
    result = std::move(status);
    finished.Notify();
  });
  finished.WaitForNotification();
  return result;
}

}  // namespace feedrate
