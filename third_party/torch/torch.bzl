"""@torch//:torch, the C++ library libtorch without its CUDA half.

It comes from wherever find_torch.sh finds it. Where it finds none, the target
is still there and building it fails with what to run, so a machine without torch
can build everything else.
"""

_PRESENT = """
load("@rules_cc//cc:defs.bzl", "cc_library")

cc_library(
    name = "torch",
    hdrs = glob(
        [
            "include/**/*.h",
            "include/**/*.hpp",
            "include/**/*.inl",
        ],
        # An old protobuf, whose headers would hide the system's.
        exclude = ["include/google/**"],
    ),
    includes = [
        "include",
        "include/torch/csrc/api/include",
    ],
    # Never -ltorch: it drags in libtorch_cuda and with it every CUDA library.
    linkopts = [
        "-L{lib}",
        "-Wl,-rpath,{lib}",
        "-ltorch_cpu",
        "-lc10",
        # libtorch_cpu.so finds libcudart and libcupti by its own RPATH when it
        # runs; the linker need not.
        "-Wl,--allow-shlib-undefined",
    ],
    visibility = ["//visibility:public"],
)

# For a program that links OpenCV too: its NEEDED entries have torch first, and
# so does the dynamic linker's search for sgemm_. OpenCV brings Debian's reference
# BLAS along. The options of a library always stand before those of its deps.
cc_library(
    name = "torch_before_opencv",
    linkopts = [
        "-L{lib}",
        "-ltorch_cpu",
        "-lc10",
    ],
    visibility = ["//visibility:public"],
    deps = [
        ":torch",
        "@system//:opencv",
    ],
)

# The GPU's half as well. It registers its operations as it is loaded, so the
# linker must not leave it out for want of a call.
cc_library(
    name = "torch_cuda",
    linkopts = [
        "-L{lib}",
        "-Wl,--no-as-needed",
        "-ltorch_cuda",
        "-lc10_cuda",
        "-Wl,--as-needed",
    ],
    visibility = ["//visibility:public"],
    deps = [":torch"],
)
{nccl}"""

# What lets processes on several GPUs talk. libtorch_cuda has the code; the
# header of NCCL comes in a wheel of its own, beside a whole torch.
_NCCL = """
cc_library(
    name = "nccl",
    hdrs = glob(["nccl/*.h"]),
    defines = ["USE_C10D_NCCL"],
    includes = ["nccl"],
    visibility = ["//visibility:public"],
)
"""

# Without it a program is built all the same, and says so when it is asked to.
_NO_NCCL = """
cc_library(
    name = "nccl",
    visibility = ["//visibility:public"],
)
"""

# Beside torch, in an environment that `make envs` made, or of the distribution.
_FIND_NCCL = """
cache="${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/feedrate"
for folder in "$1"/../nvidia/nccl/include \\
  "$cache"/venvs/torch_stack-*/lib/python3*/site-packages/nvidia/nccl/include \\
  /usr/include; do
  if [ -e "$folder/nccl.h" ]; then
    cd "$folder" && pwd
    exit
  fi
done
"""

_ABSENT = """
load("@rules_cc//cc:defs.bzl", "cc_library")

genrule(
    name = "torch_is_missing",
    outs = ["torch_is_missing.cc"],
    cmd = "echo >&2 '{message}' && exit 1",
)

[cc_library(
    name = name,
    srcs = [":torch_is_missing.cc"],
    visibility = ["//visibility:public"],
) for name in [
    "nccl",
    "torch",
    "torch_before_opencv",
    "torch_cuda",
]]
"""

def _torch_repository_impl(ctx):
    script = ctx.path(Label("//third_party/torch:find_torch.sh"))
    result = ctx.execute([script])
    ctx.file("WORKSPACE", "")
    if result.return_code != 0:
        message = result.stderr.strip().replace("'", "")
        ctx.file("BUILD", _ABSENT.format(message = message))
        return
    root = ctx.path(result.stdout.strip())
    ctx.symlink(root.get_child("include"), "include")
    nccl = ctx.execute(["sh", "-c", _FIND_NCCL, "sh", str(root)]).stdout.strip()
    if nccl:
        ctx.symlink(nccl + "/nccl.h", "nccl/nccl.h")
    ctx.file("BUILD", _PRESENT.format(
        lib = root.get_child("lib"),
        nccl = _NCCL if nccl else _NO_NCCL,
    ))

torch_repository = repository_rule(
    implementation = _torch_repository_impl,
    configure = True,
    environ = [
        "FEEDRATE_LIBTORCH",
        "HOME",
        "PATH",
        "TORCH_ROOT",
        "XDG_CACHE_HOME",
    ],
    local = True,
)
