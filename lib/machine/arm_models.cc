#include "lib/machine/arm_models.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"

namespace feedrate {
namespace {

struct ArmModel {
  unsigned implementer;
  unsigned part;
  const char* name;
};

// The cores of servers, cloud machines, boards and laptops that run Linux, by
// the implementer and part number of their MIDR register.
constexpr ArmModel kModels[] = {
    {0x41, 0xd03, "Cortex-A53"},    {0x41, 0xd04, "Cortex-A35"},
    {0x41, 0xd05, "Cortex-A55"},    {0x41, 0xd07, "Cortex-A57"},
    {0x41, 0xd08, "Cortex-A72"},    {0x41, 0xd09, "Cortex-A73"},
    {0x41, 0xd0a, "Cortex-A75"},    {0x41, 0xd0b, "Cortex-A76"},
    {0x41, 0xd0c, "Neoverse-N1"},   {0x41, 0xd0d, "Cortex-A77"},
    {0x41, 0xd40, "Neoverse-V1"},   {0x41, 0xd41, "Cortex-A78"},
    {0x41, 0xd42, "Cortex-A78AE"},  {0x41, 0xd44, "Cortex-X1"},
    {0x41, 0xd46, "Cortex-A510"},   {0x41, 0xd47, "Cortex-A710"},
    {0x41, 0xd48, "Cortex-X2"},     {0x41, 0xd49, "Neoverse-N2"},
    {0x41, 0xd4a, "Neoverse-E1"},   {0x41, 0xd4b, "Cortex-A78C"},
    {0x41, 0xd4d, "Cortex-A715"},   {0x41, 0xd4e, "Cortex-X3"},
    {0x41, 0xd4f, "Neoverse-V2"},   {0x41, 0xd80, "Cortex-A520"},
    {0x41, 0xd81, "Cortex-A720"},   {0x41, 0xd82, "Cortex-X4"},
    {0x41, 0xd83, "Neoverse-V3AE"}, {0x41, 0xd84, "Neoverse-V3"},
    {0x41, 0xd85, "Cortex-X925"},   {0x41, 0xd87, "Cortex-A725"},
    {0x41, 0xd8e, "Neoverse-N3"},   {0x43, 0x0af, "ThunderX2"},
    {0x46, 0x001, "A64FX"},         {0x48, 0xd01, "Kunpeng-920"},
    {0x4e, 0x004, "Carmel"},        {0x4e, 0x010, "Olympus"},
    {0x51, 0x001, "Oryon"},         {0x61, 0x022, "Apple M1"},
    {0x61, 0x023, "Apple M1"},      {0x61, 0x024, "Apple M1 Pro"},
    {0x61, 0x025, "Apple M1 Pro"},  {0x61, 0x028, "Apple M1 Max"},
    {0x61, 0x029, "Apple M1 Max"},  {0x61, 0x032, "Apple M2"},
    {0x61, 0x033, "Apple M2"},      {0x61, 0x034, "Apple M2 Pro"},
    {0x61, 0x035, "Apple M2 Pro"},  {0x61, 0x038, "Apple M2 Max"},
    {0x61, 0x039, "Apple M2 Max"},  {0x6d, 0xd49, "Azure Cobalt 100"},
    {0xc0, 0xac3, "Ampere-1"},      {0xc0, 0xac4, "Ampere-1a"},
};

}  // namespace

std::string ArmModelName(absl::string_view implementer,
                         absl::string_view part) {
  unsigned implementer_code, part_code;
  if (!absl::SimpleHexAtoi(implementer, &implementer_code) ||
      !absl::SimpleHexAtoi(part, &part_code)) {
    return "";
  }
  for (const ArmModel& model : kModels) {
    if (model.implementer == implementer_code && model.part == part_code) {
      return model.name;
    }
  }
  return absl::StrFormat("ARM-0x%02x-0x%03x", implementer_code, part_code);
}

}  // namespace feedrate
