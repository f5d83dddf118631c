#!/bin/sh
# Records the traces of this folder: sudo sh record.sh AIRWND-GUARD FOLDER-OF-CGROUP-VERSION-2
# Each is a download over 4 Mbit/s with an RTT of 20 ms, a queue of 2 MB, and losses, by this machine's kernel.
set -eu
guard=$1 cgroup=$2/airwnd-record-$$ folder=$(cd "$(dirname "$0")" && pwd)
mkdir "$cgroup"
trap 'rmdir "$cgroup"' EXIT
record() {
	airwnd link --rate 4Mbit --delay 10ms --queue 2MB --loss 0.2% --quiet -- sh -c '
		echo $$ > "$2/cgroup.procs"
		"$1" --cgroup "$2" --rwnd "$3" --record "$4" 2> /dev/null & guard=$!
		sleep 1
		timeout 3.5 curl -4 -s -o /dev/null http://server/stream
		kill $guard && wait $guard' sh "$guard" "$cgroup" "$2" "$folder/$1.record"
}
record drwa '{kind = "drwa", lambda = 1.5}'
record dfcsd '{kind = "dfcsd", update = "step"}'
record rledbat rledbat
