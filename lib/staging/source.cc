#include "lib/staging/source.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <utility>

#include "lib/hash/sha256.h"
#include "lib/staging/subprocess.h"
#include "lib/tar/extract/placer.h"
#include "lib/tar/extract/writer_pool.h"
#include "lib/url/secrets.h"

namespace feedrate::tar {
namespace {

using Words = std::vector<std::string>;

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && isspace(static_cast<unsigned char>(text.front()))) {
    text.remove_prefix(1);
  }
  while (!text.empty() && isspace(static_cast<unsigned char>(text.back()))) {
    text.remove_suffix(1);
  }
  return text;
}

std::string LowerCase(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(tolower(c));
  return out;
}

std::optional<uint64_t> Number(std::string_view text) {
  int64_t value = 0;
  if (!ParseDecimal(text, &value)) return std::nullopt;
  return static_cast<uint64_t>(value);
}

// Calls `take(name, value)` for each "name: value" line, with the name in lower
// case.
template <typename Take>
void ForEachField(std::string_view text, const Take& take) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      take(LowerCase(Trim(line)), std::string_view());
    } else {
      take(LowerCase(Trim(line.substr(0, colon))),
           Trim(line.substr(colon + 1)));
    }
  }
}

// The scalar that follows `"key":` in JSON, without quotes or escapes. Enough
// for numbers, generations and ETags.
std::string JsonScalar(std::string_view json, std::string_view key) {
  const std::string quoted = "\"" + std::string(key) + "\"";
  const size_t found = json.find(quoted);
  if (found == std::string_view::npos) return "";
  std::string_view rest = Trim(json.substr(found + quoted.size()));
  if (!StartsWith(rest, ":")) return "";
  rest = Trim(rest.substr(1));
  std::string value;
  const bool text = StartsWith(rest, "\"");
  for (size_t i = text ? 1 : 0; i < rest.size(); ++i) {
    if (text && rest[i] == '\\') {
      ++i;
      if (i < rest.size()) value += rest[i];
      continue;
    }
    if (text ? rest[i] == '"' : strchr(",}] \n\r", rest[i]) != nullptr) break;
    value += rest[i];
  }
  return value;
}

bool UseGsutil() {
  return FindProgram("gcloud").empty() && !FindProgram("gsutil").empty();
}

// s3://bucket/key
void SplitS3(const std::string& url, std::string* bucket, std::string* key) {
  const size_t begin = strlen("s3://");
  const size_t slash = url.find('/', begin);
  *bucket = url.substr(begin, slash - begin);
  *key = slash == std::string::npos ? "" : url.substr(slash + 1);
}

// A redirection from https to http would show everybody on the way what is
// fetched, and let them change it.
Words CurlCommand(const std::string& url) {
  const char* next = StartsWith(url, "https://") ? "=https" : "=http,https";
  return {"curl",       "--silent",  "--show-error", "--fail",
          "--location", "--proto",   "=http,https",  "--proto-redir",
          next,         "--globoff", "--url",        url};
}

Status Describe(const Words& argv, int timeout_s,
                RemoteInfo (*parse)(std::string_view), RemoteInfo* info) {
  std::string output;
  TAR_RETURN_IF_ERROR(RunProgram(argv, timeout_s, &output));
  *info = parse(output);
  return Status();
}

// A weak ETag stands for different bytes that mean the same; text that no
// header can have would be sent back in one.
bool IsStrong(std::string_view etag) {
  return !etag.empty() && !StartsWith(etag, "W/") && !StartsWith(etag, "w/") &&
         std::all_of(etag.begin(), etag.end(),
                     [](char c) { return c > ' ' && c <= '~'; });
}

std::optional<time_t> HttpDate(const std::string& text) {
  struct tm parts = {};
  const char* const end =
      strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return timegm(&parts);
}

// A file may change twice in a second, so only a time that has passed for a
// while names one version.
bool IsOver(const std::string& modified, const std::string& now) {
  constexpr time_t kWhile = 60;
  const std::optional<time_t> then = HttpDate(modified);
  const std::optional<time_t> told = HttpDate(now);
  return then && told && *told - *then >= kWhile;
}

