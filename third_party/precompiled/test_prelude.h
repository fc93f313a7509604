// What tests include besides.
#ifndef FEEDRATE_THIRD_PARTY_PRECOMPILED_TEST_PRELUDE_H_
#define FEEDRATE_THIRD_PARTY_PRECOMPILED_TEST_PRELUDE_H_

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#endif  // FEEDRATE_THIRD_PARTY_PRECOMPILED_TEST_PRELUDE_H_
