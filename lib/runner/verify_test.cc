#include "lib/runner/verify.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

Verification Cell(const std::string& transform, const std::string& library,
                  const std::string& label, const std::string& reference) {
  Verification cell;
  cell.set_transform(transform);
  cell.set_library(library);
  cell.set_status("ok");
  cell.mutable_equivalence()->set_label(label);
  cell.mutable_equivalence()->set_reference(reference);
  return cell;
}

TEST(VerificationTableTest, LibrariesAcrossTransformsDownReasonsBelow) {
  Verification crash = Cell("Rotate", "kornia", "", "");
  crash.set_status("crashed");
  crash.set_reason("killed by SIGSEGV");
  const std::vector<Verification> cells = {
      Cell("Resize", "opencv", "exact", "resize"),
      Cell("Resize", "kornia", "different", "resize: another size"),
      Cell("Blur", "opencv", "equivalent", "blur"), crash};
  EXPECT_EQ(VerificationTable(cells),
            "transform  opencv      kornia\n"
            "────────────────────────────────\n"
            "Resize     exact       different\n"
            "Blur       equivalent  –\n"
            "Rotate     –           crashed\n"
            "\n"
            "Resize, kornia: different: resize: another size\n"
            "Rotate, kornia: crashed: killed by SIGSEGV\n");
}

}  // namespace
}  // namespace feedrate
