// The identity of a job.
#ifndef FEEDRATE_LIB_RECORDS_JOB_ID_H_
#define FEEDRATE_LIB_RECORDS_JOB_ID_H_

#include <string>

#include "lib/records/records.pb.h"

namespace feedrate {

// The identity as canonical JSON: keys sorted, no spaces, fields at their
// default (zero, empty) left out, so that a field added later changes no id.
std::string CanonicalIdentity(const Job& job);

// First 16 hexadecimal digits of SHA-256 over CanonicalIdentity. Does not
// depend on `job_id` itself, run indexes, cost, labels or the machine.
std::string JobId(const Job& job);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RECORDS_JOB_ID_H_
