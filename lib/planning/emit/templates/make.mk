# This campaign for GNU make, which may be stopped and started at any time:
#
#   make -jN       runs what is not done yet, N tasks at once. Tasks beside each
#                  other disturb each other's timings: N is 1 for real numbers
#   make collect   gathers the rows, says what is missing
#   make again     makes ready to run again what `collect` found missing

MAKEFLAGS += --keep-going
TASKS := $(sort $(patsubst tasks/%.jsonl,%,$(wildcard tasks/*.jsonl)))

.PHONY: all
all: $(TASKS:%=rows/%.jsonl)

# A script that is killed right after its rows have arrived must not take them
# with it: make deletes what it thinks is half-made.
.PRECIOUS: $(TASKS:%=rows/%.jsonl)

# Order only: rows are measured once, whatever happens to the dates of files.
rows/%.jsonl: | tasks/%.jsonl
	@./run_task.sh $*

.PHONY: collect
collect:
	@./check.sh

.PHONY: again
again:
	@./again.sh
