"""Headers that nearly every file includes, parsed once.

g++ spends most of its time on the headers of the standard library and of Abseil.
A precompiled header halves that. Each file still names what it uses: builds with
--define=precompiled=0 (sanitizers, fuzzers) do without, and fail where an include
is missing. g++ takes -O2 from the precompiled header even where -O3 is asked for,
so libraries with flags of their own do without as well.

What is still parsed per file is parsed once per library: g++ compiles the sources
of a library as one file, in half the time. Clang compiles the tests, without
optimization, in half the time that g++ takes. Builds with --define=precompiled=0
compile files one by one, and tests with the compiler of everything else.
"""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "ACTION_NAMES")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")

_ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin"}

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
                              ctx.fragments.cpp.cxxopts),
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
        inputs = depset([ctx.file.header], transitive = [toolchain.all_files]),
        outputs = [output],
        env = _ENV,
    )
    return [DefaultInfo(files = depset([output]))]

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    attrs = {
        "header": attr.label(allow_single_file = [".h"], mandatory = True),
        "_cc_toolchain": attr.label(
            default = Label("@bazel_tools//tools/cpp:current_cc_toolchain"),
        ),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

# Flags with which g++ finds prelude.h precompiled, and the library that has it.
precompiled_copts = select({
    "//third_party/precompiled:off": [],
    "//conditions:default": [
        "-include",
        "$(BINDIR)/third_party/precompiled/prelude.h",
        "-Winvalid-pch",
    ],
})
precompiled_deps = select({
    "//third_party/precompiled:off": [],
    "//conditions:default": ["//third_party/precompiled:prelude"],
})

def _clang_flags(ctx):
    """As .bazelrc has them for tests."""
    modes = {"dbg": ["-g"], "opt": ["-DNDEBUG"]}
    return (modes.get(ctx.var["COMPILATION_MODE"], []) +
            ["-O0", "-fPIC", "-Wno-unused-command-line-argument"] +
            ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts)

def _clang_precompiled_impl(ctx):
    output = ctx.actions.declare_file(ctx.label.name + ".pch")

    # From standard input: clang would write the absolute path of a header, in this
    # action's sandbox, into the output, and look for it there.
    ctx.actions.run_shell(
        mnemonic = "PrecompileHeader",
        progress_message = "Precompiling " + ctx.label.name + ".h",
        command = """
command -v clang++ >/dev/null ||
  { echo "no clang++, which compiles tests; run: make setup" >&2; exit 1; }
cat %s | clang++ "$@" -o %s""" % (
            " ".join([src.path for src in ctx.files.srcs]),
            output.path,
        ),
        arguments = _clang_flags(ctx) +
                    ["-Xclang", "-fno-pch-timestamp", "-fpch-instantiate-templates"] +
                    ["-x", "c++-header", "-"],
        inputs = ctx.files.srcs,
        outputs = [output],
        env = _ENV,
    )
    return [DefaultInfo(files = depset([output]))]

clang_precompiled = rule(
    doc = "Headers, one after the other, as clang takes them precompiled.",
    implementation = _clang_precompiled_impl,
    attrs = {"srcs": attr.label_list(allow_files = [".h"])},
    fragments = ["cpp"],
)

# Compiles, and lists the headers that Bazel knows and the source does not include:
# a change of those does not compile it again.
_CLANG = """
headers=$1 unused=$2
shift 2
clang++ "$@" -MD -MF "$unused.d" || exit
tr -s ' \\\\\\n' '\\n' <"$unused.d" | sed 's|^\\./||' |
  grep -vxFf - "$headers" >"$unused" || test $? = 1
"""

def _clang_object_impl(ctx):
    context = cc_common.merge_cc_infos(
        cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
    ).compilation_context
    output = ctx.actions.declare_file(ctx.label.name + ".o")
    unused = ctx.actions.declare_file(ctx.label.name + ".unused")
    headers = ctx.actions.args()
    headers.add_all(context.headers)
    headers.set_param_file_format("multiline")
    headers.use_param_file("%s", use_always = True)
    flags = ctx.actions.args()
    flags.add(unused)
    flags.add_all(_clang_flags(ctx))
    flags.add_all(["-iquote", ".", "-iquote", ctx.bin_dir.path])
    flags.add_all(context.defines, before_each = "-D")
    flags.add_all(context.includes, before_each = "-I")
    flags.add_all(context.quote_includes, before_each = "-iquote")
    flags.add_all(context.system_includes, before_each = "-isystem")
    flags.add("-include-pch", ctx.file.precompiled)
    flags.add("-c", ctx.file.source)
    flags.add("-o", output)
    ctx.actions.run(
        mnemonic = "CompileTest",
        progress_message = "Compiling " + ctx.file.source.short_path,
        executable = "/bin/bash",
        arguments = ["-c", _CLANG, "clang", headers, flags],
        inputs = depset(
            [ctx.file.source, ctx.file.precompiled] + ctx.files.textual_hdrs,
            transitive = [context.headers],
        ),
        outputs = [output, unused],
        unused_inputs_list = unused,
        env = _ENV,
    )
    return [DefaultInfo(files = depset([output]))]

clang_object = rule(
    doc = "One source, and what it includes, compiled by clang.",
    implementation = _clang_object_impl,
    attrs = {
        "source": attr.label(allow_single_file = [".cc"], mandatory = True),
        "textual_hdrs": attr.label_list(allow_files = True),
        "deps": attr.label_list(providers = [CcInfo]),
        "precompiled": attr.label(
            allow_single_file = [".pch"],
            default = "//third_party/precompiled:test_prelude",
        ),
    },
    fragments = ["cpp"],
)

def _join(name, sources, renamed = []):
    """The file NAME_joined.cc, which includes the sources."""
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
    return joined

def test_sources(name, srcs, deps):
    """What cc_test takes as `srcs` for a test of sources that clang compiles.

    Args:
      name: of the test.
      srcs: its sources, compiled as one file.
      deps: of the test.

    Returns:
      a value for `srcs`.
    """
    clang_object(
        name = name + "_object",
        testonly = True,
        source = _join(name, srcs) if len(srcs) > 1 else srcs[0],
        textual_hdrs = srcs,
        # So that //... does not compile it where no test uses it.
        tags = ["manual"],
        deps = deps,
    )
    return select({
        "//third_party/precompiled:cross": srcs,
        "//third_party/precompiled:off": srcs,
        "//conditions:default": [":%s_object" % name],
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
    joined = _join(name, sources, renamed)
    headers = [src for src in srcs if src not in sources]
    return select({
        "//third_party/precompiled:off": srcs,
        "//conditions:default": headers + [joined],
    }), select({
        "//third_party/precompiled:off": [],
        "//conditions:default": sources,
    })
