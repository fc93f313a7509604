"""Every external repository of feedrate, for WORKSPACE and MODULE.bazel alike."""

load("//third_party/system:system_libraries.bzl", "system_libraries")

def feedrate_repositories():
    """Declares the repositories. Each looks at the machine only when used."""
    system_libraries(name = "system")
