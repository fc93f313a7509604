#include "lib/planning/emit/templates.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "lib/planning/emit/template_files.h"

namespace feedrate {

std::string Template(absl::string_view name) {
  for (const TemplateFile& file : kTemplateFiles) {
    // A raw string begins with the newline that the generator writes.
    if (name == file.name) return std::string(file.text + 1);
  }
  LOG(FATAL) << "no template " << name;
}

std::string FillTemplate(absl::string_view name,
                         const std::map<std::string, std::string>& values) {
  std::string text = Template(name);
  for (const auto& [key, value] : values) {
    const int count =
        absl::StrReplaceAll({{absl::StrCat("@", key, "@"), value}}, &text);
    CHECK_GT(count, 0) << name << " has no @" << key << "@";
  }
  return text;
}

}  // namespace feedrate
