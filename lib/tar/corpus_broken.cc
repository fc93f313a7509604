#include "lib/tar/builder.h"
#include "lib/tar/corpus.h"
#include "lib/tar/extensions.h"

namespace feedrate::tar {
namespace {

using Code = Error::Code;

void Add(std::string name, std::string bytes, Code code, std::string message,
         std::vector<CorpusCase>* cases) {
  cases->push_back(
      {std::move(name), std::move(bytes), code, true, std::move(message)});
}

std::string FlipByte(std::string bytes, size_t at) {
  bytes[at] ^= 1;
  return bytes;
}

Builder Sized(int64_t size) {
  Header header = MakeHeader('0', "sized", 0);
  SetBase256(size, header.size, sizeof(header.size));
  return Builder().File("before", "1").Add(header, "data");
}

Builder BadField(size_t offset, std::string_view text) {
  Header header = MakeHeader('0', "field", 0);
  text.copy(reinterpret_cast<char*>(&header) + offset, text.size());
  return Builder().Add(header, "");
}

void AddNumbers(std::vector<CorpusCase>* cases) {
  const Builder two = Builder().File("one", "1").File("two", "2");
  Add("checksum_first", FlipByte(two.Finish(), 3), Code::kBadChecksum,
      "not a tar", cases);
  Add("checksum_second", FlipByte(two.Finish(), 1024 + 3), Code::kBadChecksum,
      "after entry \"one\"", cases);
  Add("size_negative", Sized(-1).Finish(), Code::kBadSize, "sized", cases);
  Add("size_most_negative", Sized(INT64_MIN).Finish(), Code::kBadSize, "sized",
      cases);
  Add("size_huge", Sized(INT64_MAX).Finish(), Code::kBadSize, "sized", cases);
  Add("size_petabytes", Sized(int64_t{1} << 50).Finish(), Code::kTruncated,
      "sized", cases);
  Add("size_too_large_by_a_block", Sized(513 + 1024).Finish(), Code::kTruncated,
      "sized", cases);
  Add("size_too_small",
      Builder()
          .Add(MakeHeader('0', "sized", 1), std::string(600, 'x'))
          .Finish(),
      Code::kBadChecksum, "after entry \"sized\"", cases);
  Add("size_garbage", BadField(offsetof(Header, size), "12x45").Finish(),
      Code::kBadNumber, "size", cases);
  Add("mode_garbage", BadField(offsetof(Header, mode), "9").Finish(),
      Code::kBadNumber, "mode", cases);
  Add("mtime_garbage", BadField(offsetof(Header, mtime), "z").Finish(),
      Code::kBadNumber, "mtime", cases);
  Add("symlink_with_data", Builder().Add('2', "l", "t", "data").Finish(),
      Code::kBadSize, "\"l\"", cases);
}

void AddTypes(std::vector<CorpusCase>* cases) {
  const auto type = [cases](const char* name, char type, Code code) {
    Add(name, Builder().Add(type, "dev/thing", "", "").Finish(), code,
        "dev/thing", cases);
  };
  type("character_device", '3', Code::kDevice);
  type("block_device", '4', Code::kDevice);
  type("fifo", '6', Code::kDevice);
  type("gnu_sparse", 'S', Code::kSparse);
  type("multi_volume", 'M', Code::kUnknownType);
  type("unknown_type", '\x1b', Code::kUnknownType);
  Add("pax_sparse",
      Builder().Pax("GNU.sparse.major", "1").File("holes", "1").Finish(),
      Code::kSparse, "holes", cases);
}

void AddNames(std::vector<CorpusCase>* cases) {
  const std::string too_long(kMaxNameBytes + 1, 'n');
  Add("name_empty", Builder().File("", "1").Finish(), Code::kBadName, "empty",
      cases);
  Add("link_empty", Builder().Symlink("l", "").Finish(), Code::kBadName,
      "\"l\"", cases);
  Add("pax_nul",
      Builder().Pax("path", std::string("a\0b", 3)).File("f", "1").Finish(),
      Code::kBadPax, "NUL", cases);
  Add("gnu_nul",
      Builder().GnuLong('L', std::string("a\0b\0", 4)).File("f", "1").Finish(),
      Code::kBadName, "NUL", cases);
  Add("gnu_name_empty",
      Builder().GnuLong('L', std::string(1, '\0')).File("f", "1").Finish(),
      Code::kBadName, "empty", cases);
  Add("gnu_name_too_long",
      Builder().GnuLong('L', too_long + '\0').File("f", "1").Finish(),
      Code::kTooLong, "65538", cases);
  Add("pax_name_too_long",
      Builder().Pax("path", too_long).File("f", "1").Finish(), Code::kTooLong,
      "65536", cases);
}

void AddExtensions(std::vector<CorpusCase>* cases) {
  Header huge = MakeHeader('x', "pax", uint64_t{1} << 32);
  Header negative = MakeHeader('x', "pax", 0);
  SetBase256(-512, negative.size, sizeof(negative.size));
  Add("pax_huge", Builder().Add(huge, "").Finish(), Code::kTooLong,
      "4294967296", cases);
  Add("pax_negative", Builder().Add(negative, "").Finish(), Code::kBadSize,
      "extended header", cases);
  Add("pax_malformed",
      Builder().Add('x', "pax", "", "999 path=a\n").File("f", "1").Finish(),
      Code::kBadPax, "malformed", cases);
  Add("pax_size_huge",
      Builder().Pax("size", "9223372036854775807").File("sized", "1").Finish(),
      Code::kBadSize, "sized", cases);
  Add("pax_size_past_int64",
      Builder().Pax("size", "99999999999999999999").File("sized", "1").Finish(),
      Code::kBadPax, "size", cases);
  Add("pax_global_path",
      Builder().Pax("path", "everywhere", 'g').File("f", "1").Finish(),
      Code::kBadPax, "global", cases);
  Add("pax_without_entry",
      Builder().File("f", "1").Pax("path", "lost").Finish(), Code::kTruncated,
      "after entry \"f\"", cases);
  Add("lone_zero_block",
      Builder()
          .File("f", "1")
          .Raw(std::string(kBlockSize, '\0'))
          .File("g", "1")
          .Finish(),
      Code::kLoneZeroBlock, "after entry \"f\"", cases);
  Add("no_bytes", "", Code::kTruncated, "end mark", cases);
  Add("not_a_tar", std::string(2048, 'J'), Code::kBadChecksum, "not a tar",
      cases);
}

}  // namespace

std::vector<CorpusCase> BrokenCorpus() {
  std::vector<CorpusCase> cases;
  AddNumbers(&cases);
  AddTypes(&cases);
  AddNames(&cases);
  AddExtensions(&cases);
  return cases;
}

}  // namespace feedrate::tar
