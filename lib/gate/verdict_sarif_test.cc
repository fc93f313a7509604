#include "lib/gate/verdict_sarif.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/gate/suite.h"
#include "simdjson.h"

namespace feedrate {
namespace {

TEST(VerdictSarifTest, OneResultForWhatIsNotPlainlyTheSame) {
  std::vector<Verdict> jobs(5);
  const char* words[] = {"same", "slower", "cannot_tell", "faster", "same"};
  for (int i = 0; i < 5; ++i) {
    jobs[i].set_job("job \"" + std::to_string(i));
    jobs[i].set_verdict(words[i]);
    if (i > 0) jobs[i].add_codes("memory_peak_bytes");
  }
  jobs[1].mutable_effect()->set_percent(3);
  const std::string text = VerdictSarif(jobs, SuiteVerdict(jobs, {}));
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  ASSERT_EQ(parser.parse(text).get(root), simdjson::SUCCESS) << text;
  EXPECT_EQ(std::string_view(root["version"]), "2.1.0");
  const simdjson::dom::array results =
      root["runs"].at(0)["results"].get_array();
  std::vector<std::string> levels;
  for (const auto result : results) {
    levels.emplace_back(std::string_view(result["level"]));
  }
  EXPECT_EQ(levels,
            (std::vector<std::string>{"error", "warning", "note", "warning"}));
  EXPECT_EQ(double(results.at(0)["properties"]["change_percent"]), 3);
}

}  // namespace
}  // namespace feedrate
