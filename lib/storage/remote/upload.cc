#include "lib/storage/remote/upload.h"

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/storage/checksum.h"
#include "lib/storage/http/client.h"
#include "lib/storage/http/fetch.h"
#include "lib/storage/remote/dialect.h"
#include "lib/storage/remote/remote_store.h"

namespace feedrate {
namespace {

// S3 takes parts from 5 MiB, GCS multiples of 256 KiB.
constexpr int64_t kPartBytes = int64_t{8} << 20;
// S3 takes 10,000 parts, so later ones are larger: 440 GB in all.
constexpr int kPartsOfASize = 1000;

// Sends requests for one bucket and waits for the answers.
class Sender {
 public:
  Sender(Dialect* dialect, HttpClient* client)
      : dialect_(dialect), client_(client) {}

  UploadDialect& uploads() const { return *dialect_->uploads(); }

  using MakeRequest = std::function<absl::StatusOr<HttpRequest>()>;
  using TakeAnswer =
      std::function<absl::Status(const HttpResponse&, const std::string&)>;

  // Calls `done` from the client's thread.
  void Send(MakeRequest request, TakeAnswer answer,
            std::function<void(absl::Status)> done) const {
    TextQuery query;
    query.request = std::move(request);
    query.refused = [this, answer](const HttpResponse& response) {
      return response.status == 308 ? answer(response, "")
                                    : dialect_->ErrorOf(response);
    };
    query.answer = std::move(answer);
    query.done = std::move(done);
    client_->Start(NewTextExchange(std::move(query)));
  }

  absl::Status Ask(const std::string& name, MakeRequest request,
                   TakeAnswer answer) const {
    absl::Status result;
    Latch left(1);
    Send(std::move(request), std::move(answer), [&](absl::Status status) {
      result = std::move(status);
      left.CountDown();
    });
    left.Wait();
    return At(name, result);
  }

  absl::Status At(const std::string& name, const absl::Status& status) const {
    if (status.ok()) return status;
    return absl::Status(status.code(), absl::StrCat(dialect_->AddressOf(name),
                                                    ": ", status.message()));
  }

 private:
  Dialect* const dialect_;
  HttpClient* const client_;
};

class RemoteUpload : public ObjectUpload {
 public:
  RemoteUpload(const Sender& sender, std::string name, int at_once)
      : sender_(sender),
        name_(std::move(name)),
        at_once_(sender.uploads().in_order() ? 1 : at_once) {}

  ~RemoteUpload() override { WaitForFewer(1).IgnoreError(); }

  absl::Status Write(absl::string_view bytes) override {
    while (!bytes.empty()) {
      const size_t room = PartBytes() - std::min(PartBytes(), buffer_.size());
      const size_t count = std::min(room, bytes.size());
      buffer_.append(bytes.data(), count);
      bytes.remove_prefix(count);
      // Full, and not the last part, which Commit sends.
      if (!bytes.empty()) RETURN_IF_ERROR(SendPart(/*is_last=*/false));
    }
    return absl::OkStatus();
  }

  absl::Status Commit() override {
    if (id_.empty()) return CommitWhole();
    // Again for what the server did not take.
    while (!buffer_.empty()) {
      RETURN_IF_ERROR(SendPart(/*is_last=*/true));
      RETURN_IF_ERROR(WaitForFewer(1));
      TakeBack();
    }
    if (sender_.uploads().in_order()) return absl::OkStatus();
    std::vector<UploadPart> parts;
    for (const auto& part : parts_) parts.push_back(part.second);
    return sender_.Ask(
        name_, [&] { return sender_.uploads().EndRequest(name_, id_, parts); },
        [this](const HttpResponse&, const std::string& body) {
          return sender_.uploads().ParseEnd(body);
        });
  }

 private:
  size_t PartBytes() const {
    return kPartBytes * (1 + parts_.size() / kPartsOfASize);
  }

  absl::Status CommitWhole() {
    UploadPart whole = TakePart(/*is_last=*/true);
    return sender_.Ask(
        name_, [&] { return sender_.uploads().WholeRequest(name_, whole); },
        [&](const HttpResponse& response, const std::string& body) {
          return sender_.uploads().ParsePart(response, body, &whole);
        });
  }

  // What is in the buffer.
  UploadPart TakePart(bool is_last) {
    UploadPart part;
    part.number = static_cast<int>(parts_.size()) + 1;
    part.offset = offset_;
    part.is_last = is_last;
    part.bytes = std::exchange(buffer_, "");
    part.crc32c = Crc32c(part.bytes);
    part.whole_crc32c = Crc32c(part.bytes, crc32c_);
    offset_ += static_cast<int64_t>(part.bytes.size());
    last_crc32c_ = std::exchange(crc32c_, part.whole_crc32c);
    return part;
  }

