#include "lib/storage/read_many.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace feedrate {
namespace {

absl::Status Named(const std::string& name, const absl::Status& status) {
  if (status.ok() || absl::StrContains(status.message(), name)) return status;
  return absl::Status(status.code(),
                      absl::StrCat(name, ": ", status.message()));
}

}  // namespace

absl::Status ReadMany(const std::vector<ReadRequest>& requests,
                      ObjectStore* store) {
  std::mutex mutex;
  std::condition_variable finished;
  size_t left = requests.size();
  absl::Status failure;
  for (const ReadRequest& request : requests) {
    store->StartRead(request, [&](absl::Status status) {
      const std::lock_guard<std::mutex> lock(mutex);
      failure.Update(Named(request.name, status));
      if (--left == 0) finished.notify_all();
    });
  }
  std::unique_lock<std::mutex> lock(mutex);
  finished.wait(lock, [&] { return left == 0; });
  return failure;
}

absl::Status ReadObjects(const std::vector<ObjectInfo>& objects, size_t begin,
                         size_t end, ObjectStore* store,
                         std::vector<std::string>* contents) {
  contents->resize(end - begin);
  std::vector<ReadRequest> requests(end - begin);
  for (size_t i = begin; i < end; ++i) {
    const ObjectInfo& object = objects[i];
    std::string& content = (*contents)[i - begin];
    content.resize(object.bytes);
    ReadRequest& request = requests[i - begin];
    request.name = object.name;
    request.version = object.version;
    request.checksum = object.checksum;
    request.bytes = object.bytes;
    request.out = content.data();
  }
  return ReadMany(requests, store);
}

size_t EndOfRun(const std::vector<ObjectInfo>& objects, size_t begin,
                int64_t bytes) {
  size_t end = begin + 1;
  int64_t total = objects[begin].bytes;
  while (end < objects.size() && total + objects[end].bytes <= bytes) {
    total += objects[end++].bytes;
  }
  return end;
}

}  // namespace feedrate
