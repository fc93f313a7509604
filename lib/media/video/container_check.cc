#include "lib/media/video/container_check.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"

extern "C" {
#include <libavutil/crc.h>
}

namespace feedrate {
namespace {

absl::Status CutOff(absl::string_view part, int64_t end, int64_t size) {
  return absl::InvalidArgumentError(absl::StrCat(
      "is cut off at byte ", size, ": its ", part, " ends at byte ", end));
}

absl::Status DamagedAt(int64_t at, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("is damaged at byte ", at, ": ", what));
}

// Bytes at any place of a file.
class Source {
 public:
  explicit Source(const VideoPlace& place) : bytes_(place.bytes) {
    size_ = static_cast<int64_t>(bytes_.size());
    if (place.path.empty()) return;
    file_.reset(std::fopen(place.path.c_str(), "rb"));
    size_ = 0;
    if (file_ == nullptr || fseeko(file_.get(), 0, SEEK_END) != 0) return;
    size_ = ftello(file_.get());
  }

  int64_t size() const { return size_; }

  // False beyond the end.
  bool Read(int64_t at, int64_t count, void* out) {
    if (at < 0 || count > size_ - at) return false;
    const auto bytes = static_cast<size_t>(count);
    if (file_ == nullptr) {
      std::memcpy(out, bytes_.data() + at, bytes);
      return true;
    }
    // Most reads go on where the last one ended, or shortly after.
    if (at < begin_ || at + count > begin_ + held_) {
      begin_ = at;
      if (fseeko(file_.get(), at, SEEK_SET) != 0) return false;
      held_ = static_cast<int64_t>(
          std::fread(buffer_, 1, sizeof(buffer_), file_.get()));
      if (held_ < count) return false;
    }
    std::memcpy(out, buffer_ + (at - begin_), bytes);
    return true;
  }

  // Most bytes for Read.
  static constexpr int64_t kMost = 1 << 15;

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  absl::string_view bytes_;
  std::unique_ptr<std::FILE, Closer> file_;
  int64_t size_ = 0;
  char buffer_[kMost];
  int64_t begin_ = 0;
  int64_t held_ = 0;
};

enum class Format { kOther, kAvi, kMp4, kMatroska };

Format FormatOf(Source* source) {
  char head[12];
  if (!source->Read(0, sizeof(head), head)) return Format::kOther;
  const absl::string_view text(head, sizeof(head));
  if (absl::StartsWith(text, "RIFF")) return Format::kAvi;
  if (absl::StartsWith(text, "\x1a\x45\xdf\xa3")) return Format::kMatroska;
  for (const char* const type :
       {"ftyp", "moov", "mdat", "wide", "free", "skip", "pnot"}) {
    if (text.substr(4, 4) == type) return Format::kMp4;
  }
  return Format::kOther;
}

// A chunk of AVI: four letters, and the number of bytes that follow.
struct Chunk {
  char type[4] = {};
  int64_t begin = 0;
  int64_t end = 0;
  bool Is(absl::string_view name) const {
    return absl::string_view(type, sizeof(type)) == name;
  }
};

std::optional<Chunk> ChunkAt(int64_t at, Source* source) {
  uint8_t head[8];
  if (!source->Read(at, sizeof(head), head)) return std::nullopt;
  Chunk chunk;
  std::memcpy(chunk.type, head, sizeof(chunk.type));
  chunk.begin = at + static_cast<int64_t>(sizeof(head));
  chunk.end = chunk.begin + (head[4] | head[5] << 8 | head[6] << 16 |
                             static_cast<int64_t>(head[7]) << 24);
  const bool is_name =
      std::all_of(chunk.type, chunk.type + 4, [](unsigned char c) {
        return std::isalnum(c) || c == ' ' || c == '_' || c == '-';
      });
  if (!is_name) return std::nullopt;
  // Programs that cannot go back leave the sizes of lists open.
  const int64_t size = chunk.end - chunk.begin;
  if ((chunk.Is("RIFF") || chunk.Is("LIST")) &&
      (size == 0 || size == UINT32_MAX)) {
    chunk.end = source->size();
  }
  return chunk;
}

class AviWalk {
 public:
  AviWalk(Source* source, int stream) : source_(source), stream_(stream) {}

  absl::StatusOr<int64_t> Count() {
    RETURN_IF_ERROR(Walk(0, source_->size(), /*depth=*/0, /*inside=*/false));
    // An index need not be complete. A frame that only the index knows was
    // taken for something else.
    return std::max(frames_, in_index_);
  }

 private:
  // A file, its list of frames, and a list in it.
  static constexpr int kMostDepth = 3;

