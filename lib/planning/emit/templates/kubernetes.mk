# This campaign on Kubernetes. Its folder is on the volume of the claim, and this
# machine sees it too:
#
#   make submit    creates the jobs that are not there
#   make status    shows them
#   make collect   waits for them, gathers the rows, says what is missing
#   make resubmit  runs again what `collect` found missing, and nothing else
#   make cancel    deletes the jobs; rows so far are kept

SHELL := /bin/bash
KUBECTL ?= kubectl
WAIT ?= 24h
CAMPAIGN := $(shell . ./campaign.env && echo $$CAMPAIGN_ID)

.PHONY: submit
submit:
	@mkdir -p rows partial failed
	@$(KUBECTL) apply -f jobs

.PHONY: status
status:
	@$(KUBECTL) get jobs -l feedrate-campaign=$(CAMPAIGN)

# A failed job ends the wait for it as well; check.sh says what is missing.
.PHONY: collect
collect:
	@for job in $$($(KUBECTL) get jobs -l feedrate-campaign=$(CAMPAIGN) \
	    -o name); do \
	  $(KUBECTL) wait --timeout=$(WAIT) --for=condition=Complete $$job & done=$$!; \
	  $(KUBECTL) wait --timeout=$(WAIT) --for=condition=Failed $$job & failed=$$!; \
	  wait -n $$done $$failed; kill $$done $$failed 2>/dev/null; done; true
	@./check.sh

# Tasks that are done end at once.
.PHONY: resubmit
resubmit:
	@./again.sh
	@$(MAKE) --no-print-directory cancel submit

.PHONY: cancel
cancel:
	@$(KUBECTL) delete jobs -l feedrate-campaign=$(CAMPAIGN)
