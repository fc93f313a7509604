// Lists and reads objects, to try a source by hand and in tests:
//
//   store_cat --list s3://bucket/prefix
//   store_cat s3://bucket/prefix name >file
//   store_cat --digest --range_bytes=8388608 https://host/big.bin
//
// --list prints name, bytes, version and checksum, separated by tabs. --digest
// reads every object (or the named ones) and prints MD5, bytes and name of
// each. Otherwise the bytes go to stdout. Each object is one read, so that its
// checksum is verified. --stream reads range by range and drops the bytes.
// Transfer statistics go to stderr as JSON.
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "gflags/gflags.h"
#include "lib/base/status_macros.h"
#include "lib/base/tool/exit_code.h"
#include "lib/hash/store_hashes.h"
#include "lib/storage/object_store.h"
#include "lib/storage/open_store.h"

DEFINE_bool(list, false,
            "print the objects: name, bytes, version and checksum");
DEFINE_bool(digest, false, "print MD5, bytes and name of each object");
DEFINE_bool(stream, false, "read ranges into a ring buffer and drop them");
DEFINE_int32(connections, 8, "maximum number of parallel requests");
DEFINE_int32(repeats, 1, "number of times to read everything");
DEFINE_int64(range_bytes, 8 << 20, "bytes per request");
DEFINE_int32(retries, 6, "number of times to retry a failed request");
DEFINE_double(timeout_s, 30,
              "a request that receives no data for this long has failed");
DEFINE_string(endpoint, "",
              "address of a store that is not the cloud provider's own");
DEFINE_string(redirect_hosts, "", "HOSTS: other hosts of the store");
DEFINE_bool(anonymous, false, "send no credentials");
DEFINE_int32(slices, 1,
             "read each object as this many ranges, without verification");
DEFINE_bool(
    header_checksum, false,
    "verify with the checksum of the response instead of the listing's");
DEFINE_bool(keep_going, false,
            "report objects that cannot be read, and continue");

namespace feedrate {
namespace {

std::string Md5Of(absl::string_view bytes) {
  Md5 hash;
  hash.Update(bytes.data(), bytes.size());
  uint8_t digest[Md5::kDigestSize];
  hash.Finish(digest);
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(digest), sizeof(digest)));
}

double NowS() {
  using std::chrono::steady_clock;
  return std::chrono::duration<double>(steady_clock::now().time_since_epoch())
      .count();
}

// One read per slice of the object.
std::vector<ReadRequest> RequestsFor(const ObjectInfo& info, std::string* out) {
  out->resize(info.bytes);
  const int64_t slices = std::max(1, FLAGS_slices);
  std::vector<ReadRequest> requests(slices);
  for (int64_t i = 0; i < slices; ++i) {
    ReadRequest& request = requests[i];
    request.name = info.name;
    request.version = info.version;
    if (slices == 1 && !FLAGS_header_checksum) {
      request.checksum = info.checksum;
    }
    request.offset = info.bytes * i / slices;
    request.bytes = info.bytes * (i + 1) / slices - request.offset;
    request.out = &(*out)[0] + request.offset;
  }
  return requests;
}

absl::StatusOr<std::vector<ObjectInfo>> Chosen(
    ObjectStore* store, const std::vector<std::string>& names) {
  if (names.empty()) return store->List();
  std::vector<ObjectInfo> infos;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(ObjectInfo info, store->Stat(name));
    infos.push_back(info);
  }
  return infos;
}

// Reads as many objects at once as there are connections, in order.
absl::Status PrintAll(ObjectStore* store,
                      const std::vector<ObjectInfo>& infos) {
  const size_t window = std::max(1, FLAGS_connections);
  for (size_t begin = 0; begin < infos.size(); begin += window) {
    const size_t end = std::min(infos.size(), begin + window);
    std::vector<std::string> bytes(end - begin);
    std::vector<absl::Status> results(end - begin);
    std::mutex mutex;
    Latch left(static_cast<int64_t>(end - begin) * std::max(1, FLAGS_slices));
    for (size_t i = begin; i < end; ++i) {
      for (const ReadRequest& request :
           RequestsFor(infos[i], &bytes[i - begin])) {
        store->StartRead(request, [&, i](absl::Status status) {
          {
            const std::lock_guard<std::mutex> lock(mutex);
            results[i - begin].Update(status);
          }
          left.CountDown();
        });
      }
    }
    left.Wait();
    for (size_t i = begin; i < end; ++i) {
      const absl::Status& result = results[i - begin];
      if (!result.ok() && !FLAGS_keep_going) return result;
      if (!result.ok()) {
        absl::FPrintF(stdout, "error\t%s\t%s\n", infos[i].name,
                      std::string(result.message()));
      } else if (FLAGS_digest) {
        absl::FPrintF(stdout, "%s\t%d\t%s\n", Md5Of(bytes[i - begin]),
                      infos[i].bytes, infos[i].name);
      } else {
        fwrite(bytes[i - begin].data(), 1, bytes[i - begin].size(), stdout);
      }
    }
  }
  return absl::OkStatus();
}

