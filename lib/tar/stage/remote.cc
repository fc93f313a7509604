#include "lib/tar/stage/remote.h"

#include <cctype>
#include <cstring>

#include "lib/tar/number.h"
#include "lib/tar/stage/subprocess.h"

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

// Calls `take(name, value)` for each "name: value" line, name in small letters.
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

Status Describe(const Words& argv, RemoteInfo (*parse)(std::string_view),
                RemoteInfo* info) {
  std::string output;
  TAR_RETURN_IF_ERROR(RunProgram(argv, &output));
  *info = parse(output);
  return Status();
}

}  // namespace

bool IsRemote(std::string_view source) {
  return StartsWith(source, "https://") || StartsWith(source, "http://") ||
         StartsWith(source, "gs://") || StartsWith(source, "s3://");
}

RemoteInfo ParseHttpHead(std::string_view headers) {
  RemoteInfo info;
  std::string modified;
  ForEachField(headers, [&](const std::string& name, std::string_view value) {
    if (StartsWith(name, "http/")) {  // After a redirection: the next answer.
      info = RemoteInfo();
      modified.clear();
    }
    if (name == "content-length") info.size = Number(value);
    if (name == "etag") info.version = value;
    if (name == "last-modified") modified = value;
  });
  if (info.version.empty()) info.version = modified;
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
  return info;
}

RemoteInfo ParseGsutilStat(std::string_view text) {
  RemoteInfo info;
  ForEachField(text, [&](const std::string& name, std::string_view value) {
    if (name == "content-length") info.size = Number(value);
    if (name == "generation") info.version = value;
  });
  return info;
}

Status DescribeRemote(const std::string& url, RemoteInfo* info) {
  if (StartsWith(url, "s3://")) {
    std::string bucket, key;
    SplitS3(url, &bucket, &key);
    if (bucket.empty() || key.empty()) {
      return CallersMistake("--source=" + url + ": want s3://bucket/key");
    }
    return Describe({"aws", "s3api", "head-object", "--bucket", bucket, "--key",
                     key, "--output", "json"},
                    &ParseJsonDescription, info);
  }
  if (StartsWith(url, "gs://")) {
    if (UseGsutil()) {
      return Describe({"gsutil", "-q", "stat", url}, &ParseGsutilStat, info);
    }
    return Describe({"gcloud", "storage", "objects", "describe", url,
                     "--format=json(size,generation,etag)"},
                    &ParseJsonDescription, info);
  }
  return Describe({"curl", "--silent", "--show-error", "--fail", "--location",
                   "--globoff", "--head", "--url", url},
                  &ParseHttpHead, info);
}

Status FetchCommand(const std::string& url, Words* argv) {
  if (StartsWith(url, "s3://")) {
    *argv = {"aws", "s3", "cp", "--only-show-errors", url, "-"};
  } else if (StartsWith(url, "gs://")) {
    *argv = UseGsutil() ? Words{"gsutil", "-q", "cat", url}
                        : Words{"gcloud", "storage", "cat", url};
  } else {
    *argv = {"curl",       "--silent",  "--show-error", "--fail",
             "--location", "--globoff", "--url",        url};
  }
  return Status();
}

}  // namespace feedrate::tar