  // The list of frames, or the file, which is a list of lists.
  absl::Status Walk(int64_t at, int64_t end, int depth, bool inside) {
    if (depth > kMostDepth) return DamagedAt(at, "lists are in each other");
    while (at + 8 <= end) {
      std::optional<Chunk> chunk = ChunkAt(at, source_);
      // Some programs do not fill up to even places.
      if (!chunk.has_value() && at % 2 == 0) {
        chunk = ChunkAt(at - 1, source_);
        if (chunk.has_value() && !IsFrame(*chunk)) chunk.reset();
      }
      if (!chunk.has_value()) {
        uint16_t two = 1;
        source_->Read(at, sizeof(two), &two);
        // Beyond the lists there may be anything.
        if (two != 0 && inside) return DamagedAt(at, "no chunk of AVI is here");
        if (two != 0) return absl::OkStatus();
        at += sizeof(two);
        continue;
      }
      RETURN_IF_ERROR(Take(*chunk, end, depth, inside));
      at = chunk->end + chunk->end % 2;
    }
    return absl::OkStatus();
  }

  absl::Status Take(const Chunk& chunk, int64_t end, int depth, bool inside) {
    const bool is_list = chunk.Is("LIST") || chunk.Is("RIFF");
    if (chunk.end > end + 1) {
      if (inside || is_list) {
        return CutOff(absl::StrCat("chunk ", std::string(chunk.type, 4)),
                      chunk.end, end);
      }
      return absl::OkStatus();
    }
    if (IsFrame(chunk)) {
      if (inside && chunk.end > chunk.begin && IsVideo(chunk)) ++frames_;
      return absl::OkStatus();
    }
    if (!inside && chunk.Is("idx1")) CountIndex(chunk);
    char list[4];
    if (!is_list || !source_->Read(chunk.begin, 4, list)) {
      return absl::OkStatus();
    }
    const absl::string_view name(list, 4);
    if (name == "AVI " || name == "AVIX") {
      return Walk(chunk.begin + 4, chunk.end, depth + 1, false);
    }
    if (name == "movi" || name == "rec ") {
      return Walk(chunk.begin + 4, chunk.end, depth + 1, true);
    }
    return absl::OkStatus();
  }

  // Such as `00dc`.
  static bool IsFrame(const Chunk& chunk) {
    return std::isdigit(static_cast<unsigned char>(chunk.type[0])) &&
           std::isdigit(static_cast<unsigned char>(chunk.type[1])) &&
           std::isalpha(static_cast<unsigned char>(chunk.type[2])) &&
           std::isalpha(static_cast<unsigned char>(chunk.type[3]));
  }
  // Whether a frame is one of our stream.
  bool IsVideo(const Chunk& chunk) const {
    return 10 * (chunk.type[0] - '0') + chunk.type[1] - '0' == stream_ &&
           (chunk.type[2] == 'd' || chunk.type[2] == 'D');
  }
  // An index has the name of each chunk, flags, its place and its size.
  void CountIndex(const Chunk& index) {
    uint8_t entry[16];
    for (int64_t at = index.begin;
         at + 16 <= index.end && source_->Read(at, sizeof(entry), entry);
         at += 16) {
      Chunk chunk;
      std::memcpy(chunk.type, entry, sizeof(chunk.type));
      const bool is_empty =
          std::all_of(entry + 12, entry + 16, [](uint8_t c) { return c == 0; });
      if (IsFrame(chunk) && IsVideo(chunk) && !is_empty) ++in_index_;
    }
  }

