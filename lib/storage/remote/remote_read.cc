#include "lib/storage/remote/remote_read.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/storage/remote/checksum.h"
#include "lib/storage/remote/range_exchange.h"

namespace feedrate {

RemoteRead::RemoteRead(ReadContext* context, const ReadRequest& request,
                       std::function<void(absl::Status)> done)
    : context_(context),
      request_(request),
      done_(std::move(done)),
      version_(request.version) {}

void RemoteRead::Start() {
  ++wholes_;
  const int64_t step = context_->range_bytes;
  parts_left_ = (request_.bytes + step - 1) / step;
  // A part may end before the next is made.
  const int64_t parts = parts_left_;
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t first = i * step;
    const int64_t bytes = std::min(step, request_.bytes - first);
    context_->client->Start(NewRangeExchange(shared_from_this(), first, bytes));
  }
}

absl::Status RemoteRead::TakeFacts(const ObjectFacts& facts, int64_t total) {
  const bool other_version =
      !version_.empty() && !facts.version.empty() && facts.version != version_;
  const bool other_size = total_ >= 0 && total >= 0 && total != total_;
  if (other_version || other_size) {
    return absl::FailedPreconditionError(
        "the object has changed since; list it again");
  }
  if (version_.empty()) version_ = facts.version;
  if (total >= 0) total_ = total;
  facts_ = facts;
  return absl::OkStatus();
}

void RemoteRead::PartDone(const absl::Status& status) {
  // What the others say after the first is that they were called off.
  if (status_.ok()) status_ = status;
  if (--parts_left_ > 0) return;
  const std::string checksum = ChecksumToHave();
  if (!status_.ok() || checksum.empty()) {
    Finish();
  } else if (IsCheapChecksum(checksum, request_.bytes)) {
    Verify();
  } else {
    context_->checker->Post([self = shared_from_this()] { self->Verify(); });
  }
}

std::string RemoteRead::ChecksumToHave() const {
  const bool whole = request_.offset == 0 && request_.bytes == total_;
  if (request_.checksum.empty()) return whole ? facts_.checksum : "";
  const bool opaque = facts_.opaque_version &&
                      request_.checksum == ChecksumOfEtag(facts_.version);
  return opaque ? "" : request_.checksum;
}

void RemoteRead::Verify() {
  const absl::string_view bytes(request_.out, request_.bytes);
  const std::string checksum = ChecksumToHave();
  if (HasChecksum(bytes, checksum)) return Finish();
  ++context_->checksum_faults;
  if (wholes_ < context_->whole_attempts) return Start();
  status_ = absl::DataLossError(
      absl::StrCat("its bytes do not have the checksum ", checksum,
                   " that the server "
                   "names (read ",
                   wholes_, " times); the object is damaged"));
  Finish();
}

void RemoteRead::Finish() {
  if (status_.ok()) return done_(absl::OkStatus());
  done_(absl::Status(status_.code(),
                     absl::StrCat(context_->dialect->AddressOf(request_.name),
                                  ": ", status_.message())));
}

}  // namespace feedrate
