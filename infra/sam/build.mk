# The targets that `sam build` calls, build-<LogicalId>, from one rule: build-ReserveTicketFunction compiles
# functions/*/reserve-ticket into the folder that SAM names. GOARCH is the architecture of the template; local-invoke.sh sets
# the machine's own.
GOARCH ?= arm64

# trimpath and buildvcs=false: the same source gives the same bytes, so only what changed is deployed. No cgo: the binary is
# static and does not care which libc the runtime has. lambda.norpc leaves out the protocol of the retired go1.x runtime.
LAMBDA_BUILD = CGO_ENABLED=0 GOOS=linux GOARCH=$(GOARCH) go build -trimpath -buildvcs=false -tags lambda.norpc -ldflags='-s -w'

build-%Function:
	@folder=$$(sh infra/sam/function-folder.sh '$*') && $(LAMBDA_BUILD) -o '$(ARTIFACTS_DIR)/bootstrap' "./$$folder"