  Source* const source_;
  const int stream_;
  int64_t frames_ = 0;
  int64_t in_index_ = 0;
};

absl::Status CheckAviEnd(Source* source) {
  const std::optional<Chunk> riff = ChunkAt(0, source);
  // Some programs count the first eight bytes, too.
  if (!riff.has_value() || riff->end - 8 <= source->size()) {
    return absl::OkStatus();
  }
  return CutOff("first list", riff->end, source->size());
}

absl::Status CheckMp4End(Source* source) {
  int64_t at = 0;
  bool has_fragments = false;
  uint8_t head[16];
  while (source->Read(at, 8, head)) {
    const auto number = [&head](int from, int count) {
      uint64_t value = 0;
      for (int i = from; i < from + count; ++i) value = value << 8 | head[i];
      return value;
    };
    uint64_t size = number(0, 4);
    if (size == 0) return absl::OkStatus();  // Up to the end.
    if (size == 1) {
      if (!source->Read(at, sizeof(head), head)) {
        return CutOff("last box", at + 16, source->size());
      }
      size = number(8, 8);
    }
    const std::string name(reinterpret_cast<const char*>(head) + 4, 4);
    const bool is_box = size >= 8 && size < uint64_t{1} << 60 &&
                        std::all_of(name.begin(), name.end(), [](char c) {
                          return std::isprint(static_cast<unsigned char>(c));
                        });
    if (!is_box) {
      // Unless it is a fragment, something else follows the video.
      return has_fragments ? DamagedAt(at, "no box of MP4 is here")
                           : absl::OkStatus();
    }
    has_fragments |= name == "moof";
    if (static_cast<int64_t>(size) > source->size() - at) {
      return CutOff(absl::StrCat("box ", name), at + static_cast<int64_t>(size),
                    source->size());
    }
    at += static_cast<int64_t>(size);
  }
  return absl::OkStatus();
}

constexpr uint32_t kSegment = 0x18538067;
constexpr uint32_t kCluster = 0x1f43b675;
constexpr uint32_t kBlockGroup = 0xa0;
constexpr uint32_t kBlock = 0xa1;
constexpr uint32_t kSimpleBlock = 0xa3;
constexpr uint32_t kChecksum = 0xbf;
// What a segment has, and what a cluster has.
constexpr uint32_t kOfSegment[] = {
    0x114d9b74, 0x1549a966, 0x1654ae6b, 0x1c53bb6b, 0x1254c367,
    0x1941a469, 0x1043a770, kCluster,   0xec,       kChecksum};
constexpr uint32_t kOfCluster[] = {
    0xe7, 0xab, 0xa7, 0x5854, 0xaf, kBlockGroup, 0xec, kSimpleBlock, kChecksum};

template <size_t N>
bool IsOneOf(const uint32_t (&ids)[N], uint32_t id) {
  return std::find(ids, ids + N, id) != ids + N;
}

// An element of Matroska.
struct Element {
  uint32_t id = 0;
  int64_t begin = 0;
  int64_t end = 0;
  bool knows_end = true;
};

class MatroskaWalk {
 public:
  explicit MatroskaWalk(Source* source) : source_(source) {}

  absl::Status CheckEnd() {
    ASSIGN_OR_RETURN(const Element segment, FindSegment());
    if (segment.end <= source_->size()) return absl::OkStatus();
    return CutOff("segment", segment.end, source_->size());
  }

  // Frames of the track whose first block is at byte `first`.
  absl::StatusOr<int64_t> Count(int64_t first) {
    first_ = first;
    ASSIGN_OR_RETURN(const Element segment, FindSegment());
    if (segment.end > source_->size()) {
      return CutOff("segment", segment.end, source_->size());
    }
    for (int64_t at = segment.begin; at < segment.end;) {
      ASSIGN_OR_RETURN(Element part, ElementAt(at, segment.end));
      if (!IsOneOf(kOfSegment, part.id)) {
        return DamagedAt(at, "no part of a Matroska segment is here");
      }
      if (part.knows_end) RETURN_IF_ERROR(CheckSum(part));
      if (part.id == kCluster) RETURN_IF_ERROR(TakeCluster(&part));
      at = part.end;
    }
    if (!track_.has_value()) {
      return DamagedAt(first_, "no block of Matroska is here");
    }
    return frames_[*track_];
  }

 private:
  absl::StatusOr<Element> FindSegment() {
    ASSIGN_OR_RETURN(const Element head, ElementAt(0, INT64_MAX));
    for (int64_t at = head.end;;) {
      ASSIGN_OR_RETURN(const Element element, ElementAt(at, INT64_MAX));
      if (element.id == kSegment) return element;
      at = element.end;
    }
  }

  // Reads a number of one to eight bytes; the first one tells how many.
  bool Number(bool is_id, int64_t* at, uint64_t* value, bool* all_ones) {
    uint8_t bytes[8];
    if (!source_->Read(*at, 1, bytes)) return false;
    int count = 1;
    while (count <= 8 && !(bytes[0] & 0x80 >> (count - 1))) ++count;
    if (count > (is_id ? 4 : 8) || !source_->Read(*at, count, bytes)) {
      return false;
    }
    const int mask = 0xff >> count;
    *value = is_id ? bytes[0] : bytes[0] & mask;
    *all_ones = (bytes[0] & mask) == mask;
    for (int i = 1; i < count; ++i) {
      *value = *value << 8 | bytes[i];
      *all_ones &= bytes[i] == 0xff;
    }
    *at += count;
    return true;
  }

