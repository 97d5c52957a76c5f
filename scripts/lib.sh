# shellcheck shell=bash disable=SC2034
# What the set-up scripts share; sourced, never run.

set -euo pipefail

# A non-login root shell may lack these, and dockerd, iptables and mmdebstrap live there.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export LC_ALL=C.UTF-8

scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
me=$(basename "$0")

# macOS has no timeout.
command -v timeout >/dev/null || timeout() { shift && "$@"; }

say() { printf '%s: %s\n' "$me" "$*"; }
die() { printf '%s: %s\n' "$me" "$1" >&2; shift; [ $# -eq 0 ] || printf '  %s\n' "$@" >&2; exit 1; }

# only_once lets one run of this script through at a time; the others wait.
# Whatever outlives the script must be started with 9>&-, else it keeps the lock.
only_once() {
    command -v flock >/dev/null || return 0 # macOS has none; there nothing gets installed
    local dir=/run/lock
    [ -w "$dir" ] || dir=${XDG_RUNTIME_DIR:-/tmp}
    exec 9>"$dir/mcp-sandbox-$me-$(id -u).lock"
    flock -w 900 9 || die "another $me has been running for 15 minutes"
}

# can_apt says whether this script may install packages: root, on Debian or Ubuntu.
can_apt() {
    [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null &&
        grep -Eqs '^ID(_LIKE)?=.*(debian|ubuntu)' /etc/os-release
}

# apt_install installs packages unless all are there; its output shows only when it fails.
apt_install() {
    dpkg --status "$@" 2>/dev/null | grep -c '^Status: install ok installed' | grep -qx $# && return
    say "installing $* …"
    local log
    log=$(mktemp)
    # A third-party source that cannot be reached must not stop the install from the others.
    apt_quiet update >"$log" 2>&1 || true
    apt_quiet install --no-install-recommends "$@" >>"$log" 2>&1 ||
        { tail -n 30 "$log" >&2; rm -f "$log"; die "apt-get could not install: $*"; }
    rm -f "$log"
}

# Another apt (unattended-upgrades, say) may hold dpkg's lock: wait for it, but not for ever.
apt_quiet() {
    DEBIAN_FRONTEND=noninteractive timeout 600 \
        apt-get -qy -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3 "$@" </dev/null 9>&-
}

docker_answers() { timeout 10 docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }

have_image() { docker image inspect "$1" >/dev/null 2>&1; }

# wait_until polls a command: wait_until SECONDS COMMAND…
wait_until() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $deadline ] || return 1
        sleep 0.2
    done
}
