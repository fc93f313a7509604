"""A fuzz target in two lengths, from one LLVMFuzzerTestOneInput."""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_test")
load("//third_party/precompiled:precompiled.bzl", "test_sources")

def feedrate_fuzz_test(name, srcs, deps, corpus = [], data = [], mutations = 20000):
    """Declares the fuzzer `name` and the test `<name>_test`.

    The test runs everywhere, in every `make test`: it feeds the corpus and a few
    thousand seeded mutations of it. The fuzzer is libFuzzer with sanitizers, run
    by `make fuzz`, and is left out of wildcards because it needs clang.

    Args:
      name: of the libFuzzer program.
      srcs: one source that defines LLVMFuzzerTestOneInput and returns 0. A
        finding is a crash: use CHECK or abort.
      deps: what it includes.
      corpus: interesting inputs besides the table `<name>.cases` (its format:
        testdata/bad_inputs/BUILD) and the folder `<name>_corpus`.
      data: what it reads besides, by its path from the workspace's root, where
        `make fuzz` starts it.
      mutations: that the test tries; fewer where one takes milliseconds.
    """
    corpus = native.glob(
        [name + ".cases", name + "_corpus/*"],
        allow_empty = True,
    ) + corpus
    cc_binary(
        name = name,
        testonly = True,
        srcs = srcs,
        data = data,
        linkopts = ["-fsanitize=fuzzer"],
        linkstatic = True,
        tags = [
            "fuzz",
            "manual",
        ],
        deps = deps,
    )
    test_deps = deps + ["//third_party/fuzz:replay_main"]
    cc_test(
        name = name + "_test",
        srcs = test_sources(name + "_test", srcs, test_deps),
        args = ["--mutations=%d" % mutations] +
               ["$(locations %s)" % label for label in corpus],
        data = corpus + data,
        deps = test_deps,
    )
