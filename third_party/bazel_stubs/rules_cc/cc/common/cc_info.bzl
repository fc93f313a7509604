"""CcInfo, where rules_cc has it for Bazel versions without a built-in one."""

load("//cc/private:native.bzl", "native_cc_info")

CcInfo = native_cc_info