struct Freed {
  void operator()(char* memory) const { std::free(memory); }
};
using Slot = std::unique_ptr<char, Freed>;

// Memory in large pages, not zeroed because it is overwritten immediately.
Slot NewSlot(int64_t bytes) {
  constexpr int64_t kPage = int64_t{2} << 20;
  const size_t rounded = (bytes + kPage - 1) / kPage * kPage;
  char* memory = static_cast<char*>(std::aligned_alloc(kPage, rounded));
  madvise(memory, rounded, MADV_HUGEPAGE);
  return Slot(memory);
}

// Reads every range of every object, each into the slot of a finished one, like
// a loader that keeps up.
class Streamer {
 public:
  Streamer(ObjectStore* store, const std::vector<ObjectInfo>& infos)
      : store_(store),
        infos_(infos),
        slots_(std::max(1, FLAGS_connections)),
        left_(static_cast<int64_t>(slots_.size())) {}

  absl::Status Run() {
    for (Slot& slot : slots_) {
      slot = NewSlot(FLAGS_range_bytes);
      Next(slot.get());
    }
    left_.Wait();
    return status_;
  }

 private:
  void Next(char* out) {
    ReadRequest request;
    request.out = out;
    if (!Take(&request)) return left_.CountDown();
    store_->StartRead(request, [this, out](absl::Status status) {
      if (!status.ok()) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (status_.ok()) status_ = std::move(status);
        object_ = infos_.size();
      }
      Next(out);
    });
  }

  bool Take(ReadRequest* request) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (object_ >= infos_.size()) return false;
    const ObjectInfo& info = infos_[object_];
    request->name = info.name;
    request->version = info.version;
    request->offset = offset_;
    request->bytes = std::min(FLAGS_range_bytes, info.bytes - offset_);
    offset_ += request->bytes;
    if (offset_ >= info.bytes) {
      ++object_;
      offset_ = 0;
    }
    return true;
  }

  ObjectStore* const store_;
  const std::vector<ObjectInfo>& infos_;
  std::vector<Slot> slots_;
  Latch left_;
  std::mutex mutex_;
  size_t object_ = 0;
  int64_t offset_ = 0;
  absl::Status status_;
};

absl::Status Run(const std::string& url,
                 const std::vector<std::string>& names) {
  StoreOptions options;
  options.connections = FLAGS_connections;
  options.range_bytes = FLAGS_range_bytes;
  options.retries = FLAGS_retries;
  options.timeout_s = FLAGS_timeout_s;
  options.endpoint = FLAGS_endpoint;
  options.redirect_hosts = FLAGS_redirect_hosts;
  options.anonymous = FLAGS_anonymous;
  ASSIGN_OR_RETURN(const auto store, OpenObjectStore(url, options));
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> infos,
                   Chosen(store.get(), names));
  const double started_s = NowS();
  for (int i = 0; i < FLAGS_repeats; ++i) {
    if (FLAGS_list) {
      for (const ObjectInfo& info : infos) {
        absl::FPrintF(stdout, "%s\t%d\t%s\t%s\n", info.name, info.bytes,
                      info.version, info.checksum);
      }
    } else if (FLAGS_stream) {
      RETURN_IF_ERROR(Streamer(store.get(), infos).Run());
    } else {
      RETURN_IF_ERROR(PrintAll(store.get(), infos));
    }
  }
  const TransferCounts counts = store->counts();
  absl::FPrintF(stderr,
                "{\"elapsed_s\":%.6f,\"requests\":%d,\"bytes\":%d,"
                "\"retries\":%d,\"busy_s\":%.6f,\"checksum_faults\":%d}\n",
                NowS() - started_s, counts.requests, counts.bytes,
                counts.retries, counts.busy_s, counts.checksum_faults);
  return absl::OkStatus();
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  if (argc < 2) {
    fprintf(stderr,
            "usage: store_cat [--list|--digest|--stream] URL [NAME...]\n");
    return 1;
  }
  const absl::Status status =
      feedrate::Run(argv[1], std::vector<std::string>(argv + 2, argv + argc));
  if (status.ok()) return 0;
  fprintf(stderr, "store_cat: %s\n", std::string(status.message()).c_str());
  return static_cast<int>(feedrate::ExitCodeOf(status));
}
