// Adds messages field by field, so that a counter in worker.proto reaches its
// row without code of its own.
#pragma once

#include "google/protobuf/message.h"

namespace feedrate {

// Adds each field of `from` to the field of `to` that has the same name and
// type: numbers are added, times `factor`, lists appended, texts and truth
// values set. Messages, whatever their types, are added by the same rule.
// Ignores fields that are absent in `from` or that `to` does not have. If `to`
// is empty, this copies.
void AddSameFields(const google::protobuf::Message& from,
                   google::protobuf::Message* to, int factor = 1);

}  // namespace feedrate
