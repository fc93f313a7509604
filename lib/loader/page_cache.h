// Whether items will have to come from a disk.
#ifndef FEEDRATE_LIB_LOADER_PAGE_CACHE_H_
#define FEEDRATE_LIB_LOADER_PAGE_CACHE_H_

#include "lib/loader/item_order.h"
#include "lib/loader/source.h"

namespace feedrate {

// Looks at 16 items all over the order: true when the middle of most of them
// can be read without waiting. Takes a fraction of a millisecond. What cannot
// be asked, such as a file of a network, counts as not there; what a local
// cache holds of a store counts as there.
bool IsMostlyCached(const Source& source, const ItemOrder& order);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_PAGE_CACHE_H_
