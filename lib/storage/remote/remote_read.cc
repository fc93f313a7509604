#include "lib/storage/remote/remote_read.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/storage/checksum.h"
#include "lib/storage/http/fetch.h"
#include "lib/storage/http/message.h"

namespace feedrate {
namespace {

// One read of an object, as one or many requests. Its parts run in parallel and
// write directly into the caller's memory. All parts must have the same
// version; an object that is read whole must have the checksum from the request
// or the server, and without one, so must each part in which it was uploaded
// that the read covers. Lives until its last part has ended.
class RemoteRead : public std::enable_shared_from_this<RemoteRead> {
 public:
  RemoteRead(ReadContext* context, const ReadRequest& request,
             std::function<void(absl::Status)> done);

  // REQUIRES: request.bytes > 0.
  void Start();
  void StartParts();

  // The rest is used by its parts.
  const ReadRequest& request() const { return request_; }
  ReadContext& context() const { return *context_; }
  // Whether another part has failed, so that this one is no longer needed.
  bool failed() const { return !status_.ok(); }
  // The version to request: from the caller or from the first response.
  const std::string& version() const { return version_; }
  // Checks the head of a response. FailedPrecondition if the object has changed
  // since the read began.
  absl::Status TakeFacts(const ObjectFacts& facts, int64_t total);
  void PartDone(const absl::Status& status);

 private:
  std::string ChecksumToHave() const;
  bool IsWhole() const {
    return request_.offset == 0 && request_.bytes == total_;
  }
  void CheckOrFinish();
  void AskForChecksum();
  void AskForPartSums(std::shared_ptr<std::vector<PartSum>> sums, int64_t last);
  // The first sum that the bytes do not have; empty if there is none.
  std::string WrongChecksum() const;
  void VerifyOrFinish();
  void Verify();
  void Finish();

