#include "lib/loader/remote_source.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "lib/base/status_macros.h"
#include "lib/storage/checksum.h"

namespace feedrate {
namespace {

// What lies between two items, such as headers and labels, is read with them
// when it is no more than this: less than a request costs.
constexpr int64_t kLargestGap = 64 << 10;

}  // namespace

RemoteSource::RemoteSource(OpenedStore store, std::vector<RemoteObject> objects,
                           std::vector<RemoteItem> items, int connections,
                           int64_t block_bytes)
    : store_(std::move(store)),
      objects_(std::move(objects)),
      items_(std::move(items)),
      connections_(connections) {
  MakeBlocks(block_bytes);
}

void RemoteSource::MakeBlocks(int64_t block_bytes) {
  block_of_.reserve(items_.size());
  for (size_t i = 0; i < items_.size(); ++i) {
    const RemoteItem& item = items_[i];
    bool joins = false;
    if (i > 0 && items_[i - 1].object == item.object) {
      const int64_t end = items_[i - 1].offset + items_[i - 1].bytes;
      joins = item.offset >= end && item.offset - end <= kLargestGap &&
              item.offset + item.bytes - blocks_.back().offset <= block_bytes;
    }
    if (!joins) blocks_.push_back({item.offset, 0});
    blocks_.back().bytes = item.offset + item.bytes - blocks_.back().offset;
    block_of_.push_back(static_cast<int32_t>(blocks_.size()) - 1);
  }
}

std::string RemoteSource::name(int64_t item) const {
  const RemoteItem& at = items_[item];
  const std::string& object = objects_[at.object].name;
  // An address that lists objects, or names one, is not above them.
  absl::string_view above = store_.store->url();
  const size_t list = above.find('{');
  if (list != above.npos || absl::EndsWith(above, object)) {
    above = above.substr(0, above.substr(0, list).rfind('/'));
  }
  return absl::StrCat(above, "/", object, at.member.empty() ? "" : ":",
                      at.member);
}

bool RemoteSource::JoinsNext(int64_t item) const {
  return item + 1 < size() && block_of_[item] == block_of_[item + 1];
}

int64_t RemoteSource::Span(int64_t first, int64_t last) const {
  return items_[last].offset + items_[last].bytes - items_[first].offset;
}

bool RemoteSource::IsNear(int64_t item) const {
  if (store_.cached == nullptr) return store_.is_local;
  const RemoteObject& object = objects_[items_[item].object];
  ReadRequest request;
  request.name = object.name;
  request.version = object.version;
  return store_.cached->IsCached(request, blocks_[block_of_[item]]);
}

void RemoteSource::StartRead(int64_t first, int64_t last, char* out,
                             std::function<void(absl::Status)> done) const {
  const RemoteItem& item = items_[first];
  const RemoteObject& object = objects_[item.object];
  ReadRequest request;
  request.name = object.name;
  request.version = object.version;
  if (item.is_whole) request.checksum = object.checksum;
  request.offset = item.offset;
  request.bytes = Span(first, last);
  request.out = out;
  if (store_.cached == nullptr) {
    store_.store->StartRead(request, std::move(done));
  } else {
    store_.cached->StartBlockRead(request, blocks_[block_of_[first]],
                                  std::move(done));
  }
}

absl::Status RemoteSource::Check(int64_t item, absl::string_view bytes) const {
  const std::optional<uint32_t>& crc32c = items_[item].crc32c;
  if (!crc32c.has_value() || Crc32c(bytes) == *crc32c) return absl::OkStatus();
  return absl::DataLossError("its bytes have another checksum than the index");
}

absl::StatusOr<absl::string_view> RemoteSource::Read(int64_t item,
                                                     ReadBuffer* buffer) const {
  const int64_t bytes = items_[item].bytes;
  char* const out = buffer->Reserve(bytes);
  absl::Status result;
  absl::Notification finished;
  StartRead(item, item, out, [&](absl::Status status) {
    result = std::move(status);
    finished.Notify();
  });
  finished.WaitForNotification();
  RETURN_IF_ERROR(result);
  const absl::string_view view(out, bytes);
  RETURN_IF_ERROR(Check(item, view));
  return view;
}

CacheCounts RemoteSource::cache_counts() const {
  return store_.cached == nullptr ? CacheCounts()
                                  : store_.cached->cache().counts();
}

}  // namespace feedrate
