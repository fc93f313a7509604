#include "lib/tar/builder.h"
#include "lib/tar/corpus.h"

namespace feedrate::tar {
namespace {

void Add(std::string name, const Builder& builder, std::string message,
         std::vector<CorpusCase>* cases) {
  cases->push_back({std::move(name), builder.Finish(), Error::Code::kNone, true,
                    std::move(message)});
}

void AddNames(std::vector<CorpusCase>* cases) {
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

void AddSymlinks(std::vector<CorpusCase>* cases) {
  Add("symlink_absolute", Builder().Symlink("l", "/etc/passwd"), "/etc/passwd",
      cases);
  Add("symlink_up", Builder().Symlink("d/l", "../../escaped"), "\"d/l\"",
      cases);
  Add("symlink_to_parent", Builder().Symlink("l", ".."), "\"l\"", cases);
  // "d/.." looks harmless until d is a link itself.
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

void AddHardLinks(std::vector<CorpusCase>* cases) {
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
  // The link would point out of DIR from where its second name lies.
  Add("hard_link_lifts_a_symlink",
      Builder()
          .Folder("a/b")
          .Symlink("a/b/s", "../../f")
          .HardLink("s", "a/b/s"),
      "\"s\"", cases);
}

void AddKinds(std::vector<CorpusCase>* cases) {
  Add("file_over_folder", Builder().File("d/f", "1").File("d", "1"), "\"d\"",
      cases);
  Add("folder_over_file", Builder().File("f", "1").Folder("f"), "\"f\"", cases);
  Add("file_below_a_file", Builder().File("f", "1").File("f/g", "1"), "\"f/g\"",
      cases);
}

}  // namespace

std::vector<CorpusCase> HostileCorpus() {
  std::vector<CorpusCase> cases;
  AddNames(&cases);
  AddSymlinks(&cases);
  AddHardLinks(&cases);
  AddKinds(&cases);
  return cases;
}

}  // namespace feedrate::tar
