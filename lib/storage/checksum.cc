#include "lib/storage/checksum.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "isa-l/crc.h"
#include "lib/hash/sha256.h"
#include "lib/hash/store_hashes.h"
#include "lib/storage/http/message.h"

namespace feedrate {
namespace {

// The library counts in int.
constexpr size_t kMostAtOnce = size_t{1} << 30;
constexpr uint32_t kMaskDelta = 0xa282ead8u;

}  // namespace

uint32_t Crc32c(absl::string_view bytes, uint32_t before) {
  uint32_t crc = ~before;
  while (!bytes.empty()) {
    const size_t size = std::min(bytes.size(), kMostAtOnce);
    // The library does not change the bytes; its interface predates const.
    auto* data =
        reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
    crc = crc32_iscsi(data, static_cast<int>(size), crc);
    bytes.remove_prefix(size);
  }
  return ~crc;
}

uint32_t MaskedCrc32c(absl::string_view bytes) {
  const uint32_t crc = Crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + kMaskDelta;
}

namespace {

constexpr size_t kCrcBytes = 4;
constexpr size_t kCrc64Bytes = 8;

// The CRC-32 of zlib, which AWS's tools add to what they upload.
uint32_t Crc32(absl::string_view bytes) {
  uint32_t crc = 0;
  while (!bytes.empty()) {
    const size_t size = std::min(bytes.size(), kMostAtOnce);
    crc = crc32_gzip_refl(
        crc, reinterpret_cast<const unsigned char*>(bytes.data()), size);
    bytes.remove_prefix(size);
  }
  return crc;
}

// table[0] is for the last of eight bytes.
using Crc64Tables = std::array<std::array<uint64_t, 256>, 8>;

Crc64Tables MakeCrc64Tables() {
  constexpr uint64_t kNvme = 0x9a6c9329ac4bc9b5;  // Reflected.
  Crc64Tables tables;
  for (uint64_t byte = 0; byte < 256; ++byte) {
    uint64_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? kNvme : 0);
    }
    tables[0][byte] = crc;
  }
  for (size_t i = 1; i < tables.size(); ++i) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint64_t crc = tables[i - 1][byte];
      tables[i][byte] = (crc >> 8) ^ tables[0][crc & 0xff];
    }
  }
  return tables;
}

// CRC-64/NVME, which S3 computes for every object that comes without a sum.
uint64_t Crc64Nvme(absl::string_view bytes) {
  static const Crc64Tables& tables = *new Crc64Tables(MakeCrc64Tables());
  uint64_t crc = ~uint64_t{0};
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof(word));  // Little-endian.
    crc ^= word;
    uint64_t next = 0;
    for (int i = 0; i < 8; ++i) {
      next ^= tables[7 - i][(crc >> (8 * i)) & 0xff];
    }
    crc = next;
  }
  for (const char c : bytes) {
    crc = (crc >> 8) ^ tables[0][(crc ^ static_cast<uint8_t>(c)) & 0xff];
  }
  return ~crc;
}

// MD5 of this many bytes takes about 0.1 ms.
constexpr size_t kCheapBytes = 64 << 10;

std::string Md5Hex(absl::string_view bytes) {
  Md5 hash;
  hash.Update(bytes.data(), bytes.size());
  uint8_t digest[Md5::kDigestSize];
  hash.Finish(digest);
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(digest), sizeof(digest)));
}

}  // namespace

bool HasChecksum(absl::string_view bytes, absl::string_view checksum) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(checksum, absl::MaxSplits(':', 1));
  const auto [kind, hex] = parts;
  if (kind == "md5") return Md5Hex(bytes) == hex;
  if (kind == "crc32c") return absl::StrFormat("%08x", Crc32c(bytes)) == hex;
  if (kind == "crc32") return absl::StrFormat("%08x", Crc32(bytes)) == hex;
  if (kind == "crc64nvme") {
    return absl::StrFormat("%016x", Crc64Nvme(bytes)) == hex;
  }
  if (kind == "sha256") return Sha256Hex(bytes.data(), bytes.size()) == hex;
  return true;
}

