#!/usr/bin/env bash
# The body of `make validate`: both forms of sam validate on every template, asl-validator on every state machine, sam build and a look
# at what it built, and the assertions of this package on the expanded templates. Needs no credentials and, once the tools are there, no network.
set -euo pipefail
cd "$(dirname "$0")/../.."
export HOLDFAST_TOOLS=${HOLDFAST_TOOLS:-$PWD/.tools}
export SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=us-east-1 PYTHONDONTWRITEBYTECODE=1
goarch=${GOARCH:-arm64}
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT

say() { printf '== %s\n' "$*"; }

infra/sam/tools.sh
sh infra/workflows/asl-validator.sh >/dev/null
sam=$HOLDFAST_TOOLS/sam/bin/sam

# One job per template and form, as many at once as there are processors. The two forms find different mistakes.
check() {
    local template=$1 form=$2 out=$3/${1//\//_}$2
    if "$sam" validate --template "$template" $form >"$out" 2>&1; then
        printf '  ok      sam validate %s %s\n' "$template" "$form"
    else
        printf '  FAILED  sam validate %s %s\n' "$template" "$form"
        sed 's/^/          /' "$out"
        return 1
    fi
}
export -f check
export sam

templates=(template.yaml infra/stacks/*.yaml)
started=$SECONDS
say "sam validate, with and without --lint, on ${#templates[@]} templates"
for template in "${templates[@]}"; do
    printf '%s\0\0%s\0--lint\0' "$template" "$template"
done | xargs -0 -n 2 -P "$(nproc 2>/dev/null || echo 2)" bash -c 'check "$1" "$2" "$0"' "$log"
printf '  checked in %d s\n' $((SECONDS - started))

machines=(infra/workflows/*.asl.json)
say "asl-validator on ${#machines[@]} state machine(s)"
asl=$(sh infra/workflows/asl-validator.sh)
for machine in "${machines[@]}"; do
    "$asl" --json-path "$machine" >"$log/asl" 2>&1 || { printf '  FAILED  %s\n' "$machine"; sed 's/^/          /' "$log/asl"; exit 1; }
    printf '  ok      %s\n' "$machine"
done

say "sam build for $goarch"
started=$SECONDS
if ! GOARCH=$goarch "$sam" build --build-in-source >"$log/build" 2>&1; then
    cat "$log/build"
    exit 1
fi
printf '  built in %d s\n' $((SECONDS - started))
mapfile -t functions < <(awk '/^  [A-Za-z0-9]+:$/ { name = $1; sub(/:/, "", name) } /Type: AWS::Serverless::Function/ { print name }' template.yaml)
go run ./infra/sam/checkbuild .aws-sam/build "$goarch" "${functions[@]}"

say "assertions on the expanded templates"
go test -count=1 ./infra/sam/...
say "the templates are valid, and every function builds"
