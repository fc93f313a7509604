// A document as Markdown.
#ifndef FEEDRATE_LIB_DRAW_MARKDOWN_H_
#define FEEDRATE_LIB_DRAW_MARKDOWN_H_

#include <string>

#include "lib/draw/document.h"

namespace feedrate {

// GitHub's dialect. Figures become a line that names them, or an image link
// when `figures_folder` says where `<id>.svg` lie.
std::string ToMarkdown(const Document& document,
                       const std::string& figures_folder);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_DRAW_MARKDOWN_H_
