#!/usr/bin/env bash
# Installs the SAM tools (requirements.txt) into a virtual environment of their own, $HOLDFAST_TOOLS/sam. Quick when nothing
# has changed since the last time.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
tools=${HOLDFAST_TOOLS:-$root/.tools}
venv=$tools/sam
wanted=$root/infra/sam/requirements.txt

if [[ -x $venv/bin/sam ]] && cmp -s "$wanted" "$venv/installed.txt"; then
    exit 0
fi

# A distribution may ship Python without venv or its pip.
if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
    sudo=()
    [[ $(id -u) == 0 ]] || sudo=(sudo -n)
    if command -v apt-get >/dev/null && "${sudo[@]}" true 2>/dev/null; then
        echo "installing Python with venv"
        { "${sudo[@]}" apt-get update -qq && "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3 python3-venv; } >/dev/null
    else
        echo "Python 3.9 or later with its venv module is needed (on Debian and Ubuntu: python3-venv); install it and run this again" >&2
        exit 1
    fi
fi

echo "installing $(paste -sd ' ' "$wanted") into $venv; the first time takes a minute or two"
mkdir -p "$tools"
# The list is copied last, so that an interrupted run leaves nothing that looks installed.
rm -rf "$venv"
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-input -r "$wanted"
cp "$wanted" "$venv/installed.txt"