// The value of a header. Two that differ are none.
struct HeaderValue {
  void Take(std::string_view text) {
    if (is_set && value != text) is_twice = true;
    value = text;
    is_set = true;
  }
  std::string Get() const { return is_twice ? "" : value; }

  std::string value;
  bool is_set = false;
  bool is_twice = false;
};

bool IsNumber(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

Status Hidden(Status status, const std::string& url) {
  if (status.ok()) return status;
  return Status(status.exit_code(), HideUrl(status.message(), url));
}

bool IsRemote(std::string_view source) {
  return StartsWith(source, "https://") || StartsWith(source, "http://") ||
         StartsWith(source, "gs://") || StartsWith(source, "s3://");
}

RemoteInfo ParseHttpHead(std::string_view headers) {
  RemoteInfo info;
  HeaderValue size, etag, modified, date;
  ForEachField(headers, [&](const std::string& name, std::string_view value) {
    if (StartsWith(name, "http/")) {  // After a redirect: the next response.
      size = etag = modified = date = HeaderValue();
    }
    if (name == "content-length") size.Take(value);
    if (name == "etag") etag.Take(value);
    if (name == "last-modified") modified.Take(value);
    if (name == "date") date.Take(value);
  });
  info.size = Number(size.Get());
  if (IsStrong(etag.Get())) {
    info.version = etag.Get();
    info.condition = "If-Match: " + info.version;
  } else if (!etag.is_set && IsOver(modified.Get(), date.Get())) {
    info.version = modified.Get();
    info.condition = "If-Unmodified-Since: " + info.version;
  }
  return info;
}

RemoteInfo ParseJsonDescription(std::string_view json) {
  RemoteInfo info;
  for (const char* key : {"ContentLength", "size"}) {
    if (!info.size) info.size = Number(JsonScalar(json, key));
  }
  for (const char* key : {"generation", "ETag", "etag"}) {
    if (info.version.empty()) info.version = JsonScalar(json, key);
  }
  if (!IsStrong(info.version)) info.version.clear();
  return info;
}

RemoteInfo ParseGsutilStat(std::string_view text) {
  // Who wrote the object may have given it fields of these names.
  HeaderValue size, generation;
  ForEachField(text, [&](const std::string& name, std::string_view value) {
    if (name == "content-length") size.Take(value);
    if (name == "generation") generation.Take(value);
  });
  RemoteInfo info;
  info.size = Number(size.Get());
  info.version = generation.Get();
  return info;
}

Status DescribeRemote(const std::string& url, int timeout_s, RemoteInfo* info) {
  if (StartsWith(url, "s3://")) {
    std::string bucket, key;
    SplitS3(url, &bucket, &key);
    if (bucket.empty() || key.empty()) {
      return CallersMistake("--source=" + ShownUrl(url) +
                            ": want s3://bucket/key");
    }
    return Describe({"aws", "s3api", "head-object", "--bucket", bucket, "--key",
                     key, "--output", "json"},
                    timeout_s, &ParseJsonDescription, info);
  }
  if (StartsWith(url, "gs://")) {
    if (UseGsutil()) {
      return Describe({"gsutil", "-q", "stat", url}, timeout_s,
                      &ParseGsutilStat, info);
    }
    return Describe({"gcloud", "storage", "objects", "describe", url,
                     "--format=json(size,generation,etag)"},
                    timeout_s, &ParseJsonDescription, info);
  }
  Words argv = CurlCommand(url);
  argv.push_back("--head");
  return Describe(argv, timeout_s, &ParseHttpHead, info);
}

Words FetchCommand(const std::string& url, const RemoteInfo& info) {
  if (StartsWith(url, "s3://")) {
    return {"aws", "s3", "cp", "--only-show-errors", url, "-"};
  }
  if (StartsWith(url, "gs://")) {
    // A "#" begins the generation, unless the URL has one.
    const bool pins =
        IsNumber(info.version) && url.find('#') == std::string::npos;
    const std::string pinned = pins ? url + "#" + info.version : url;
    return UseGsutil() ? Words{"gsutil", "-q", "cat", pinned}
                       : Words{"gcloud", "storage", "cat", pinned};
  }
  Words argv = CurlCommand(url);
  if (!info.condition.empty()) {
    argv.insert(argv.end(), {"--header", info.condition});
  }
  return argv;
}

namespace {

class Walker {
 public:
  Walker(const std::string& name, const TreeVisitor& visitor)
      : name_(name), visitor_(visitor) {}

  // Visits everything in `folder`, which is at `path` below the root.
  Status Walk(const FolderRef& folder, const std::string& path) {
    std::vector<std::string> names;
    TAR_RETURN_IF_ERROR(List(*folder, path, &names));
    for (const std::string& leaf : names) {
      TAR_RETURN_IF_ERROR(
          Visit(folder, path.empty() ? leaf : path + "/" + leaf, leaf));
    }
    return Status();
  }

 private:
  Status Failure(const std::string& path) const {
    return SystemFailure("cannot read", name_ + "/" + path, errno);
  }

  Status List(const Folder& folder, const std::string& path,
              std::vector<std::string>* names) const {
    const int fd = openat(folder.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return Failure(path);
    DIR* listing = fdopendir(fd);
    errno = 0;
    while (const dirent* item = readdir(listing)) {
      if (strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0) {
        names->push_back(item->d_name);
      }
      errno = 0;
    }
    const int error = errno;
    closedir(listing);
    if (error != 0) {
      return SystemFailure("cannot read", name_ + "/" + path, error);
    }
    std::sort(names->begin(), names->end());
    return Status();
  }

  Status Visit(const FolderRef& folder, const std::string& path,
               const std::string& leaf) {
    struct stat info;
    if (fstatat(folder->fd(), leaf.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return Failure(path);
    }
    Entry entry;
    entry.path = path;
    entry.mode = info.st_mode & 07777;
    entry.mtime = {info.st_mtim.tv_sec,
                   static_cast<int32_t>(info.st_mtim.tv_nsec)};
    if (S_ISREG(info.st_mode)) {
      entry.type = Entry::Type::kFile;
      entry.size = info.st_size;
    } else if (S_ISDIR(info.st_mode)) {
      entry.type = Entry::Type::kFolder;
    } else if (S_ISLNK(info.st_mode)) {
      entry.type = Entry::Type::kSymlink;
      TAR_RETURN_IF_ERROR(ReadLink(*folder, path, leaf, &entry.link));
    } else {
      return Failed("entry " + Quote(path) +
                    ": devices, pipes and sockets are not supported");
    }
    TAR_RETURN_IF_ERROR(visitor_(entry, folder, leaf));
    if (entry.type != Entry::Type::kFolder) return Status();
    const int fd = openat(folder->fd(), leaf.c_str(),
                          O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return Failure(path);
    return Walk(std::make_shared<Folder>(fd), path);
  }

  Status ReadLink(const Folder& folder, const std::string& path,
                  const std::string& leaf, std::string* target) const {
    char buffer[PATH_MAX];
    const ssize_t got =
        readlinkat(folder.fd(), leaf.c_str(), buffer, sizeof(buffer));
    if (got <= 0) return Failure(path);
    target->assign(buffer, got);
    return Status();
  }

  const std::string& name_;
  const TreeVisitor& visitor_;
};

bool Later(const Time& a, const Time& b) {
  return a.seconds != b.seconds ? a.seconds > b.seconds
                                : a.nanoseconds > b.nanoseconds;
}

std::string Decimal(int64_t seconds, int32_t nanoseconds) {
  char text[48];
  snprintf(text, sizeof(text), "%lld.%09d", static_cast<long long>(seconds),
           nanoseconds);
  return text;
}

class Summarizer {
 public:
  void Add(const Entry& entry) {
    ++summary_.count;
    summary_.bytes += entry.size;
    if (Later(entry.mtime, summary_.newest)) summary_.newest = entry.mtime;
    const std::string facts =
        std::to_string(static_cast<int>(entry.type)) + " " +
        std::to_string(entry.size) + " " +
        Decimal(entry.mtime.seconds, entry.mtime.nanoseconds);
    // With their zeros, which end them.
    for (const std::string* text : {&entry.path, &entry.link, &facts}) {
      hash_.Update(text->c_str(), text->size() + 1);
    }
  }

  TreeSummary Finish() {
    char hex[Sha256::kHexSize + 1];
    hash_.FinishHex(hex);
    summary_.digest = hex;
    return summary_;
  }

 private:
  TreeSummary summary_;
  Sha256 hash_;
};

class Copier {
 public:
  Copier(const std::string& name, int dest_fd, const UnpackOptions& options)
      : options_(options),
        written_(options.listener, options.listener_step),
        pool_(options.threads, name, &written_),
        dispatcher_(&pool_, &written_),
        placer_(dest_fd, options.strip_components, options.max_bytes,
                &dispatcher_) {}

  Status Copy(const Entry& entry, const FolderRef& folder,
              const std::string& leaf) {
    ++ordinal_;
    summarizer_.Add(entry);
    TAR_RETURN_IF_ERROR(pool_.status());
    WriteJob job;
    bool is_file = false;
    const bool write = ordinal_ > options_.resume_offset;
    TAR_RETURN_IF_ERROR(placer_.Place(entry, write, &job.target, &is_file));
    if (is_file) {
      job.source_folder = folder;
      job.source_leaf = leaf;
      dispatcher_.Add(std::move(job), ordinal_);
    } else {
      dispatcher_.Advance(ordinal_);
    }
    if (options_.read_offset != nullptr) *options_.read_offset += entry.size;
    return Status();
  }

  Status Finish(Status status, UnpackResult* result, TreeSummary* summary) {
    *summary = summarizer_.Finish();
    if (!status.ok()) written_.Freeze();
    dispatcher_.Drain();
    if (Status written = pool_.status(); !written.ok()) status = written;
    if (status.ok()) status = placer_.CheckNothingIsLost();
    result->counts = *placer_.counts();
    result->lost = placer_.lost();
    result->archive_bytes = result->counts.bytes;
    return status;
  }

 private:
  const UnpackOptions& options_;
  WrittenPrefix written_;
  WriterPool pool_;
  Dispatcher dispatcher_;
  Placer placer_;
  Summarizer summarizer_;
  uint64_t ordinal_ = 0;
};

}  // namespace

Status WalkTree(int root_fd, const std::string& name,
                const TreeVisitor& visitor) {
  const int fd = openat(root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return SystemFailure("cannot read", name, errno);
  return Walker(name, visitor).Walk(std::make_shared<Folder>(fd), "");
}

Status SummarizeTree(int root_fd, const std::string& name,
                     TreeSummary* summary) {
  Summarizer summarizer;
  TAR_RETURN_IF_ERROR(WalkTree(
      root_fd, name,
      [&summarizer](const Entry& entry, const FolderRef&, const std::string&) {
        summarizer.Add(entry);
        return Status();
      }));
  *summary = summarizer.Finish();
  return Status();
}

Status CopyTree(int root_fd, const std::string& name, int dest_fd,
                const UnpackOptions& options, UnpackResult* result,
                TreeSummary* summary) {
  Copier copier(name, dest_fd, options);
  Status status =
      WalkTree(root_fd, name,
               [&copier](const Entry& entry, const FolderRef& folder,
                         const std::string& leaf) {
                 return copier.Copy(entry, folder, leaf);
               });
  return copier.Finish(status, result, summary);
}

namespace {

constexpr std::string_view kFileScheme = "file://";

std::string FileIdentity(const std::string& path, const struct stat& info) {
  return "file " + path + " size " + std::to_string(info.st_size) + " mtime " +
         Decimal(info.st_mtim.tv_sec,
                 static_cast<int32_t>(info.st_mtim.tv_nsec));
}

std::string FolderIdentity(const std::string& path,
                           const TreeSummary& summary) {
  return "folder " + path + " count " + std::to_string(summary.count) +
         " bytes " + std::to_string(summary.bytes) + " newest " +
         Decimal(summary.newest.seconds, summary.newest.nanoseconds) +
         " names " + summary.digest;
}

Status Changed(const std::string& name) {
  return Failed(name + " changed while it was staged; run again");
}

std::string AbsolutePath(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  std::string absolute = resolved != nullptr ? resolved : path;
  free(resolved);
  return absolute;
}

}  // namespace

Source::~Source() {
  if (fd_ > 0) close(fd_);
}

Status Source::Open(const std::string& text, int timeout_s) {
  timeout_s_ = timeout_s;
  if (text == "-") {
    kind_ = Kind::kStdin;
    fd_ = STDIN_FILENO;
    name_ = "stdin";
    return Status();
  }
  if (IsRemote(text)) return OpenRemote(text);
  if (text.compare(0, kFileScheme.size(), kFileScheme) == 0) {
    const std::string path = text.substr(kFileScheme.size());
    if (path.empty() || path[0] != '/') {
      return CallersMistake("--source=" + text +
                            ": want file:/// and an absolute path");
    }
    return OpenPath(path);
  }
  const size_t scheme = text.find("://");
  if (scheme != std::string::npos && access(text.c_str(), F_OK) != 0) {
    return CallersMistake("--source=" + ShownUrl(text) + ": " +
                          text.substr(0, scheme) +
                          ":// is unknown; use a path, -, file://, https://, "
                          "gs:// or s3://");
  }
  return OpenPath(text);
}

Status Source::OpenPath(const std::string& path) {
  name_ = AbsolutePath(path);
  // O_NONBLOCK: opening a named pipe must not hang before we can check it.
  fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0 && errno == ENOENT) {
    return CallersMistake("--source=" + path + ": there is no such file");
  }
  struct stat info;
  if (fd_ < 0 || fstat(fd_, &info) != 0) {
    return SystemFailure("cannot read", path, errno);
  }
  if (S_ISDIR(info.st_mode)) return OpenFolder(path);
  if (!S_ISREG(info.st_mode)) {
    return CallersMistake("--source=" + path +
                          ": neither a file nor a folder; for a pipe use "
                          "--source=- and redirect it");
  }
  kind_ = Kind::kFile;
  size_ = info.st_size;
  identity_ = FileIdentity(name_, info);
  return Status();
}

Status Source::OpenFolder(const std::string& path) {
  kind_ = Kind::kFolder;
  TreeSummary summary;
  TAR_RETURN_IF_ERROR(SummarizeTree(fd_, name_, &summary));
  size_ = summary.bytes;
  identity_ = FolderIdentity(name_, summary);
  return Status();
}

Status Source::OpenRemote(const std::string& url) {
  kind_ = Kind::kRemote;
  url_ = url;
  name_ = ShownUrl(url);
  TAR_RETURN_IF_ERROR(Hidden(DescribeRemote(url, timeout_s_, &remote_), url));
  size_ = remote_.size;
  identity_ = RemoteIdentity(remote_);
  return Status();
}

std::string Source::RemoteIdentity(const RemoteInfo& info) const {
  if (!info.size || info.version.empty()) return "";
  std::string identity = "url " + name_;
  // The values of a query are hidden, and tell two objects apart.
  if (name_.find('?') != std::string::npos) {
    identity += " object " + Sha256Hex(ObjectUrl(url_));
  }
  return identity + " size " + std::to_string(*info.size) + " version " +
         info.version;
}

Status Source::CheckUnchanged() const {
  if (kind_ == Kind::kRemote && !identity_.empty()) {
    RemoteInfo now;
    const Status described = DescribeRemote(url_, timeout_s_, &now);
    if (described.ok() && RemoteIdentity(now) != identity_) {
      return Changed(name_);
    }
    // A signed URL may have expired; the version was asked for by curl.
    return remote_.condition.empty() ? Hidden(described, url_) : Status();
  }
  if (kind_ != Kind::kFile) return Status();
  struct stat info;
  if (fstat(fd_, &info) == 0 && FileIdentity(name_, info) == identity_) {
    return Status();
  }
  return Changed(name_);
}

Status Source::CheckUnchanged(const TreeSummary& copied) const {
  return FolderIdentity(name_, copied) == identity_ ? Status() : Changed(name_);
}

}  // namespace feedrate::tar
