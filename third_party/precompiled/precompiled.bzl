"""Headers that nearly every file includes, parsed once.

g++ spends most of its time on the headers of the standard library and of Abseil.
A precompiled header halves that. Each file still names what it uses: builds with
--define=precompiled=0 (sanitizers, fuzzers) do without, and fail where an include
is missing. g++ takes -O2 from the precompiled header even where -O3 is asked for,
so libraries with flags of their own do without as well.

What is still parsed per file is parsed once per library: g++ compiles the sources
of a library as one file, in half the time. Builds with --define=precompiled=0
compile them one by one.
"""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "ACTION_NAMES")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    output = ctx.actions.declare_file(ctx.file.header.basename + ".gch")
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        source_file = ctx.file.header.path,
        output_file = output.path,
        quote_include_directories = depset([".", ctx.bin_dir.path]),
        use_pic = True,
        user_compile_flags = (ctx.fragments.cpp.copts +
                              ctx.fragments.cpp.cxxopts + ctx.attr.copts),
    )
    flags = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = ACTION_NAMES.cpp_compile,
        variables = variables,
    )
    ctx.actions.run(
        mnemonic = "PrecompileHeader",
        progress_message = "Precompiling " + ctx.file.header.short_path,
        executable = cc_common.get_tool_for_action(
            feature_configuration = features,
            action_name = ACTION_NAMES.cpp_compile,
        ),
        arguments = ["-x", "c++-header"] + flags,
        inputs = depset(
            [ctx.file.header] + ctx.files.includes,
            transitive = [toolchain.all_files],
        ),
        outputs = [output],
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin"},
    )
    return [DefaultInfo(files = depset([output]))]

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    attrs = {
        "header": attr.label(allow_single_file = [".h"], mandatory = True),
        "includes": attr.label_list(allow_files = [".h"]),
        "copts": attr.string_list(),
        "_cc_toolchain": attr.label(
            default = Label("@bazel_tools//tools/cpp:current_cc_toolchain"),
        ),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def precompiled_copts(name):
    """Flags with which g++ finds `name`.h precompiled."""
    return select({
        "//third_party/precompiled:off": [],
        "//conditions:default": [
            "-include",
            "$(BINDIR)/third_party/precompiled/%s.h" % name,
            "-Winvalid-pch",
        ],
    })

def precompiled_deps(name):
    return select({
        "//third_party/precompiled:off": [],
        "//conditions:default": ["//third_party/precompiled:" + name],
    })

def joined_sources(name, srcs, renamed = []):
    """Sources that are compiled as one file, for a library `name`.

    Args:
      name: of the library; the file is NAME_joined.cc.
      srcs: sources, and headers that only they include.
      renamed: names that each source defines for itself alone.

    Returns:
      what cc_library takes as `srcs` and as `textual_hdrs`.
    """
    sources = [src for src in srcs if src.endswith(".cc")]
    if len(sources) < 2:
        return srcs, []
    joined = name + "_joined.cc"
    lines = []
    for i, source in enumerate(sources):
        lines += ["#define %s %s_%d" % (word, word, i) for word in renamed]
        lines.append('#include "%s/%s"' % (native.package_name(), source))
        lines += ["#undef " + word for word in renamed]
    native.genrule(
        name = name + "_joined",
        outs = [joined],
        cmd = "printf '%%s\\n' %s > $@" %
              " ".join(["'%s'" % line for line in lines]),
    )
    headers = [src for src in srcs if src not in sources]
    return select({
        "//third_party/precompiled:off": srcs,
        "//conditions:default": headers + [joined],
    }), select({
        "//third_party/precompiled:off": [],
        "//conditions:default": sources,
    })
