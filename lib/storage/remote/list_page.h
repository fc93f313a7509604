// One page of a listing.
#ifndef FEEDRATE_LIB_STORAGE_REMOTE_LIST_PAGE_H_
#define FEEDRATE_LIB_STORAGE_REMOTE_LIST_PAGE_H_

#include <string>
#include <vector>

#include "lib/storage/object_store.h"

namespace feedrate {

struct ListPage {
  std::vector<ObjectInfo> objects;  // Named by their whole keys.
  std::string next;                 // Token of the next page; empty: the last.
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_REMOTE_LIST_PAGE_H_
