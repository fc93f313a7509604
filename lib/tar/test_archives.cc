#include "lib/tar/test_archives.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "lib/tar/builder.h"
#include "lib/tar/header.h"
#include "lib/tar/reader.h"

namespace feedrate::tar {
namespace {

Header V7(std::string_view name, uint64_t size, char type) {
  Header header = MakeHeader(type, name, size);
  header.magic[0] = '\0';
  header.version[0] = '\0';
  return header;
}

Header WithPrefix(std::string_view prefix, std::string_view name) {
  Header header = MakeHeader('0', name, 2);
  prefix.copy(header.prefix, sizeof(header.prefix));
  return header;
}

// Many old writers summed signed bytes.
std::string SignedChecksum() {
  std::string bytes = Builder().File("caf\xc3\xa9", "au").Finish();
  Header* header = reinterpret_cast<Header*>(bytes.data());
  int64_t sum = 0;
  for (char& c : header->checksum) c = ' ';
  for (size_t i = 0; i < kBlockSize; ++i) {
    sum += static_cast<signed char>(bytes[i]);
  }
  snprintf(header->checksum, sizeof(header->checksum), "%06o",
           static_cast<unsigned>(sum));
  return bytes;
}

Header Base256Size() {
  Header header = MakeHeader('0', "big", 0);
  SetBase256(5, header.size, sizeof(header.size));
  return header;
}

void AddFormats(std::vector<TestArchive>* cases) {
  const std::string deep = std::string(90, 'd') + "/" + std::string(80, 'f');
  cases->push_back({"empty", Builder().Finish()});
  cases->push_back({"one_zero_block", Builder().File("a", "1").bytes() +
                                          std::string(kBlockSize, '\0')});
  cases->push_back(
      {"ustar", Builder().Folder("a").File("a/b", "12345").Finish()});
  cases->push_back(
      {"ustar_prefix",
       Builder().Add(WithPrefix("some/where", "f"), "xy").Finish()});
  cases->push_back({"name_of_100_bytes",
                    Builder().File(std::string(100, 'n'), "1").Finish()});
  cases->push_back({"v7", Builder()
                              .Add(V7("d/", 0, '\0'), "")
                              .Add(V7("d/f", 3, '\0'), "abc")
                              .Finish()});
  cases->push_back(
      {"pax_path", Builder().Pax("path", deep).File("short", "pax").Finish()});
  cases->push_back(
      {"pax_size_mtime",
       Builder()
           .Add('x', "pax", "",
                PaxRecord("size", "4") + PaxRecord("mtime", "1234567890.5"))
           .Add(MakeHeader('0', "f", 0), "data")
           .Finish()});
  cases->push_back(
      {"pax_global",
       Builder().Pax("comment", "4b825dc", 'g').File("f", "1").Finish()});
  cases->push_back({"pax_link", Builder()
                                    .File("t", "1")
                                    .Pax("linkpath", "t")
                                    .Symlink("l", "short")
                                    .Finish()});
  cases->push_back({"gnu_long", Builder()
                                    .GnuLong('L', deep + '\0')
                                    .File("cut", "gnu")
                                    .GnuLong('K', deep + '\0')
                                    .HardLink("l", "cut")
                                    .Finish()});
  cases->push_back(
      {"gnu_volume_label",
       Builder().Add('V', "label", "", "").File("f", "1").Finish()});
  cases->push_back(
      {"base256_size", Builder().Add(Base256Size(), "12345").Finish()});
  cases->push_back({"signed_checksum", SignedChecksum()});
  cases->push_back(
      {"contiguous_file", Builder().Add('7', "f", "", "1").Finish()});
  cases->push_back(
      {"folder_with_a_size", Builder()
                                 .Add(MakeHeader('5', "d", 4096), "")
                                 .File("d/f", "1")
                                 .Finish()});
}

void AddContents(std::vector<TestArchive>* cases) {
  cases->push_back({"links_inside", Builder()
                                        .File("d/e/f", "1")
                                        .Symlink("d/e/up", "../../d")
                                        .Symlink("dangling", "not/there")
                                        .HardLink("hard", "d/e/f")
                                        .Finish()});
  cases->push_back(
      {"same_name_twice",
       Builder().File("f", "first, and longer").File("f", "last").Finish()});
  cases->push_back({"file_then_link_then_file", Builder()
                                                    .File("t", "target")
                                                    .File("f", "first")
                                                    .Symlink("f", "t")
                                                    .File("f", "last")
                                                    .Finish()});
  cases->push_back({"setuid", Builder().File("f", "1", 07755).Finish()});
  cases->push_back({"dots_and_slashes",
                    Builder().Folder("./").File(".//d/./f", "1").Finish()});
  cases->push_back({"odd_names", Builder()
                                     .File("new\nline", "1")
                                     .File("\xff\xfe", "2")
                                     .File("...", "3")
                                     .File("-rf", "4")
                                     .Finish()});
  cases->push_back({"apple", Builder()
                                 .File(".DS_Store", "x")
                                 .File("d/._f", "x")
                                 .File("__MACOSX/d/f", "x")
                                 .File("d/.AppleDouble/f", "x")
                                 .Pax("SCHILY.xattr.user.k", "v")
                                 .File("d/f", "kept")
                                 .Finish()});
  cases->push_back(
      {"forged_sentinel",
       Builder().File(".stage_dataset.done", "{}").File("f", "1").Finish()});
  cases->push_back(
      {"more_after_the_end", Builder().File("f", "1").Finish() + "garbage"});
}

}  // namespace

std::vector<TestArchive> GoodArchives() {
  std::vector<TestArchive> cases;
  AddFormats(&cases);
  AddContents(&cases);
  return cases;
}

namespace {

using Code = Error::Code;

void Add(std::string name, std::string bytes, Code code, std::string message,
         std::vector<TestArchive>* cases) {
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

void AddNumbers(std::vector<TestArchive>* cases) {
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

void AddTypes(std::vector<TestArchive>* cases) {
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

void AddBadNames(std::vector<TestArchive>* cases) {
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

void AddExtensions(std::vector<TestArchive>* cases) {
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

std::vector<TestArchive> BrokenArchives() {
  std::vector<TestArchive> cases;
  AddNumbers(&cases);
  AddTypes(&cases);
  AddBadNames(&cases);
  AddExtensions(&cases);
  return cases;
}

namespace {

void Add(std::string name, const Builder& builder, std::string message,
         std::vector<TestArchive>* cases) {
  cases->push_back({std::move(name), builder.Finish(), Error::Code::kNone, true,
                    std::move(message)});
}

void AddHostileNames(std::vector<TestArchive>* cases) {
  std::string deep;
  while (deep.size() < 65000) deep += std::string(200, 'd') + '/';
  deep += "f";
  Add("dotdot", Builder().File("../escaped", "1"), "../escaped", cases);
  Add("dotdot_inside", Builder().File("a/../../escaped", "1"),
      "a/../../escaped", cases);
  Add("dotdot_that_stays", Builder().File("a/../b", "1"), "a/../b", cases);
  Add("dotdot_folder", Builder().Folder("a/.."), "a/..", cases);
  Add("dotdot_apple", Builder().File("../._f", "1"), "../._f", cases);
  Add("dotdot_pax", Builder().Pax("path", "../escaped").File("f", "1"),
      "../escaped", cases);
  Add("dotdot_gnu",
      Builder().GnuLong('L', std::string("../escaped\0", 11)).File("f", "1"),
      "../escaped", cases);
  Add("absolute", Builder().File("/tmp/escaped", "1"), "/tmp/escaped", cases);
  Add("absolute_slashes", Builder().File("//escaped", "1"), "//escaped", cases);
  Add("name_of_64_kib", Builder().GnuLong('L', deep).File("f", "1"), "ddd",
      cases);
  Add("component_of_300_bytes",
      Builder().Pax("path", std::string(300, 'c')).File("f", "1"), "ccc",
      cases);
  Add("file_named_as_root", Builder().Add('0', ".", "", "1"), "\".\"", cases);
}

void AddSymlinks(std::vector<TestArchive>* cases) {
  Add("symlink_absolute", Builder().Symlink("l", "/etc/passwd"), "/etc/passwd",
      cases);
  Add("symlink_up", Builder().Symlink("d/l", "../../escaped"), "\"d/l\"",
      cases);
  Add("symlink_to_parent", Builder().Symlink("l", ".."), "\"l\"", cases);
  // "d/.." looks harmless until d itself is a link.
  Add("symlink_down_then_up",
      Builder().Symlink("d", ".").Symlink("l", "d/../escaped"), "\"l\"", cases);
  Add("symlink_then_file",
      Builder().Symlink("l", "../outside").File("l/escaped", "1"), "\"l\"",
      cases);
  Add("symlink_inside_then_file",
      Builder().Folder("d").Symlink("l", "d").File("l/f", "1"), "\"l/f\"",
      cases);
  Add("symlink_then_folder_through_it",
      Builder().Folder("d").Symlink("l", "d").Folder("l/e"), "\"l/e\"", cases);
  Add("symlink_over_folder",
      Builder().File("d/f", "1").Symlink("d", "elsewhere"), "\"d\"", cases);
}

void AddHardLinks(std::vector<TestArchive>* cases) {
  Add("hard_link_up", Builder().HardLink("l", "../outside"), "../outside",
      cases);
  Add("hard_link_absolute", Builder().HardLink("l", "/etc/passwd"),
      "/etc/passwd", cases);
  Add("hard_link_to_nothing", Builder().HardLink("l", "missing"), "missing",
      cases);
  Add("hard_link_to_folder", Builder().Folder("d").HardLink("l", "d"), "\"l\"",
      cases);
  Add("hard_link_to_itself", Builder().File("f", "1").HardLink("f", "f"),
      "\"f\"", cases);
  Add("hard_link_through_symlink",
      Builder().File("d/f", "1").Symlink("l", "d").HardLink("h", "l/f"),
      "\"h\"", cases);
  // From its second name, the link would point outside of DIR.
  Add("hard_link_lifts_a_symlink",
      Builder()
          .Folder("a/b")
          .Symlink("a/b/s", "../../f")
          .HardLink("s", "a/b/s"),
      "\"s\"", cases);
}

void AddKinds(std::vector<TestArchive>* cases) {
  Add("file_over_folder", Builder().File("d/f", "1").File("d", "1"), "\"d\"",
      cases);
  Add("folder_over_file", Builder().File("f", "1").Folder("f"), "\"f\"", cases);
  Add("file_below_a_file", Builder().File("f", "1").File("f/g", "1"), "\"f/g\"",
      cases);
}

}  // namespace

std::vector<TestArchive> HostileArchives() {
  std::vector<TestArchive> cases;
  AddHostileNames(&cases);
  AddSymlinks(&cases);
  AddHardLinks(&cases);
  AddKinds(&cases);
  return cases;
}

namespace {

// Truncates at, just before and just after every block, which includes each
// boundary of a header or body. A good archive ends with two blocks of zeros,
// of which the second is optional.
void AddTruncations(const TestArchive& whole, std::vector<TestArchive>* cases) {
  const size_t needed = whole.bytes.size() / kBlockSize * kBlockSize;
  for (size_t block = 0; block + kBlockSize < needed; block += kBlockSize) {
    for (size_t cut : {block, block + 1, block + kBlockSize - 1}) {
      cases->push_back({whole.name + "_cut_at_" + std::to_string(cut),
                        whole.bytes.substr(0, cut), Error::Code::kTruncated,
                        true, "cut short"});
    }
  }
}

}  // namespace

std::vector<TestArchive> AllTestArchives() {
  std::vector<TestArchive> cases = GoodArchives();
  const size_t good = cases.size();
  for (size_t i = 0; i < good; ++i) {
    // A copy, because the vector reallocates as it grows.
    const TestArchive whole = cases[i];
    if (whole.name == "one_zero_block") continue;
    AddTruncations(whole, &cases);
  }
  for (auto& more : {BrokenArchives(), HostileArchives()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

namespace {

void Check(bool holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "tar::Reader broke its contract: %s\n", what);
  abort();
}

class Run {
 public:
  Run(std::string_view bytes, size_t piece, bool skip)
      : bytes_(bytes), piece_(piece), skip_(skip) {}

  Transcript Go() {
    Reader::Event event = Reader::Event::kNeedInput;
    while (event == Reader::Event::kNeedInput && at_ < bytes_.size()) {
      std::string_view input = bytes_.substr(at_, piece_);
      event = PushPiece(input);
    }
    if (event == Reader::Event::kNeedInput) event = reader_.Finish();
    Check(event == reader_.Finish(), "Finish() changes its mind");
    Conclude(event);
    return std::move(transcript_);
  }

 private:
  // Handles the piece's events until it is used up or the reader is done.
  Reader::Event PushPiece(std::string_view input) {
    for (;;) {
      const size_t before = input.size();
      const Reader::Event event = reader_.Next(&input);
      at_ += before - input.size();
      Check(reader_.offset() == at_, "the offset is off");
      switch (event) {
        case Reader::Event::kNeedInput:
          Check(input.empty(), "wants input while it has some");
          return event;
        case Reader::Event::kEnd:
        case Reader::Event::kError:
          return event;
        case Reader::Event::kEntry:
          Begin(reader_.entry());
          if (!skip_ || !in_entry_) break;
          // Like a caller that seeks: drops the rest of the piece.
          at_ = std::min<uint64_t>(at_ + reader_.SkipRest(), UINT64_MAX / 2);
          input = at_ < bytes_.size() ? bytes_.substr(at_, piece_)
                                      : std::string_view();
          if (at_ > bytes_.size()) return Reader::Event::kNeedInput;
          break;
        case Reader::Event::kBody:
          Append(reader_.body());
          break;
        case Reader::Event::kEntryEnd:
          End();
          break;
      }
    }
  }

  void Begin(const Entry& entry) {
    Check(!in_entry_, "an entry within an entry");
    Check(entry.path.size() <= kMaxNameBytes, "a name past the limit");
    Check(entry.link.size() <= kMaxNameBytes, "a link past the limit");
    Check(!entry.path.empty(), "an entry without a name");
    Check(entry.path.find('\0') == std::string::npos, "a NUL in a name");
    Check(entry.offset < entry.body_offset, "a body before its header");
    Check(entry.body_offset == at_, "a body offset that is off");
    Check(entry.EndOffset() % kBlockSize == 0, "an end between blocks");
    Check(entry.mode <= 07777, "a mode past its bits");
    in_entry_ = true;
    seen_ = 0;
    sum_ = 0;
    Say(entry);
  }

  void Append(std::string_view body) {
    Check(in_entry_, "data outside an entry");
    Check(!body.empty(), "an empty piece of data");
    seen_ += body.size();
    Check(seen_ <= reader_.entry().size, "data beyond the entry's size");
    for (char c : body) sum_ = sum_ * 31 + static_cast<unsigned char>(c);
  }

  void End() {
    Check(in_entry_, "an end without an entry");
    Check(at_ == reader_.entry().EndOffset(), "an entry of another length");
    Check(skip_ || seen_ == reader_.entry().size, "data is missing");
    in_entry_ = false;
    if (!skip_) transcript_.text += " sum " + std::to_string(sum_);
    transcript_.text += '\n';
  }

  void Say(const Entry& entry) {
    for (uint64_t number :
         {uint64_t{entry.mode}, static_cast<uint64_t>(entry.type), entry.size,
          entry.offset, entry.body_offset,
          static_cast<uint64_t>(entry.mtime.seconds),
          static_cast<uint64_t>(entry.mtime.nanoseconds)}) {
      transcript_.text += std::to_string(number) + ' ';
    }
    transcript_.text += Quote(entry.path) + " -> " + Quote(entry.link);
  }

  void Conclude(Reader::Event event) {
    if (event == Reader::Event::kEnd) return;
    Check(event == Reader::Event::kError, "neither end nor error");
    Check(reader_.error().code != Error::Code::kNone,
          "an error without a code");
    transcript_.error = reader_.error();
    transcript_.text += Describe(reader_.error());
  }

  const std::string_view bytes_;
  const size_t piece_;
  const bool skip_;
  uint64_t at_ = 0;
  Reader reader_;
  bool in_entry_ = false;
  uint64_t seen_ = 0;
  uint64_t sum_ = 0;
  Transcript transcript_;
};

}  // namespace

Transcript ReadInPieces(std::string_view bytes, size_t piece, bool skip) {
  return Run(bytes, piece, skip).Go();
}

}  // namespace feedrate::tar
