"""@cuda: where nvcc is, and the CUDA runtime as a static library.

Looks at CUDA_HOME, CUDA_PATH, /usr/local/cuda and PATH, in this order. A machine
without CUDA gets the same repository with an empty path; third_party/cuda/cuda.bzl
then fails with what to do, and only for a build that asked for --config=cuda.
"""

_CONFIG = """
CUDA_ROOT = "{root}"
NVCC_VERSION = "{version}"
HOST_COMPILER = "{compiler}"
"""

_PRESENT = """
load("@rules_cc//cc:defs.bzl", "cc_library")

# Linked statically, so that a program runs wherever there is a driver.
cc_library(
    name = "cudart",
    hdrs = glob([
        "include/*.h",
        "include/*.hpp",
        "include/crt/*",
        # What cuda_fp16.h includes; CUDA before 13 has it beside the others.
        "include/cccl/nv/**",
        "include/nv/**",
    ], allow_empty = True),
    includes = [
        "include",
        "include/cccl",
    ],
    linkopts = [
        "-L{lib}",
        "-lcudart_static",
        "-ldl",
        "-lpthread",
        "-lrt",
    ],
    visibility = ["//visibility:public"],
)
"""

_ABSENT = """
load("@rules_cc//cc:defs.bzl", "cc_library")

genrule(
    name = "cuda_is_missing",
    outs = ["cuda_is_missing.cc"],
    cmd = "echo >&2 'feedrate: no nvcc. Install CUDA 13 or set CUDA_HOME' && exit 1",
)

cc_library(
    name = "cudart",
    srcs = [":cuda_is_missing.cc"],
    visibility = ["//visibility:public"],
)
"""

def _find_root(ctx):
    """The folder of CUDA as a string, or the empty string."""
    candidates = [
        ctx.os.environ.get("CUDA_HOME"),
        ctx.os.environ.get("CUDA_PATH"),
        "/usr/local/cuda",
    ]
    for candidate in candidates:
        if candidate and ctx.path(candidate + "/bin/nvcc").exists:
            return candidate
    nvcc = ctx.which("nvcc")
    return str(nvcc.realpath.dirname.dirname) if nvcc else ""

def _cuda_repository_impl(ctx):
    root = _find_root(ctx)
    ctx.file("WORKSPACE", "")
    if not root:
        ctx.file("config.bzl", _CONFIG.format(
            root = "",
            version = "",
            compiler = "",
        ))
        ctx.file("BUILD", _ABSENT)
        return
    result = ctx.execute([root + "/bin/nvcc", "--version"])
    version = result.stdout.strip().split("\n")[-1]
    ctx.symlink(root + "/include", "include")
    ctx.file("config.bzl", _CONFIG.format(
        root = root,
        version = version,
        compiler = ctx.os.environ.get("CC", "g++"),
    ))

    # For a machine that it only compiles for, CUDA has just the runtime (dev/cross.sh).
    sysroot = ctx.os.environ.get("FEEDRATE_SYSROOT")
    lib = sysroot + "/usr/local/cuda/lib" if sysroot else root + "/lib64"
    ctx.file("BUILD", _PRESENT.format(lib = lib))

cuda_repository = repository_rule(
    implementation = _cuda_repository_impl,
    configure = True,
    environ = [
        "CC",
        "CUDA_HOME",
        "CUDA_PATH",
        "FEEDRATE_SYSROOT",
        "PATH",
    ],
    local = True,
)
