#!/usr/bin/env bash
# The body of `make local-invoke`: builds create-orders for this machine with `sam build`, runs it once with `sam local invoke` in a
# container, against a Redis and a MariaDB started for it, and checks that the order of its event stands in both.
# With --if-docker a missing Docker daemon is said and is no failure.
set -euo pipefail
cd "$(dirname "$0")/../.."
export HOLDFAST_TOOLS=${HOLDFAST_TOOLS:-$PWD/.tools}
export SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=us-east-1 PYTHONDONTWRITEBYTECODE=1
function=CreateOrdersFunction
image=holdfast/provided:al2023
out=.aws-sam/local

say() { printf '== %s\n' "$*"; }

if ! docker info >/dev/null 2>&1; then
    say "no Docker daemon answers, so nothing can run in a container"
    echo "   Start it (systemctl start docker; without systemd: dockerd &) or install it (Debian, Ubuntu: apt-get install docker.io),"
    echo "   see that 'docker info' works for this user, and run 'make local-invoke' again."
    [[ ${1:-} == --if-docker ]] && exit 0
    exit 1
fi
if [[ $(uname -s) != Linux ]]; then
    say "this needs a Docker that runs on Linux itself: the container reaches the servers by the bridge's address"
    [[ ${1:-} == --if-docker ]] && exit 0
    exit 1
fi
case $(uname -m) in
    x86_64) goarch=amd64 architecture=x86_64 ;;
    aarch64 | arm64) goarch=arm64 architecture=arm64 ;;
    *) echo "Lambda knows no $(uname -m)" >&2; exit 1 ;;
esac

infra/sam/tools.sh
python=$HOLDFAST_TOOLS/sam/bin/python
sam=$HOLDFAST_TOOLS/sam/bin/sam

# Nothing is pulled: the binary is static, and all that SAM itself needs of an image is a shell with mv and chmod.
if ! docker image inspect "$image" >/dev/null 2>&1; then
    say "the image $image, of busybox"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    if ! command -v apt-get >/dev/null; then
        echo "the image is made of Debian's busybox-static, and this system has no apt-get; import one as $image yourself" >&2
        exit 1
    fi
    (cd "$work" && apt-get download busybox-static >apt.log 2>&1 || { apt-get update >>apt.log 2>&1 && apt-get download busybox-static >>apt.log 2>&1; } || { cat apt.log >&2; exit 1; })
    dpkg -x "$work"/busybox-static*.deb "$work/unpacked"
    mkdir -p "$work"/image/{bin,etc/ssl/certs,var/task,var/runtime,opt,tmp}
    cp "$(find "$work/unpacked" -path "*/bin/busybox" -type f)" "$work/image/bin/busybox"
    for applet in sh mv chmod cp rm ls cat mkdir env sleep; do ln -s busybox "$work/image/bin/$applet"; done
    if [[ -f /etc/ssl/certs/ca-certificates.crt ]]; then cp /etc/ssl/certs/ca-certificates.crt "$work/image/etc/ssl/certs/"; fi
    tar -C "$work/image" -c . | docker import -c 'WORKDIR /var/task' -c 'ENV LAMBDA_TASK_ROOT=/var/task' - "$image" >/dev/null
fi

say "sam build $function for $architecture"
mkdir -p "$out"
"$python" infra/sam/local_template.py "$function" "$architecture" >"$out/template.json"
if ! GOARCH=$goarch "$sam" build --template "$out/template.json" --base-dir "$PWD" --build-dir "$out/build" --build-in-source >"$out/build.log" 2>&1; then
    cat "$out/build.log"
    exit 1
fi
go run ./infra/sam/checkbuild "$out/build" "$goarch" "$function"

bridge=$(docker network inspect bridge --format '{{index .Options "com.docker.network.bridge.name"}}')
go run ./infra/sam/localinvoke -sam "$sam" -template "$out/build/template.yaml" -image "$image" -bridge "$bridge"
say "the function ran in its container, reached both stores, and the order is in both"
