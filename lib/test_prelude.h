// The same for tests.
#ifndef FEEDRATE_LIB_TEST_PRELUDE_H_
#define FEEDRATE_LIB_TEST_PRELUDE_H_

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/prelude.h"

#endif  // FEEDRATE_LIB_TEST_PRELUDE_H_
