"""C++ libraries with CUDA kernels in them, compiled by nvcc.

    load("//third_party/cuda:cuda.bzl", "NEEDS_CUDA", "cuda_library")

    cuda_library(
        name = "resize_kernel",
        srcs = ["resize_kernel.cu"],
        hdrs = ["resize_kernel.h"],
    )

    cc_test(
        name = "resize_kernel_test",
        target_compatible_with = NEEDS_CUDA,
        ...
    )

Without --config=cuda a cuda_library is its header alone and FEEDRATE_CUDA is not
defined, so code can say that it was built without; a target with NEEDS_CUDA is
left out of wildcards, and asked for by name it is an error that says why.
"""

load("@cuda//:config.bzl", "CUDA_ROOT", "HOST_COMPILER", "NVCC_VERSION")
load("@rules_cc//cc:defs.bzl", "cc_library")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")

# Machine code for A100, L4 and H100/H200; any other GPU since Turing compiles the
# nearest PTX when a program starts.
_MACHINE_CODE = ["80", "89", "90"]
_PTX = ["75", "90"]

NEEDS_CUDA = select({
    "//third_party/cuda:enabled": [],
    "//conditions:default": ["//third_party/cuda:built_with_config_cuda"],
})

def _arch_flags(only):
    if only:
        return ["-gencode=arch=compute_{0},code=sm_{0}".format(only)]
    return [
        "-gencode=arch=compute_{0},code=sm_{0}".format(arch)
        for arch in _MACHINE_CODE
    ] + [
        "-gencode=arch=compute_{0},code=compute_{0}".format(arch)
        for arch in _PTX
    ]

def _includes(compilation):
    return (
        ["-I" + path for path in compilation.includes.to_list()] +
        ["-I" + path for path in compilation.quote_includes.to_list()] +
        ["-I" + path for path in compilation.system_includes.to_list()]
    )

def _compile(ctx, source, headers, flags):
    """Declares the action source → object and returns the object."""
    name = source.short_path.replace("/", "_") + ".o"
    output = ctx.actions.declare_file(ctx.label.name + ".objects/" + name)
    ctx.actions.run(
        mnemonic = "Nvcc",
        progress_message = "Compiling " + source.short_path,
        executable = CUDA_ROOT + "/bin/nvcc",
        arguments = flags + ["-c", source.path, "-o", output.path],
        inputs = depset([source], transitive = [headers]),
        outputs = [output],
        # nvcc finds g++ and cicc by PATH. The version is not read: it makes a
        # new nvcc compile everything again.
        env = {
            "NVCC_VERSION": NVCC_VERSION,
            "PATH": "/usr/local/bin:/usr/bin:/bin",
        },
    )
    return output

def _cuda_archive_impl(ctx):
    if not CUDA_ROOT:
        fail("no nvcc found, but --config=cuda asks for it. " +
             "Install CUDA 13, or set CUDA_HOME to where it is")
    infos = [dep[CcInfo].compilation_context for dep in ctx.attr.deps]
    headers = depset(
        ctx.files.hdrs,
        transitive = [info.headers for info in infos],
    )
    flags = _arch_flags(ctx.attr.arch) + [
        "-std=c++17",
        "-O3",
        "-ccbin=" + HOST_COMPILER,
        "-Xcompiler=-fPIC,-Wall,-Wextra",
        "-I.",
        # Known to nvcc only where it compiles for its own processor.
        "-I" + CUDA_ROOT + "/include",
        "-isystem=" + CUDA_ROOT + "/include/cccl",
    ] + ctx.attr.nvccopts
    for info in infos:
        flags = flags + _includes(info)
    objects = [_compile(ctx, src, headers, flags) for src in ctx.files.srcs]
    archive = ctx.actions.declare_file("lib%s.a" % ctx.label.name)
    ctx.actions.run(
        mnemonic = "NvccArchive",
        executable = "/usr/bin/ar",
        arguments = ["rcsD", archive.path] + [o.path for o in objects],
        inputs = objects,
        outputs = [archive],
    )
    return [DefaultInfo(files = depset([archive]))]

_cuda_archive = rule(
    implementation = _cuda_archive_impl,
    attrs = {
        "arch": attr.string(),
        "deps": attr.label_list(providers = [CcInfo]),
        "hdrs": attr.label_list(allow_files = True),
        "nvccopts": attr.string_list(),
        "srcs": attr.label_list(allow_files = [".cu"]),
    },
)

def cuda_library(
        name,
        srcs,
        hdrs = [],
        deps = [],
        nvccopts = [],
        arch = "",
        visibility = None):
    """A cc_library whose sources are compiled by nvcc.

    Args:
      name: of the cc_library.
      srcs: .cu files.
      hdrs: headers for them and for C++; without --config=cuda they are all
        there is.
      deps: C++ libraries that the kernels or the headers include.
      nvccopts: more flags for nvcc.
      arch: the only GPU that the kernels are for, such as "90a". Callers check
        the device before they start one.
      visibility: of the cc_library.
    """
    _cuda_archive(
        name = name + "_archive",
        srcs = srcs,
        hdrs = hdrs,
        arch = arch,
        nvccopts = nvccopts,
        # Reached through the select below, never by a wildcard.
        tags = ["manual"],
        deps = deps,
    )
    cc_library(
        name = name,
        srcs = select({
            "//third_party/cuda:enabled": [":%s_archive" % name],
            "//conditions:default": [],
        }),
        hdrs = hdrs,
        defines = select({
            "//third_party/cuda:enabled": ["FEEDRATE_CUDA=1"],
            "//conditions:default": [],
        }),
        linkstatic = True,
        visibility = visibility,
        deps = deps + select({
            "//third_party/cuda:enabled": ["@cuda//:cudart"],
            "//conditions:default": [],
        }),
    )