  // Finds an upload that was left, or starts one.
  absl::Status Begin() {
    std::vector<std::string> found;
    const absl::Status asked = sender_.Ask(
        name_, [this] { return sender_.uploads().FindRequest(name_); },
        [&](const HttpResponse&, const std::string& body) {
          auto parsed = sender_.uploads().ParseFind(name_, body);
          if (parsed.ok()) found = *std::move(parsed);
          return parsed.status();
        });
    // Who may write need not be allowed to ask.
    if (!asked.ok() && !absl::IsUnimplemented(asked) &&
        !absl::IsPermissionDenied(asked)) {
      return asked;
    }
    if (found.empty()) {
      return sender_.Ask(
          name_, [this] { return sender_.uploads().StartRequest(name_); },
          [this](const HttpResponse& response, const std::string& body) {
            auto parsed = sender_.uploads().ParseStart(response, body);
            if (parsed.ok()) id_ = *std::move(parsed);
            return parsed.status();
          });
    }
    id_ = found[0];
    return sender_.Ask(
        name_, [this] { return sender_.uploads().PartsRequest(name_, id_); },
        [this](const HttpResponse&, const std::string& body) {
          auto parsed = sender_.uploads().ParseParts(body);
          if (!parsed.ok()) return parsed.status();
          for (UploadPart& part : *parsed) left_[part.number] = std::move(part);
          return absl::OkStatus();
        });
  }

  // What is in the buffer, as the next part.
  absl::Status SendPart(bool is_last) {
    if (id_.empty()) RETURN_IF_ERROR(Begin());
    RETURN_IF_ERROR(WaitForFewer(at_once_));
    TakeBack();
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto part = std::make_shared<UploadPart>(TakePart(is_last));
    // A map does not move its values.
    UploadPart& kept = parts_[part->number];
    const auto left = left_.find(part->number);
    if (left != left_.end() &&
        left->second.taken == static_cast<int64_t>(part->bytes.size()) &&
        !ChecksumOfEtag(left->second.tag).empty() &&
        HasChecksum(part->bytes, ChecksumOfEtag(left->second.tag))) {
      kept = *part;
      kept.bytes.clear();
      kept.tag = left->second.tag;
      return absl::OkStatus();
    }
    ++under_way_;
    sender_.Send(
        [this, part] {
          return sender_.uploads().PartRequest(name_, id_, *part);
        },
        [this, part](const HttpResponse& response, const std::string& body) {
          return sender_.uploads().ParsePart(response, body, part.get());
        },
        [this, part, &kept](const absl::Status& status) {
          const std::lock_guard<std::mutex> held(mutex_);
          if (status_.ok()) status_ = status;
          kept = std::move(*part);
          // Kept only where the server has less than was sent.
          if (kept.taken >= static_cast<int64_t>(kept.bytes.size())) {
            kept.bytes.clear();
          }
          --under_way_;
          changed_.notify_all();
        });
    return absl::OkStatus();
  }

  // Waits until fewer than `count` parts are under way.
  absl::Status WaitForFewer(int count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return under_way_ < count; });
    return sender_.At(name_, status_);
  }

  // Where parts are taken in order, a server may have taken less than it was
  // sent. The rest comes before what is in the buffer.
  void TakeBack() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!sender_.uploads().in_order() || parts_.empty()) return;
    UploadPart& last = parts_.rbegin()->second;
    if (last.bytes.empty()) return;
    const std::string rest = last.bytes.substr(last.taken);
    // Only this part came after them, and nothing was sent since.
    crc32c_ = Crc32c(last.bytes.substr(0, last.taken), last_crc32c_);
    offset_ -= static_cast<int64_t>(rest.size());
    last.bytes.clear();
    buffer_.insert(0, rest);
  }

  const Sender& sender_;
  const std::string name_;
  const int at_once_;
  std::string buffer_;
  int64_t offset_ = 0;              // Of the buffer in the object.
  uint32_t crc32c_ = 0;             // Of the object before the buffer.
  uint32_t last_crc32c_ = 0;        // Of the object before the last part.
  std::string id_;                  // Empty until a second part is needed.
  std::map<int, UploadPart> left_;  // What the server had at the start.
  std::mutex mutex_;                // For the rest.
  std::condition_variable changed_;
  std::map<int, UploadPart> parts_;
  int under_way_ = 0;
  absl::Status status_;
};

class BucketWriter : public ObjectWriter {
 public:
  BucketWriter(std::unique_ptr<Dialect> dialect, const StoreOptions& options)
      : dialect_(std::move(dialect)),
        at_once_(std::max(1, options.connections)),
        client_(ClientOptions(options)),
        sender_(dialect_.get(), &client_) {}

  absl::StatusOr<std::unique_ptr<ObjectUpload>> Start(
      const std::string& name) override {
    RETURN_IF_ERROR(CheckObjectName(name));
    return std::make_unique<RemoteUpload>(sender_, name, at_once_);
  }

 private:
  const std::unique_ptr<Dialect> dialect_;
  const int at_once_;
  HttpClient client_;
  const Sender sender_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ObjectWriter>> NewBucketWriter(
    std::unique_ptr<Dialect> dialect, const StoreOptions& options) {
  if (dialect->uploads() == nullptr || !dialect->fixed_names().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        dialect->url(),
        ": cannot be written to; name a folder, s3://BUCKET/PREFIX "
        "or gs://BUCKET/PREFIX"));
  }
  return std::make_unique<BucketWriter>(std::move(dialect), options);
}

}  // namespace feedrate
