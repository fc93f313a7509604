"""The repositories of feedrate for MODULE.bazel, see repositories.bzl."""

load("//third_party:repositories.bzl", "feedrate_repositories")

def _feedrate_impl(_module_ctx):
    feedrate_repositories()

feedrate = module_extension(implementation = _feedrate_impl)
