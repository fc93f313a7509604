// The rules and the script of pages, from page.css and page.js.
#ifndef FEEDRATE_LIB_DRAW_PAGE_ASSETS_H_
#define FEEDRATE_LIB_DRAW_PAGE_ASSETS_H_

namespace feedrate {

// With $names of lib/draw/palette.h.
extern const char kPageCss[];
extern const char kPageJs[];

}  // namespace feedrate

#endif  // FEEDRATE_LIB_DRAW_PAGE_ASSETS_H_