  ReadContext* const context_;
  const ReadRequest request_;
  std::function<void(absl::Status)> done_;
  // Parts run only in the client's thread; Verify runs when no part does.
  absl::Status status_;
  std::string version_;
  ObjectFacts facts_;
  std::string known_checksum_;  // The whole object's, as a response named it.
  int64_t total_ = -1;          // Size of the object; -1 if unknown.
  int64_t parts_left_ = 0;
  int wholes_ = 0;
  bool in_one_ = false;
  bool asked_for_checksum_ = false;
  // Null until asked for.
  std::shared_ptr<const std::vector<PartSum>> part_sums_;
};

// The part of `read` that begins `first` bytes after the read's own offset. An
// attempt continues where the last one broke off, as long as the version shows
// that it is still the same object.
std::unique_ptr<HttpExchange> NewRangeExchange(std::shared_ptr<RemoteRead> read,
                                               int64_t first, int64_t bytes);

RemoteRead::RemoteRead(ReadContext* context, const ReadRequest& request,
                       std::function<void(absl::Status)> done)
    : context_(context),
      request_(request),
      done_(std::move(done)),
      version_(request.version),
      total_(request.object_bytes) {}

void RemoteRead::Start() {
  ++wholes_;
  StartParts();
}

void RemoteRead::StartParts() {
  in_one_ = version_.empty() && context_->in_one;
  const int64_t step = in_one_ ? request_.bytes : context_->range_bytes;
  parts_left_ = (request_.bytes + step - 1) / step;
  // A part may end before the next one is created.
  const int64_t parts = parts_left_;
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t first = i * step;
    const int64_t bytes = std::min(step, request_.bytes - first);
    context_->client->Start(NewRangeExchange(shared_from_this(), first, bytes));
  }
}

absl::Status RemoteRead::TakeFacts(const ObjectFacts& facts, int64_t total) {
  const bool omitted =
      facts.version.empty() && context_->dialect->may_omit_version();
  const bool other_version =
      !version_.empty() && facts.version != version_ && !omitted;
  const bool other_size = total_ >= 0 && total >= 0 && total != total_;
  if (other_version || other_size) {
    return absl::FailedPreconditionError(
        "the object has changed since; list it again");
  }
  if (version_.empty()) version_ = facts.version;
  if (total >= 0) total_ = total;
  const bool was_opaque = facts_.opaque_version;
  facts_ = facts;
  facts_.opaque_version |= was_opaque;
  const bool is_sum = !facts.checksum.empty() &&
                      !(facts_.opaque_version &&
                        facts.checksum == ChecksumOfEtag(facts.version));
  if (is_sum) known_checksum_ = facts.checksum;
  return absl::OkStatus();
}

void RemoteRead::PartDone(const absl::Status& status) {
  // After the first failure, the others only report that they were cancelled.
  if (status_.ok()) status_ = status;
  if (--parts_left_ > 0) return;
  CheckOrFinish();
}

void RemoteRead::CheckOrFinish() {
  if (status_.ok() && version_.empty() && !in_one_ &&
      request_.bytes > context_->range_bytes) {
    // Nobody can tell whether the parts are of one version.
    context_->in_one = true;
    return StartParts();
  }
  if (!status_.ok() || !ChecksumToHave().empty()) return VerifyOrFinish();
  // A store may know the sum of an object but send it with no range.
  if (IsWhole() && request_.bytes > context_->range_bytes &&
      !asked_for_checksum_ && context_->dialect->stat_has_checksum()) {
    return AskForChecksum();
  }
  // Parts have the same size, except the last.
  const int64_t parts = context_->dialect->PartsOf(version_);
  if (parts > 0 && total_ > 0 && request_.bytes >= total_ / parts &&
      part_sums_ == nullptr) {
    const auto known = context_->part_sums.find({request_.name, version_});
    if (known == context_->part_sums.end()) {
      return AskForPartSums(std::make_shared<std::vector<PartSum>>(), 0);
    }
    part_sums_ = known->second;
  }
  VerifyOrFinish();
}

void RemoteRead::AskForPartSums(std::shared_ptr<std::vector<PartSum>> sums,
                                int64_t last) {
  const std::shared_ptr<RemoteRead> self = shared_from_this();
  const auto next = std::make_shared<int64_t>(0);
  const size_t before = sums->size();
  TextQuery query;
  query.request = [self, last] {
    return self->context_->dialect->PartSumsRequest(self->request_.name, last);
  };
  query.answer = [self, sums, before, next](const HttpResponse&,
                                            const std::string& body) {
    sums->resize(before);
    auto parsed = self->context_->dialect->ParsePartSums(self->version_, body,
                                                         sums.get());
    *next = parsed.ok() ? *parsed : 0;
    return parsed.status();
  };
  query.refused = [self](const HttpResponse& response) {
    return self->context_->dialect->ErrorOf(response);
  };
  query.done = [self, sums, last, next](const absl::Status& status) {
    if (status.ok() && *next > last) {
      return self->AskForPartSums(sums, *next);
    }
    if (IsTransient(status) || absl::IsCancelled(status)) {
      self->status_ = status;
      return self->Finish();
    }
    // Many stores cannot tell, or do not tell everybody.
    if (!status.ok()) sums->clear();
    self->part_sums_ = sums;
    self->context_->KeepPartSums(self->request_.name, self->version_, sums);
    self->VerifyOrFinish();
  };
  context_->client->Start(NewTextExchange(std::move(query)));
}

std::string RemoteRead::WrongChecksum() const {
  const absl::string_view bytes(request_.out, request_.bytes);
  const std::string whole = ChecksumToHave();
  if (!whole.empty()) return HasChecksum(bytes, whole) ? "" : whole;
  if (part_sums_ == nullptr) return "";
  for (const PartSum& part : *part_sums_) {
    const int64_t first = part.offset - request_.offset;
    if (first < 0 || part.bytes > request_.bytes - first) continue;
    if (!HasChecksum(bytes.substr(first, part.bytes), part.checksum)) {
      return part.checksum;
    }
  }
  return "";
}

void RemoteRead::AskForChecksum() {
  asked_for_checksum_ = true;
  const std::shared_ptr<RemoteRead> self = shared_from_this();
  TextQuery query;
  query.request = [self] {
    return self->context_->dialect->StatRequest(self->request_.name);
  };
  query.answer = [self](const HttpResponse& response, const std::string&) {
    ObjectFacts facts = self->context_->dialect->FactsOf(response.headers);
    return self->TakeFacts(facts, -1);
  };
  query.refused = [self](const HttpResponse& response) {
    return self->context_->dialect->ErrorOf(response);
  };
  query.done = [self](absl::Status status) {
    self->status_ = std::move(status);
    self->CheckOrFinish();
  };
  context_->client->Start(NewTextExchange(std::move(query)));
}

void RemoteRead::VerifyOrFinish() {
  std::string checksum = ChecksumToHave();
  if (checksum.empty() && part_sums_ != nullptr && !part_sums_->empty()) {
    checksum = part_sums_->front().checksum;
  }
  if (!status_.ok() || checksum.empty()) {
    Finish();
  } else if (IsCheapChecksum(checksum, request_.bytes)) {
    Verify();
  } else {
    context_->checker->Post([self = shared_from_this()] { self->Verify(); });
  }
}

std::string RemoteRead::ChecksumToHave() const {
  const bool opaque = facts_.opaque_version &&
                      request_.checksum == ChecksumOfEtag(facts_.version);
  if (!request_.checksum.empty() && !opaque) return request_.checksum;
  return IsWhole() ? known_checksum_ : "";
}

void RemoteRead::Verify() {
  const std::string checksum = WrongChecksum();
  if (checksum.empty()) return Finish();
  ++context_->checksum_faults;
  if (wholes_ < context_->whole_attempts) {
    // It may have been the sum that was wrong.
    known_checksum_.clear();
    asked_for_checksum_ = false;
    return Start();
  }
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

class RangeExchange : public HttpExchange {
 public:
  RangeExchange(std::shared_ptr<RemoteRead> read, int64_t first, int64_t bytes)
      : read_(std::move(read)),
        offset_(read_->request().offset + first),
        bytes_(bytes),
        out_(read_->request().out + first) {}

  absl::StatusOr<HttpRequest> Request() override {
    if (read_->failed()) return absl::CancelledError("another part failed");
    // Received bytes are kept only if the next response must be for the same
    // object.
    if (read_->version().empty()) received_ = 0;
    return read_->context().dialect->RangeRequest(
        read_->request().name, read_->version(), offset_ + received_,
        offset_ + bytes_ - 1);
  }

  absl::Status Head(const HttpResponse& response) override {
    int64_t total = -1;
    ASSIGN_OR_RETURN(total, response.status == 206 ? TotalOfRange(response)
                                                   : TotalOfWhole(response));
    return read_->TakeFacts(read_->context().dialect->FactsOf(response.headers),
                            total);
  }

  absl::Status Body(absl::string_view bytes) override {
    if (static_cast<int64_t>(bytes.size()) > BytesLeft()) {
      received_ = 0;
      return absl::DataLossError("the server sent more than it was asked for");
    }
    std::memcpy(out_ + received_, bytes.data(), bytes.size());
    received_ += static_cast<int64_t>(bytes.size());
    read_->context().bytes.fetch_add(static_cast<int64_t>(bytes.size()),
                                     std::memory_order_relaxed);
    return absl::OkStatus();
  }

  absl::Status End() override {
    if (BytesLeft() == 0) return absl::OkStatus();
    return absl::UnavailableError(
        absl::StrCat("the answer lacks ", BytesLeft(), " bytes"));
  }

  absl::Status Refused(const HttpResponse& response) override {
    return read_->context().dialect->ErrorOf(response);
  }

  void Done(absl::Status status) override { read_->PartDone(status); }

 private:
  int64_t BytesLeft() const { return bytes_ - received_; }

  // 206: must be the requested range.
  absl::StatusOr<int64_t> TotalOfRange(const HttpResponse& response) const {
    const std::string& text = response.headers.Get("content-range");
    const std::optional<ContentRange> range = ParseContentRange(text);
    const int64_t last = offset_ + bytes_ - 1;
    if (range.has_value() && range->total >= 0 && range->total <= last) {
      return TooShort(range->total);
    }
    if (!range.has_value() || range->first != offset_ + received_ ||
        range->last != last) {
      return absl::DataLossError("the server sent another range than asked");
    }
    return range->total;
  }

  // 200: the server does not support ranges. The response can be used if the
  // whole object was requested.
  absl::StatusOr<int64_t> TotalOfWhole(const HttpResponse& response) {
    int64_t total = -1;
    if (!absl::SimpleAtoi(response.headers.Get("content-length"), &total)) {
      total = -1;
    }
    if (offset_ != 0 || (total >= 0 && total > bytes_)) {
      return absl::DataLossError(
          "the server ignores ranges; read from one that serves them");
    }
    if (total >= 0 && total < bytes_) return TooShort(total);
    received_ = 0;
    return total;
  }

  absl::Status TooShort(int64_t total) const {
    return absl::OutOfRangeError(
        absl::StrCat("the object has ", total, " bytes; byte ",
                     offset_ + bytes_ - 1, " was asked for"));
  }

  const std::shared_ptr<RemoteRead> read_;
  const int64_t offset_;  // In the object.
  const int64_t bytes_;
  char* const out_;
  int64_t received_ = 0;
};

std::unique_ptr<HttpExchange> NewRangeExchange(std::shared_ptr<RemoteRead> read,
                                               int64_t first, int64_t bytes) {
  return std::make_unique<RangeExchange>(std::move(read), first, bytes);
}

}  // namespace

void ReadContext::KeepPartSums(
    const std::string& name, const std::string& version,
    std::shared_ptr<const std::vector<PartSum>> sums) {
  const int64_t held = 1 + static_cast<int64_t>(sums->size());
  if (part_sums_held + held > kMostPartSums) {
    part_sums.clear();
    part_sums_held = 0;
  }
  part_sums_held += held;
  part_sums[{name, version}] = std::move(sums);
}

void StartRemoteRead(ReadContext* context, const ReadRequest& request,
                     std::function<void(absl::Status)> done) {
  std::make_shared<RemoteRead>(context, request, std::move(done))->Start();
}

}  // namespace feedrate