  // The element must end where its parent does, or before. Of the largest
  // elements, the end may not be known: up to the end of the parent.
  absl::StatusOr<Element> ElementAt(int64_t at, int64_t end) {
    Element element;
    uint64_t id = 0;
    uint64_t size = 0;
    bool all_ones = false;
    element.begin = at;
    if (!Number(true, &element.begin, &id, &all_ones) ||
        !Number(false, &element.begin, &size, &all_ones)) {
      return at >= source_->size() - 12
                 ? CutOff("last element", at + 12, source_->size())
                 : DamagedAt(at, "no element of Matroska is here");
    }
    element.id = static_cast<uint32_t>(id);
    if (all_ones && (element.id == kSegment || element.id == kCluster)) {
      element.knows_end = false;
      element.end = std::min(end, source_->size());
      return element;
    }
    if (size > uint64_t{1} << 60) {
      return DamagedAt(at, "no element of Matroska is here");
    }
    element.end = element.begin + static_cast<int64_t>(size);
    if (element.end <= end) return element;
    return end == source_->size()
               ? CutOff("last element", element.end, end)
               : DamagedAt(at, "an element is longer than what it is in");
  }

  // Sets the end of a cluster that did not tell it.
  absl::Status TakeCluster(Element* cluster) {
    int64_t at = cluster->begin;
    while (at < cluster->end) {
      ASSIGN_OR_RETURN(const Element part, ElementAt(at, cluster->end));
      if (!IsOneOf(kOfCluster, part.id)) {
        if (!cluster->knows_end && IsOneOf(kOfSegment, part.id)) break;
        return DamagedAt(at, "no part of a Matroska cluster is here");
      }
      if (part.id == kSimpleBlock) RETURN_IF_ERROR(TakeBlock(part));
      if (part.id == kBlockGroup) RETURN_IF_ERROR(TakeGroup(part));
      at = part.end;
    }
    cluster->end = at;
    return absl::OkStatus();
  }

  absl::Status TakeGroup(const Element& group) {
    for (int64_t at = group.begin; at < group.end;) {
      ASSIGN_OR_RETURN(const Element part, ElementAt(at, group.end));
      if (part.id == kBlock) RETURN_IF_ERROR(TakeBlock(part));
      at = part.end;
    }
    return absl::OkStatus();
  }

  absl::Status TakeBlock(const Element& block) {
    int64_t at = block.begin;
    uint64_t track = 0;
    bool all_ones = false;
    // The time in two bytes, flags, and the number of further frames.
    uint8_t head[4] = {};
    if (!Number(false, &at, &track, &all_ones) || at + 3 > block.end ||
        !source_->Read(at, std::min<int64_t>(4, block.end - at), head)) {
      return DamagedAt(block.begin, "a block has no head");
    }
    if (at + 3 == block.end) return absl::OkStatus();
    if (block.begin == first_) track_ = track;
    frames_[track] += head[2] & 6 ? head[3] + 1 : 1;
    return absl::OkStatus();
  }

  // Programs may put a checksum before everything else in a part.
  absl::Status CheckSum(const Element& part) {
    uint8_t head[6];
    if (part.end - part.begin < 6 || !source_->Read(part.begin, 6, head) ||
        head[0] != kChecksum || head[1] != 0x84) {
      return absl::OkStatus();
    }
    const AVCRC* const table = av_crc_get_table(AV_CRC_32_IEEE_LE);
    uint32_t sum = UINT32_MAX;
    uint8_t bytes[Source::kMost];
    for (int64_t at = part.begin + 6; at < part.end;) {
      const int64_t count = std::min<int64_t>(part.end - at, sizeof(bytes));
      if (!source_->Read(at, count, bytes)) {
        return CutOff("last element", part.end, source_->size());
      }
      sum = av_crc(table, sum, bytes, static_cast<size_t>(count));
      at += count;
    }
    const uint32_t stored = head[2] | head[3] << 8 | head[4] << 16 |
                            static_cast<uint32_t>(head[5]) << 24;
    if ((sum ^ UINT32_MAX) == stored) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("is damaged: the checksum of bytes ", part.begin, " to ",
                     part.end, " is wrong"));
  }

  Source* const source_;
  int64_t first_ = -1;
  std::optional<uint64_t> track_;
  std::map<uint64_t, int64_t> frames_;
};

}  // namespace

absl::Status CheckNotCut(const VideoPlace& place) {
  Source source(place);
  switch (FormatOf(&source)) {
    case Format::kAvi:
      return CheckAviEnd(&source);
    case Format::kMp4:
      return CheckMp4End(&source);
    case Format::kMatroska:
      return MatroskaWalk(&source).CheckEnd();
    case Format::kOther:
      break;
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> CountStored(const VideoPlace& place, int stream,
                                    int64_t first) {
  Source source(place);
  switch (FormatOf(&source)) {
    case Format::kAvi:
      return AviWalk(&source, stream).Count();
    case Format::kMatroska:
      return MatroskaWalk(&source).Count(first);
    case Format::kMp4:
    case Format::kOther:
      break;
  }
  return -1;
}

}  // namespace feedrate
