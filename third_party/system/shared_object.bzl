"""A shared object that other programs load, such as Python."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _flag(flag):
    """The shared library for an archive of the distribution, which cannot be part
    of a shared object: its code may lie anywhere in a program only (PIE)."""
    if flag.startswith("-l:lib") and flag.endswith(".a"):
        return "-l" + flag[len("-l:lib"):-len(".a")]
    return flag

def _shared_object_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    libraries = []
    flags = ["-Wl,--version-script=" + ctx.file.exports.path, "-Wl,--as-needed"]
    for dep in ctx.attr.deps:
        for given in dep[CcInfo].linking_context.linker_inputs.to_list():
            libraries += given.libraries
            flags += [_flag(flag) for flag in given.user_link_flags]
    linked = cc_common.link(
        name = ctx.label.name,
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        output_type = "dynamic_library",
        linking_contexts = [cc_common.create_linking_context(
            linker_inputs = depset([cc_common.create_linker_input(
                owner = ctx.label,
                libraries = depset(libraries),
                user_link_flags = depset(flags),
                additional_inputs = depset([ctx.file.exports]),
            )]),
        )],
    )
    made = linked.library_to_link.resolved_symlink_dynamic_library
    return [DefaultInfo(
        files = depset([made]),
        runfiles = ctx.runfiles(files = [made]),
    )]

shared_object = rule(
    implementation = _shared_object_impl,
    doc = "libNAME.so of `deps`, which shows only the symbols that `exports` names.",
    attrs = {
        "deps": attr.label_list(mandatory = True, providers = [CcInfo]),
        "exports": attr.label(
            doc = "A version script of the linker.",
            mandatory = True,
            allow_single_file = True,
        ),
        "_cc_toolchain": attr.label(
            default = "@bazel_tools//tools/cpp:current_cc_toolchain",
        ),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
