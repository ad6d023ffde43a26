#!/bin/sh
# Prints the folder of a function named by the first part of its logical id: ReserveTicket -> functions/api/reserve-ticket.
set -eu
name=$(printf '%s\n' "$1" | awk '{ gsub(/[A-Z]/, "-&"); print tolower(substr($0, 2)) }')
found=''
for folder in functions/*/"$name"; do
    [ -d "$folder" ] || continue
    [ -z "$found" ] || { echo "two folders are named $name: $found and $folder" >&2; exit 1; }
    found=$folder
done
[ -n "$found" ] || { echo "no folder functions/*/$name for $1Function" >&2; exit 1; }
printf '%s\n' "$found"
