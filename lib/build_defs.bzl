"""Rules for a library with its test, and for a program."""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")
load("//third_party/precompiled:precompiled.bzl", "joined_sources", "precompiled_copts", "precompiled_deps", "test_sources")

def feedrate_library(
        name,
        deps = [],
        srcs = None,
        hdrs = None,
        whole_folder = False,
        without = [],
        test_deps = [],
        test_data = [],
        test_size = "small",
        test_tags = [],
        copts = [],
        **kwargs):
    """A cc_library of NAME.h and NAME.cc, and a cc_test of NAME_test.cc.

    Each file is optional: a library may be only a header, and without
    NAME_test.cc, or after feedrate_tests, there is no test.

    Args:
      name: of the library; the test is NAME_test.
      deps: of the library.
      srcs: instead of NAME.cc.
      hdrs: instead of NAME.h.
      whole_folder: all sources and headers of the folder are the library, beside
        `srcs`, but for tests, fuzzers and benchmarks.
      without: other files of the folder that are not, by name without ending.
      test_deps: of the test, beside the library and gtest_main.
      test_data: files that the test reads.
      test_size: Bazel's size of the test, for its time limit.
      test_tags: Bazel's tags of the test.
      copts: of the library. With flags of its own it does without the
        precompiled header, which was compiled with others.
      **kwargs: anything else that cc_library takes.
    """
    textual_hdrs = kwargs.pop("textual_hdrs", [])
    if whole_folder:
        others = ["*_test.cc", "*_fuzz.cc", "*_benchmark.cc"]
        others += [other + ".cc" for other in without]
        srcs = native.glob(["*.cc"], exclude = others) + (srcs or [])
        hdrs = native.glob(["*.h"], exclude = [o + ".h" for o in without])
    if srcs == None:
        srcs = native.glob([name + ".cc"], allow_empty = True)
    elif not copts:
        srcs, joined = joined_sources(name, srcs)
        textual_hdrs = textual_hdrs + joined
    cc_library(
        name = name,
        srcs = srcs,
        hdrs = native.glob([name + ".h"], allow_empty = True) if hdrs == None else hdrs,
        textual_hdrs = textual_hdrs,
        copts = copts or precompiled_copts,
        deps = deps + ([] if copts else precompiled_deps),
        **kwargs
    )
    if (native.existing_rule("tests") == None and
        native.glob([name + "_test.cc"], allow_empty = True)):
        feedrate_test(
            name = name + "_test",
            size = test_size,
            srcs = [name + "_test.cc"],
            data = test_data,
            tags = test_tags,
            deps = [":" + name] + test_deps,
        )

def feedrate_test(name, srcs, deps, main = "@system//:gtest_main", **kwargs):
    """A cc_test of sources that are compiled as one file, by clang.

    Args:
      name: of the test.
      srcs: its sources.
      deps: of the test, beside `main`.
      main: the library with main().
      **kwargs: anything else that cc_test takes.
    """
    cc_test(
        name = name,
        srcs = test_sources(name, srcs, deps + [main]),
        deps = deps + [main],
        **kwargs
    )

def feedrate_tests(deps, size = "small", srcs = None, **kwargs):
    """One test, `tests`, of all *_test.cc of a folder.

    Stands before the libraries of the BUILD file, which then declare no tests of
    their own.

    Args:
      deps: of the tests, beside that with main().
      size: Bazel's size of the test, for its time limit.
      srcs: instead of all *_test.cc.
      **kwargs: anything else that feedrate_test takes.
    """
    feedrate_test(
        name = "tests",
        size = size,
        srcs = srcs or native.glob(["*_test.cc"]),
        deps = deps,
        **kwargs
    )

def feedrate_binary(name, deps = [], **kwargs):
    """A cc_binary for which third_party/precompiled/prelude.h is precompiled."""
    cc_binary(
        name = name,
        copts = precompiled_copts,
        deps = deps + precompiled_deps,
        **kwargs
    )

def feedrate_program(name, srcs = ["main.cc"], deps = [], tags = [], **kwargs):
    """A feedrate_binary whose main() can be one of many in an executable.

    NAME_main is a library with the function feedrate_main_NAME.

    Args:
      name: of the program.
      srcs: its sources.
      deps: of the sources.
      tags: of the targets.
      **kwargs: anything else that cc_binary takes.
    """
    main = "feedrate_main_" + name
    renamed = name + "_main.h"
    native.genrule(
        name = name + "_renamed",
        outs = [renamed],
        cmd = "echo '#define main %s' > $@" % main,
        tags = tags,
    )
    cc_library(
        name = name + "_main",
        srcs = srcs + [renamed],
        # After the precompiled header, which is for files that define nothing.
        copts = precompiled_copts +
                ["-include", "$(BINDIR)/%s/%s" % (native.package_name(), renamed)],
        tags = tags,
        visibility = ["//tools/programs:__pkg__"],
        deps = deps + precompiled_deps,
    )
    native.genrule(
        name = name + "_entry",
        outs = [name + "_entry.cc"],
        cmd = "echo 'int %s(int, char**); int main(int argc, char** argv) " % main +
              "{ return %s(argc, argv); }' > $@" % main,
        tags = tags,
    )
    cc_binary(
        name = name,
        srcs = [name + "_entry.cc"],
        tags = tags,
        deps = [":" + name + "_main"],
        **kwargs
    )

def feedrate_programs(name, programs, **kwargs):
    """An executable with many programs, each of which is a feedrate_program.

    Args:
      name: of the executable.
      programs: their labels.
      **kwargs: anything else that cc_binary takes.
    """
    names = [program.split(":")[-1].split("/")[-1] for program in programs]
    native.genrule(
        name = name + "_table",
        outs = [name + "_table.inc"],
        cmd = "printf 'PROGRAM(%%s)\\n' %s > $@" % " ".join(names),
    )
    cc_binary(
        name = name,
        srcs = [
            "programs.cc",
            name + "_table.inc",
        ],
        copts = ['-DTABLE=\\"%s/%s_table.inc\\"' % (native.package_name(), name)],
        deps = [
            (program if ":" in program else program + ":" + program.split("/")[-1]) + "_main"
            for program in programs
        ] + ["//lib/base:confinement"],
        **kwargs
    )
