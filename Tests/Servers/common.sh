# What the servers have in common; sourced by `start` and `stop`. POSIX sh, Linux.
servers=$(cd "$(dirname "$0")" && pwd)
checkout=$(cd "$servers/../.." && pwd)
cache=${LFS_SERVER_CACHE:-$checkout/.build/servers}
case $cache in
/*) ;;
*) cache=$PWD/$cache ;;
esac
accessKey="lfs-tests"
secretKey="only-for-tests-on-loopback"
region="us-east-1"

say() { echo "$*" >&2; }

# locked FILE COMMAND...: one at a time, also among checkouts.
locked() {
    lock=$1
    shift
    (
        flock 9
        "$@" 9>&-
    ) 9>"$lock"
}

# need_packages PACKAGE...: Debian packages. A daemon that comes with one is not left running.
need_packages() { locked "${TMPDIR:-/tmp}/lfs-install.$(id -u).lock" install_packages "$@"; }
install_packages() {
    missing=""
    for daemon in /usr/bin/memcached /usr/sbin/pgbouncer; do
        [ -x $daemon ] || missing="$missing $daemon"
    done
    "$checkout/Tests/install-tools" "$@" || return
    for daemon in $missing; do
        if [ -x "$daemon" ] && [ -d /run/systemd/system ]; then
            $([ "$(id -u)" = 0 ] || echo sudo) systemctl --quiet disable --now "${daemon##*/}"
        fi
    done
}

# need_python NAME REQUIREMENT...: a virtual environment $cache/NAME with exactly these requirements.
need_python() {
    mkdir -p "$cache"
    locked "$cache/$1.lock" install_python "$@"
}
install_python() {
    environment=$cache/$1
    shift
    [ "$(cat "$environment/requirements" 2>/dev/null)" != "$*" ] || return 0
    say "Installing $*"
    rm -rf "$environment"
    python3 -m venv "$environment" &&
        "$environment/bin/pip" install --quiet --disable-pip-version-check "$@" >&2 &&
        echo "$*" >"$environment/requirements"
}

# take_ports NAME...: sets each variable to a free port, and $ports to all of them.
take_ports() {
    ports=$("$servers/ports" free $#) || return
    # shellcheck disable=SC2086  # a list of numbers
    for port in $ports; do
        eval "$1=$port"
        shift
    done
}

# started PROCESS: when it was started; nothing if there is none.
started() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

# launch LOG COMMAND...: runs the command in $folder and in a session of its own. Notes "PID START", so that a process
# id that was used again is never taken for ours.
launch() {
    log=$folder/$1.log
    shift
    (cd "$folder" && exec setsid "$@") >"$log" 2>&1 </dev/null &
    echo "$! $(started $!)" >>"$folder/processes"
}

# runs PROCESS: whether it or another of its group lives. A zombie does not, whatever kill -0 says of it.
runs() {
    cat /proc/[0-9]*/stat 2>/dev/null | sed 's/^\([0-9]*\) .*) /\1 /' |
        awk -v process="$1" '($1 == process || $4 == process) && $2 !~ /[ZX]/ { found = 1 } END { exit !found }'
}

# ours: the processes that were launched here and still run, each with its group.
ours() {
    [ -f "$folder/processes" ] || return 0
    while read -r process start; do
        now=$(started "$process")
        [ -z "$now" ] || [ "$now" = "$start" ] || continue
        if runs "$process"; then echo "$process"; fi
    done <"$folder/processes"
}

# A process that was only just launched has no group of its own yet.
signal_ours() {
    for process in $(ours); do
        kill -s "$1" -- "-$process" 2>/dev/null || kill -s "$1" "$process" 2>/dev/null || true
    done
}

# stop_server: TERM, and KILL after two seconds: the data is made to be thrown away. Then removes the files and folders
# that are named in $folder/leftovers.
stop_server() {
    signal_ours TERM
    tries=20
    while [ $tries -gt 0 ] && [ -n "$(ours)" ]; do
        sleep 0.1
        tries=$((tries - 1))
    done
    while [ -n "$(ours)" ]; do
        signal_ours KILL
        sleep 0.1
    done
    rm -f "$folder/processes"
    [ ! -f "$folder/leftovers" ] || xargs rm -rf <"$folder/leftovers"
}
