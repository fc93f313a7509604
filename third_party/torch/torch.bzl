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
    "torch",
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
    ctx.file("BUILD", _PRESENT.format(lib = root.get_child("lib")))

torch_repository = repository_rule(
    implementation = _torch_repository_impl,
    configure = True,
    environ = [
        "HOME",
        "PATH",
        "TORCH_ROOT",
        "XDG_CACHE_HOME",
    ],
    local = True,
)
