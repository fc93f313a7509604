#include "tools/stage_dataset/flags.h"

#include <gtest/gtest.h>

namespace feedrate {
namespace {

Flags Parsed(std::vector<std::string> arguments) {
  Flags flags;
  const tar::Status status = ParseFlags(arguments, &flags);
  EXPECT_TRUE(status.ok()) << status.message();
  return flags;
}

std::string Mistake(std::vector<std::string> arguments) {
  Flags flags;
  const tar::Status status = ParseFlags(arguments, &flags);
  EXPECT_EQ(status.exit_code(), 1);
  return status.message();
}

TEST(ParseFlags, ReadsAllOfThem) {
  const Flags flags =
      Parsed({"--source=s", "--dest=d", "--expected-bytes=14136559616",
              "--sha256=" + std::string(64, 'A'), "--strip-components=1",
              "--threads=4", "--max-bytes=9", "--no-sync", "--force", "--index",
              "--format=jsonl"});
  EXPECT_EQ(flags.options.source, "s");
  EXPECT_EQ(flags.options.dest, "d");
  EXPECT_EQ(flags.options.expected_bytes, 14136559616u);
  EXPECT_EQ(flags.options.sha256, std::string(64, 'a'));
  EXPECT_EQ(flags.options.strip_components, 1);
  EXPECT_EQ(flags.options.threads, 4);
  EXPECT_EQ(flags.options.max_bytes, 9u);
  EXPECT_FALSE(flags.options.sync);
  EXPECT_TRUE(flags.options.force);
  EXPECT_TRUE(flags.index);
  EXPECT_TRUE(flags.json);
}

TEST(ParseFlags, TakesUnderscoresAndValuesApart) {
  const Flags flags =
      Parsed({"--source", "-", "--dest", "d=e", "--strip_components", "2",
              "--no_sync", "--format=text"});
  EXPECT_EQ(flags.options.source, "-");
  EXPECT_EQ(flags.options.dest, "d=e");
  EXPECT_EQ(flags.options.strip_components, 2);
  EXPECT_FALSE(flags.options.sync);
  EXPECT_FALSE(flags.json);
}

TEST(ParseFlags, NeedsNothingForHelpAndVersion) {
  EXPECT_TRUE(Parsed({"--help"}).help);
  EXPECT_TRUE(Parsed({"-h"}).help);
  EXPECT_TRUE(Parsed({"--version"}).version);
}

TEST(ParseFlags, SaysWhatWasMeant) {
  EXPECT_NE(Mistake({"--sorce=x"}).find("--source?"), std::string::npos);
  EXPECT_NE(Mistake({"--strip_component=1"}).find("--strip-components?"),
            std::string::npos);
  EXPECT_NE(Mistake({"--format=xml"}).find("jsonl"), std::string::npos);
  EXPECT_NE(Mistake({"--frobnicate"}).find("--help"), std::string::npos);
  EXPECT_NE(Mistake({"val.tar"}).find("--source=val.tar"), std::string::npos);
}

TEST(ParseFlags, RefusesBadValues) {
  EXPECT_NE(Mistake({"--source=s"}).find("--dest"), std::string::npos);
  EXPECT_NE(Mistake({"--dest=s"}).find("--source"), std::string::npos);
  EXPECT_NE(Mistake({"--source"}).find("needs a value"), std::string::npos);
  EXPECT_NE(Mistake({"--threads=0"}).find("1 to 64"), std::string::npos);
  EXPECT_NE(Mistake({"--expected-bytes=-5"}).find("whole number"),
            std::string::npos);
  EXPECT_NE(Mistake({"--max-bytes=1G"}).find("whole number"),
            std::string::npos);
  EXPECT_NE(Mistake({"--sha256=beef"}).find("64 hexadecimal"),
            std::string::npos);
  EXPECT_NE(Mistake({"--force=maybe"}).find("true or false"),
            std::string::npos);
}

TEST(CompletionScript, KnowsEveryFlagInEveryShell) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    std::string script;
    ASSERT_TRUE(CompletionScript(shell, &script).ok());
    for (const FlagInfo& flag : FlagList()) {
      EXPECT_NE(script.find(flag.name), std::string::npos)
          << shell << " " << flag.name;
      // A quote or bracket would end the text too early.
      EXPECT_EQ(std::string(flag.text).find_first_of("'[]:"), std::string::npos)
          << flag.text;
    }
  }
}

TEST(CompletionScript, KnowsNoOtherShell) {
  std::string script;
  EXPECT_EQ(CompletionScript("csh", &script).exit_code(), 1);
}

TEST(Help, NamesEveryFlag) {
  for (const FlagInfo& flag : FlagList()) {
    EXPECT_NE(std::string(kHelp).find(std::string("--") + flag.name),
              std::string::npos)
        << flag.name;
  }
}

}  // namespace
}  // namespace feedrate
