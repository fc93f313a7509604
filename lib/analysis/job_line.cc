#include "lib/analysis/job_line.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/analysis/printed_value.h"
#include "lib/analysis/row_steps.h"

namespace feedrate {
namespace {

// Every row has its own, even where two happen to be equal.
bool IsOwnNumber(Act act) {
  return act == Act::kThroughput || act == Act::kSamples ||
         act == Act::kRunIndex || act == Act::kStartedAt;
}

bool DecidesGroup(const Step& step) {
  return step.act == Act::kSlot || step.act == Act::kPart ||
         step.also_slot >= 0;
}

}  // namespace

void CompleteJobLine(const std::vector<PrintedField>& second, JobLine* line) {
  const std::vector<PrintedField> first = std::move(line->first);
  line->first.clear();
  line->is_hopeless = true;
  if (first.size() != second.size()) return;
  for (size_t i = 0; i < first.size(); ++i) {
    const PrintedField& field = first[i];
    if (field.key != second[i].key) return;
    absl::StrAppend(&line->text, i == 0 ? "{" : ",", field.key);
    if (field.value == second[i].value && !IsOwnNumber(field.step.act)) {
      line->text += field.value;
      continue;
    }
    if (DecidesGroup(field.step) || field.step.act == Act::kAttempt) return;
    line->holes.push_back(
        {static_cast<uint32_t>(line->text.size()), field.step});
  }
  line->text += "}\n";
  line->size = static_cast<uint32_t>(line->text.size());
  line->text.append(kPrintedPadding, '\0');
  line->is_hopeless = false;
  line->is_ready = true;
}

}  // namespace feedrate
