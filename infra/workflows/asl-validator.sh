#!/bin/sh
# Prints the path of asl-validator, which checks definitions of Step Functions; installs it when it is missing, under $HOLDFAST_TOOLS,
# by default .tools in the repository. The folder is moved into place whole, so that an interrupted run leaves nothing that looks installed.
set -eu

version=4.0.0
here=$(cd "$(dirname "$0")" && pwd)
tools=${HOLDFAST_TOOLS:-$(cd "$here/../.." && pwd)/.tools}
folder=$tools/asl-validator-$version
binary=$folder/node_modules/.bin/asl-validator

if [ ! -e "$binary" ]; then
	if ! command -v npm >/dev/null 2>&1; then
		root=
		[ "$(id -u)" = 0 ] || root="sudo -n"
		if command -v apt-get >/dev/null 2>&1 && $root true 2>/dev/null; then
			echo "installing Node.js with npm" >&2
			{ $root apt-get update -qq && $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs npm; } >/dev/null
		else
			echo "asl-validator needs Node.js with npm (on Debian and Ubuntu: npm); install it and run this again" >&2
			exit 1
		fi
	fi
	mkdir -p "$tools"
	new=$(mktemp -d "$folder.XXXXXX")
	trap 'rm -rf "$new"' EXIT
	npm install --prefix "$new" --no-save --no-audit --no-fund --ignore-scripts --loglevel=error "asl-validator@$version" >&2
	mv -T "$new" "$folder" 2>/dev/null || [ -e "$binary" ] # somebody else may have been faster
fi
echo "$binary"
