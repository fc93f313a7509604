#include "lib/tar/builder.h"
#include "lib/tar/corpus.h"

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

// Half of all writers once summed signed bytes.
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

void AddFormats(std::vector<CorpusCase>* cases) {
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
  cases->push_back({"pax_size_mtime", Builder()
                                          .Pax("size", "4")
                                          .Pax("mtime", "1234567890.5")
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

void AddContents(std::vector<CorpusCase>* cases) {
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

std::vector<CorpusCase> GoodCorpus() {
  std::vector<CorpusCase> cases;
  AddFormats(&cases);
  AddContents(&cases);
  return cases;
}

}  // namespace feedrate::tar
