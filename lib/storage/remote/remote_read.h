// One read from a store behind a network.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "lib/storage/http/client.h"
#include "lib/storage/object_store.h"
#include "lib/storage/remote/dialect.h"
#include "lib/storage/remote/work_thread.h"

namespace feedrate {

// What all reads of a store share.
struct ReadContext {
  Dialect* dialect = nullptr;
  HttpClient* client = nullptr;
  // For checksums too slow for the client's thread.
  WorkThread* checker = nullptr;
  int64_t range_bytes = 0;
  // Attempts for an object whose checksum is wrong: half as many retries as for
  // a request, because each one reads the whole object.
  int whole_attempts = 1;
  // The server names no versions, so what belongs together is one response.
  std::atomic<bool> in_one{false};
  std::atomic<int64_t> bytes{0};
  std::atomic<int64_t> checksum_faults{0};

  // The sums of the parts of objects, by name and version. Above a number of
  // sums (some 20 MB) all are forgotten, and asked for again where they are
  // needed. Used by the client's thread only.
  static constexpr int64_t kMostPartSums = 200000;
  void KeepPartSums(const std::string& name, const std::string& version,
                    std::shared_ptr<const std::vector<PartSum>> sums);
  std::map<std::pair<std::string, std::string>,
           std::shared_ptr<const std::vector<PartSum>>>
      part_sums;
  int64_t part_sums_held = 0;
};

// Reads, and calls `done` from the client's thread or the checker. The context
// outlives this. REQUIRES: request.bytes > 0.
void StartRemoteRead(ReadContext* context, const ReadRequest& request,
                     std::function<void(absl::Status)> done);

}  // namespace feedrate