bool IsCheapChecksum(absl::string_view checksum, size_t bytes) {
  return bytes <= kCheapBytes || absl::StartsWith(checksum, "crc32");
}

std::string ChecksumOfBase64(absl::string_view kind, absl::string_view base64,
                             size_t bytes) {
  std::string digest;
  if (!absl::Base64Unescape(base64, &digest) || digest.size() != bytes) {
    return "";
  }
  return absl::StrCat(kind, ":", absl::BytesToHexString(digest));
}

std::string ChecksumOfEtag(absl::string_view etag) {
  if (etag.size() != 2 * Md5::kDigestSize ||
      !std::all_of(etag.begin(), etag.end(), absl::ascii_isxdigit)) {
    return "";
  }
  return absl::StrCat("md5:", absl::AsciiStrToLower(etag));
}

std::string GcsChecksum(const HttpHeaders& headers) {
  std::string md5;
  for (absl::string_view part :
       absl::StrSplit(headers.Get("x-goog-hash"), ',')) {
    part = absl::StripAsciiWhitespace(part);
    if (absl::ConsumePrefix(&part, "crc32c=")) {
      return ChecksumOfBase64("crc32c", part, kCrcBytes);
    }
    if (absl::ConsumePrefix(&part, "md5=")) {
      md5 = ChecksumOfBase64("md5", part, Md5::kDigestSize);
    }
  }
  return md5;
}

std::string S3Checksum(const HttpHeaders& headers) {
  // COMPOSITE is a checksum of the checksums of the parts.
  if (headers.Get("x-amz-checksum-type") != "COMPOSITE") {
    std::string sum = ChecksumOfBase64(
        "crc32c", headers.Get("x-amz-checksum-crc32c"), kCrcBytes);
    if (!sum.empty()) return sum;
    sum = ChecksumOfBase64("crc64nvme", headers.Get("x-amz-checksum-crc64nvme"),
                           kCrc64Bytes);
    if (!sum.empty()) return sum;
    sum = ChecksumOfBase64("crc32", headers.Get("x-amz-checksum-crc32"),
                           kCrcBytes);
    if (!sum.empty()) return sum;
    sum = ChecksumOfBase64("sha256", headers.Get("x-amz-checksum-sha256"),
                           Sha256::kDigestSize);
    if (!sum.empty()) return sum;
  }
  if (IsOpaqueEtag(headers)) return "";
  return ChecksumOfEtag(WithoutQuotes(headers.Get("etag")));
}

bool IsOpaqueEtag(const HttpHeaders& headers) {
  return absl::StartsWith(headers.Get("x-amz-server-side-encryption"),
                          "aws:kms") ||
         !headers.Get("x-amz-server-side-encryption-customer-algorithm")
              .empty();
}

absl::string_view WithoutQuotes(absl::string_view etag) {
  absl::ConsumePrefix(&etag, "\"");
  absl::ConsumeSuffix(&etag, "\"");
  return etag;
}

absl::string_view StrongEtag(absl::string_view header) {
  const absl::string_view etag = WithoutQuotes(header);
  const bool is_one = std::all_of(etag.begin(), etag.end(), [](char c) {
    return absl::ascii_isgraph(c) && c != '"' && c != ',' && c != '<' &&
           c != '>' && c != '&';
  });
  return is_one ? etag : "";
}

std::string ChecksumOfCrc32c(uint32_t crc32c) {
  return absl::StrFormat("crc32c:%08x", crc32c);
}

std::string Base64OfCrc32c(uint32_t crc32c) {
  const char bytes[] = {
      static_cast<char>(crc32c >> 24), static_cast<char>(crc32c >> 16),
      static_cast<char>(crc32c >> 8), static_cast<char>(crc32c)};
  return absl::Base64Escape(absl::string_view(bytes, sizeof(bytes)));
}

}  // namespace feedrate
