"""A proto rule that calls the protoc of the distribution.

It needs nothing of the Bazel that runs it, so it serves every Bazel version.
"""

load("@rules_cc//cc:defs.bzl", "cc_library")
load("//third_party/precompiled:precompiled.bzl", "joined_sources", "precompiled_copts", "precompiled_deps")

def feedrate_proto_library(name, srcs, deps = [], visibility = None):
    """A C++ library of the messages in `srcs`.

    Also makes `<name>_descriptors`, the compiled schema with its comments, from
    which the reference pages under docs/ are written.

    Args:
      name: of the cc_library.
      srcs: the .proto files, imported by their path from the workspace root.
      deps: other feedrate_proto_library targets whose files are imported.
      visibility: of the cc_library and the descriptors.
    """
    dep_protos = [_sibling(dep, "_protos") for dep in deps]
    native.filegroup(
        name = name + "_protos",
        srcs = srcs + dep_protos,
        visibility = visibility,
    )
    stems = [src[:-len(".proto")] for src in srcs]
    native.genrule(
        name = name + "_gen",
        srcs = [":" + name + "_protos"],
        outs = [stem + ext for stem in stems for ext in [".pb.cc", ".pb.h"]],
        cmd = "protoc -I. --cpp_out=$(GENDIR) " +
              " ".join([native.package_name() + "/" + src for src in srcs]),
    )
    native.genrule(
        name = name + "_descriptors",
        srcs = [":" + name + "_protos"],
        outs = [name + ".descriptors.bin"],
        cmd = "protoc -I. --include_source_info --include_imports " +
              "--descriptor_set_out=$@ " +
              " ".join([native.package_name() + "/" + src for src in srcs]),
        visibility = visibility,
    )
    sources, joined = joined_sources(
        name,
        [stem + ".pb.cc" for stem in stems],
        renamed = ["file_default_instances", "schemas"],
    )
    cc_library(
        name = name,
        srcs = sources,
        hdrs = [stem + ".pb.h" for stem in stems],
        textual_hdrs = joined,
        # Warnings in protoc's output are not ours to fix. -O1 takes a third less
        # time to compile, and our JSON and text code uses reflection anyway.
        copts = [
            "-w",
            "-O1",
        ] + precompiled_copts,
        visibility = visibility,
        deps = deps + ["@system//:protobuf"] + precompiled_deps,
    )

def _sibling(label, suffix):
    if ":" in label:
        return label + suffix
    return label + ":" + label.split("/")[-1] + suffix
