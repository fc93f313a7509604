"""Every external repository of feedrate, for WORKSPACE and MODULE.bazel alike."""

load("//third_party/cuda:cuda_repository.bzl", "cuda_repository")
load("//third_party/system:system_libraries.bzl", "system_libraries")
load("//third_party/torch:torch.bzl", "torch_repository")

def feedrate_repositories():
    """Declares the repositories. Each looks at the machine only when used."""
    cuda_repository(name = "cuda")
    system_libraries(name = "system")
    torch_repository(name = "torch")
