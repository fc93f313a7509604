# The targets you type. Each one does its own set-up first; JOBS=N limits how
# much runs at once, everywhere.

SHELL := /bin/bash
.DEFAULT_GOAL := help
export JOBS

# Seconds that each fuzzer runs: 600 in `make fuzz`, 60 in `make test-full`.
export FUZZ_SECONDS

.PHONY: help
help: ## List these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | \
	  while IFS=$$'\t' read -r name text; do \
	    printf '  make %-12s %s\n' "$$name" "$$text"; done

.PHONY: setup
setup: ## Install what is missing for building and testing
	@dev/setup.sh build dev

.PHONY: demo
demo: ## Build, measure libraries and a loader on synthetic data, print tables
	@dev/demo.sh

.PHONY: demo-full
demo-full: ## The same with torch, torchvision and Kornia (5 GB)
	@dev/demo.sh configs/demo_full.textproto configs/demo_pipeline_full.textproto

.PHONY: demo-video
demo-video: ## Clips: decoders, transforms and loaders on synthetic videos
	@dev/demo_video.sh

.PHONY: reproduce-ranking
reproduce-ranking: ## Hold ratios between libraries against the published ones
	@dev/setup.sh build dev
	@GROUPS_WANTED="" dev/envs.sh >/dev/null
	@dev/bazel.sh build --show_result=0 //tools/micro
	@tools/micro/reproduce_ranking.py

.PHONY: paper-smoke
paper-smoke: ## The paper from plan to claims on 8 items (docs/paper.md)
	@dev/setup.sh build dev
	@dev/paper_smoke.sh

.PHONY: build
build: ## Build everything
	@dev/setup.sh build dev
	@dev/bazel.sh build //...

.PHONY: test
test: ## Guards a change, as CI does; ends with "N passed, N failed"
	@dev/test.sh

.PHONY: test-full
test-full: ## Guards a release: also sanitizers, fuzzers, Slurm, bundles
	@dev/test.sh --full

.PHONY: test-slurm
test-slurm: ## Campaigns on a real Slurm, started and stopped here (root)
	@dev/checks/slurm_test.sh

.PHONY: fuzz
fuzz: ## Fuzz each reader for FUZZ_SECONDS (600)
	@dev/setup.sh build dev full
	@dev/fuzz.sh

# Kinds or sources of dev/foreign/sources.py: ONLY="tars golang-1.19".
ONLY ?=

.PHONY: foreign
foreign: ## Read what other projects wrote, beside reference readers; ONLY="images"
	@dev/setup.sh build dev
	@dev/foreign.sh $(ONLY)

.PHONY: bundle
bundle: ## Relocatable folder and tarball in dist/; TOOLS="plan micro" CUDA=1 ARCH=…
	@dev/setup.sh build dev $(if $(ARCH),"cross-$$(uname -m)")
	@dev/bundle.sh $(TOOLS)

.PHONY: wheel
wheel: ## Wheels for pip in dist/, for both processors; ARCHS=x86_64 picks
	@dev/setup.sh build dev "cross-$$(uname -m)"
	@dev/wheel.sh $(ARCHS)

.PHONY: release
release: ## Wheels, tarballs, .deb files, SHA256SUMS and notes in dist/release
	@dev/setup.sh build dev "cross-$$(uname -m)"
	@dev/torch.sh >/dev/null
	@dev/release.sh $(ARCHS)

.PHONY: format
format: ## Format C++, CUDA, proto and Python in place
	@dev/setup.sh dev
	@dev/format.sh

.PHONY: lint
lint: ## clang-tidy on changed files, shellcheck, ruff, BUILD conventions
	@dev/setup.sh build dev
	@dev/lint.sh

.PHONY: compile-commands
compile-commands: ## compile_commands.json for clangd, clang-tidy and editors
	@dev/setup.sh build dev
	@dev/compile_commands.sh

.PHONY: completions
completions: ## Shell completions for bash, zsh and fish in dist/completions
	@dev/setup.sh build
	@dev/completions.sh dist/completions

.PHONY: docs
docs: ## Regenerate the generated pages under docs/
	@dev/setup.sh build
	@dev/bazel.sh run //docs:generate

# Which environments `make envs` makes: a folder under configs/requirements, and
# groups of it (all).
ENV_SET ?= paper
GROUPS ?=

.PHONY: envs
envs: ## Python environments of the libraries; ENV_SET=current, GROUPS="pillow"
	@dev/setup.sh dev
	@ENV_SET="$(ENV_SET)" GROUPS_WANTED="$(GROUPS)" dev/envs.sh

.PHONY: equivalence
equivalence: ## Measure docs/equivalence.md again (after make envs, make torch)
	@dev/studies/equivalence.sh

.PHONY: torch
torch: ## Fetch libtorch for C++ on a CPU into the user's cache (440 MB)
	@dev/setup.sh build dev
	@dev/torch.sh

.PHONY: study-mixture
study-mixture: ## Compare settings of a mixture: takeaways, figures, a training
	@dev/setup.sh build dev
	@dev/studies/study_mixture.sh

.PHONY: gpu-bundle
gpu-bundle: ## A bundle with all GPU tests and benches, for x86-64, in dist/gpu
	@dev/gpu_bundle.sh

.PHONY: perf-gate
perf-gate: ## Train, evaluate, compare with the baseline (after make torch)
	@dev/setup.sh build dev
	@dev/perf_gate.sh

# The project that `make ci-workflow` writes into, and flags of
# dev/ci_workflow.py: FLAGS="--bundle=URL --command='./bench --json'".
PROJECT ?= .
FLAGS ?=

.PHONY: ci-workflow
ci-workflow: ## GitHub workflow for PROJECT=FOLDER; FLAGS="--command=… --bundle=…"
	@dev/ci_workflow.py $(FLAGS) \
	  --output=$(PROJECT)/.github/workflows/performance.yml

.PHONY: clean
clean: ## Remove what the other targets made in this checkout
	@rm -rf dist
	@if command -v bazel >/dev/null; then bazel clean; fi
