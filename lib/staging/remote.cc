#include "lib/staging/remote.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <ctime>

#include "lib/json/json.h"
#include "lib/staging/subprocess.h"
#include "lib/tar/header.h"
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

RemoteInfo ParseJsonDescription(std::string_view text) {
  RemoteInfo info;
  std::string why;
  const std::optional<Json> json = ParseJson(text, &why);
  if (!json) return info;
  // Fields of the answer itself: those of its metadata are named by who wrote
  // the object.
  const auto value_of = [&json](const char* key) {
    const std::optional<int64_t> count = CountOf(*json, key);
    return count ? std::to_string(*count) : TextOf(*json, key);
  };
  for (const char* key : {"ContentLength", "size"}) {
    if (!info.size) info.size = Number(value_of(key));
  }
  for (const char* key : {"generation", "ETag", "etag"}) {
    if (info.version.empty()) info.version = value_of(key);
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

}  // namespace feedrate::tar
