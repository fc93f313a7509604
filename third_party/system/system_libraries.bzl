"""One repository, @system, with a cc_library for each library of the distribution.

A library that is not installed still has a target. Building it fails with the
package to install, so a missing library stops only the targets that need it.

Libraries are linked from their archives where the distribution has them: with
some fifty shared objects of Abseil and protobuf a program spends more time in
the dynamic linker than in planning a run.
"""

# name: (pkg-config modules, Debian and Ubuntu package)
LIBRARIES = {
    "absl": (
        [
            "absl_flat_hash_map",
            "absl_flat_hash_set",
            "absl_log_severity",
            "absl_random_random",
            "absl_span",
            "absl_status",
            "absl_statusor",
            "absl_str_format",
            "absl_strings",
            "absl_synchronization",
            "absl_time",
        ],
        "libabsl-dev",
    ),
    "benchmark": (["benchmark"], "libbenchmark-dev"),
    "gflags": (["gflags"], "libgflags-dev"),
    "glog": (["libglog"], "libgoogle-glog-dev"),
    "gmock": (["gmock"], "libgmock-dev"),
    "gtest": (["gtest"], "libgtest-dev"),
    "gtest_main": (["gmock_main", "gtest_main"], "libgmock-dev"),
    "hwy": (["libhwy"], "libhwy-dev"),
    "isal": (["libisal"], "libisal-dev"),
    "jpeg": (["libjpeg"], "libjpeg-dev"),
    "lmdb": (["lmdb"], "liblmdb-dev"),
    "png": (["libpng"], "libpng-dev"),
    "protobuf": (["protobuf"], "libprotobuf-dev"),
    "simdjson": (["simdjson"], "libsimdjson-dev"),
    "uring": (["liburing"], "liburing-dev"),
    "webp": (["libwebp"], "libwebp-dev"),
    "zstd": (["libzstd"], "libzstd-dev"),
}

# The same, linked as shared objects: their archives need those of a hundred
# other libraries, half of which the distribution does not have.
SHARED_LIBRARIES = {
    "curl": (["libcurl"], "libcurl4-openssl-dev"),
    "ffmpeg": (
        ["libavformat", "libavcodec", "libswscale", "libavutil"],
        "libavformat-dev libswscale-dev",
    ),
}

# Libraries that pkg-config would not help with.
# name: (folder of headers, a header that must be there, linkopts, package)
WITHOUT_PKG_CONFIG = {
    # The one module, opencv4, stands for all of OpenCV, which drags in some
    # 240 libraries. Its archives need TBB's and LAPACK's, so they stay shared.
    "opencv": (
        "/usr/include/opencv4",
        "opencv2/imgproc.hpp",
        ["-lopencv_imgproc", "-lopencv_core"],
        "libopencv-imgproc-dev",
    ),
}

# Headers alone, found where the compiler looks anyway.
# name: (a header that must be there, package)
HEADERS = {
    # Headers of the gloo that is inside libtorch, whose wheel leaves them out.
    "gloo_headers": ("/usr/include/gloo/context.h", "libgloo-dev"),
    "nlohmann_json": ("/usr/include/nlohmann/json.hpp", "nlohmann-json3-dev"),
    # Headers of libnvcuvid.so.1, which is loaded at run time.
    "nvcodec_headers": (
        "/usr/include/ffnvcodec/dynlink_nvcuvid.h",
        "libffmpeg-nvenc-dev",
    ),
}

# Parts of libc that are libraries of their own only by name; zlib, which every
# system has; and what glog asks for on x86-64, whose archive is not for programs
# that may lie anywhere (PIE).
_SHARED = ["-latomic", "-lm", "-lpthread", "-lrt", "-lunwind", "-lz"]

_HEAD = """# Written by third_party/system/system_libraries.bzl.
load("@rules_cc//cc:defs.bzl", "cc_library")
"""

_PRESENT = """
cc_library(
    name = "{name}",
    copts = {copts},
    linkopts = {linkopts},
    visibility = ["//visibility:public"],
)
"""

_PRESENT_WITH_HEADERS = """
cc_library(
    name = "{name}",
    hdrs = glob(["{name}/**"]),
    includes = ["{name}"],
    linkopts = {linkopts},
    visibility = ["//visibility:public"],
)
"""

_ABSENT = """
genrule(
    name = "{name}_is_missing",
    outs = ["{name}_is_missing.cc"],
    cmd = "echo >&2 'feedrate: {name} is not installed. Run: apt-get install {package} (or: make setup)' && exit 1",
)

cc_library(
    name = "{name}",
    srcs = [":{name}_is_missing.cc"],
    visibility = ["//visibility:public"],
)
"""

def _pkg_config(ctx, flag, modules):
    result = ctx.execute(["pkg-config", flag] + modules)
    if result.return_code != 0:
        return None
    return [word for word in result.stdout.strip().split(" ") if word]

def _archives(ctx, linkopts):
    """Names the archive for each -lNAME that has one; the rest stays."""
    named = []
    for option in linkopts:
        archive = "lib{}.a".format(option[2:])
        if option.startswith("-l") and option not in _SHARED:
            # Prints a path when the compiler finds it, else the name again.
            compiler = ctx.os.environ.get("CC", "c++")
            found = ctx.execute([compiler, "-print-file-name=" + archive])
            if found.return_code == 0 and "/" in found.stdout:
                option = "-l:" + archive
        named.append(option)
    return named

def _system_libraries_impl(ctx):
    text = _HEAD
    for name, (modules, package) in sorted(LIBRARIES.items()):
        linkopts = _pkg_config(ctx, "--libs", ["--static"] + modules)
        if linkopts == None:
            text += _ABSENT.format(name = name, package = package)
        else:
            copts = _pkg_config(ctx, "--cflags", modules)
            text += _PRESENT.format(
                name = name,
                copts = copts,
                linkopts = _archives(ctx, linkopts),
            )
    for name, (modules, package) in sorted(SHARED_LIBRARIES.items()):
        linkopts = _pkg_config(ctx, "--libs", modules)
        if linkopts == None:
            text += _ABSENT.format(name = name, package = package)
        else:
            copts = _pkg_config(ctx, "--cflags", modules)
            text += _PRESENT.format(name = name, copts = copts, linkopts = linkopts)
    for name, (folder, header, linkopts, package) in sorted(WITHOUT_PKG_CONFIG.items()):
        folder = ctx.os.environ.get("FEEDRATE_SYSROOT", "") + folder
        if ctx.path(folder + "/" + header).exists:
            ctx.symlink(folder, name)
            text += _PRESENT_WITH_HEADERS.format(name = name, linkopts = linkopts)
        else:
            text += _ABSENT.format(name = name, package = package)
    for name, (header, package) in sorted(HEADERS.items()):
        header = ctx.os.environ.get("FEEDRATE_SYSROOT", "") + header
        if ctx.path(header).exists:
            text += _PRESENT.format(name = name, copts = [], linkopts = [])
        else:
            text += _ABSENT.format(name = name, package = package)
    ctx.file("WORKSPACE", "")
    ctx.file("BUILD", text)

system_libraries = repository_rule(
    implementation = _system_libraries_impl,
    # Evaluated again at every start of the server, and when dev/bazel.sh finds
    # that packages were installed since (FEEDRATE_PACKAGES).
    configure = True,
    environ = [
        "CC",
        "FEEDRATE_PACKAGES",
        "FEEDRATE_SYSROOT",
        "PATH",
        "PKG_CONFIG_LIBDIR",
        "PKG_CONFIG_PATH",
        "PKG_CONFIG_SYSROOT_DIR",
    ],
    local = True,
)
