#include "tools/stage_dataset/completion.h"

#include <gtest/gtest.h>

#include "tools/stage_dataset/flags.h"
#include "tools/stage_dataset/help.h"

namespace feedrate {
namespace {

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
