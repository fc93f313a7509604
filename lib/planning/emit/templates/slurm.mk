# This campaign on Slurm:
#
#   make submit    submits what is neither done nor in the queue
#   make status    counts tasks: done, in the queue, to be submitted
#   make collect   waits for the queue, gathers the rows, says what is missing
#   make resubmit  submits again what `collect` found missing, and nothing else
#   make cancel    takes this campaign out of the queue; rows so far are kept

.PHONY: submit
submit:
	@./submit.sh

.PHONY: status
status:
	@./submit.sh --status

.PHONY: collect
collect:
	@./collect.sh

.PHONY: resubmit
resubmit:
	@./again.sh
	@./submit.sh

.PHONY: cancel
cancel:
	@./submit.sh --cancel
