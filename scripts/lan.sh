#!/usr/bin/env bash
# A LAN in one machine: hosts with an address, a D-Bus and an Avahi daemon of their own.
#
#   lan.sh can                 exit 0 if this machine can hold a lab, else say why not
#   lan.sh up N [OWNER]        make N hosts, print the lab's folder; gone when process OWNER ends
#   lan.sh exec K CMD…         run CMD on host K, in its home folder
#   lan.sh cut K | heal K      pull host K's cable, put it back (no packet says so to anybody)
#   lan.sh mute K J… | unmute K J…  lose what host K sends to hosts J, one way; put that right
#   lan.sh restart-avahi K     stop and start host K's avahi-daemon
#   lan.sh crash K             cut the power of host K: every process on it is killed
#   lan.sh down                end all processes of the lab and remove its folder
#
# All but `can` and `up` find the lab in $FLOTILLA_LAB. Host K has the address 10.77.0.K, the name
# hK and the home folder $FLOTILLA_LAB/hK/home. May be sourced: then use lan_up, lan_exec, ….
#
# Each host is a process that holds network, mount, host name and process namespaces. Nothing has
# a name outside of them, so labs never collide, and when that process dies the kernel ends
# everything on the host. Without root, all of it lives in a user namespace.

lan_script=$(readlink -f "${BASH_SOURCE[0]}")
PATH=$PATH:/usr/sbin:/sbin

lan_say() { printf 'lan.sh: %s\n' "$*" >&2; }

# The user namespace is only needed by people who are not root.
lan_new_user() { if ((EUID != 0)); then echo --user --map-root-user; fi; }
lan_join_user() { if ((EUID != 0)); then echo --user --preserve-credentials; fi; }

lan_can() {
  local tool
  for tool in ip unshare nsenter dbus-daemon avahi-daemon avahi-browse sqlite3 python3; do
    command -v "$tool" >/dev/null || {
      echo "$tool is not installed (make setup)"
      return 1
    }
  done
  # shellcheck disable=SC2046,SC2016
  unshare $(lan_new_user) --net --mount --uts --pid --fork sh -c \
    'mount -t proc proc /proc && mount -t tmpfs tmpfs /run && ip link add br0 type bridge' \
    >/dev/null 2>&1 || {
    echo "this machine lets $(id -un) make no network namespaces"
    return 1
  }
}

# The first process of the LAN and of each host: writes its id for those outside, then only waits
# and reaps. /proc is still the one of the outside when the id is read.
lan_hold() {
  local place=$1 kind=$2 pid
  read -r pid _ </proc/self/stat
  if [[ $kind == host ]]; then
    mount -t proc proc /proc && mount -t tmpfs tmpfs /run || exit 1
    # Shared memory is named by process ids, which hosts have in common.
    mount -t tmpfs tmpfs /dev/shm || exit 1
    mkdir -p -m 755 /run/dbus /run/avahi-daemon
    mkdir -p -m 700 /run/user
    mount --bind "${place%/*}/passwd" /etc/passwd && mount --bind "${place%/*}/group" /etc/group
    hostname "$(basename "$place")"
  fi
  echo "$pid" >"$place/pid.new" && mv "$place/pid.new" "$place/pid"
  while :; do
    sleep 3600 &
    wait $!
  done
}

# Waits up to ten seconds until the command given succeeds.
lan_until() {
  local i
  for ((i = 0; i < 200; i++)); do
    "$@" && return 0
    sleep 0.05
  done
  return 1
}

lan_pid() {
  cat "${FLOTILLA_LAB:?no lab: set FLOTILLA_LAB}/$1/pid" 2>/dev/null || {
    lan_say "there is no $1 in $FLOTILLA_LAB"
    return 1
  }
}

lan_enter_lan() {
  local pid
  pid=$(lan_pid lan) || return
  # shellcheck disable=SC2046
  nsenter -t "$pid" $(lan_join_user) --net --mount "$@"
}

lan_enter_host() {
  local k=$1 pid
  shift
  pid=$(lan_pid "h$k") || return
  # shellcheck disable=SC2046
  nsenter -t "$pid" $(lan_join_user) --net --mount --uts --pid "$@"
}

# Runs a command as if somebody had logged in on host K. FLOTILLA_BIN, if set, comes first in PATH.
lan_exec() {
  local k=$1 home=$FLOTILLA_LAB/h$1/home
  shift
  # shellcheck disable=SC2016
  lan_enter_host "$k" env HOME="$home" XDG_RUNTIME_DIR=/run/user HOSTNAME="h$k" \
    DBUS_SYSTEM_BUS_ADDRESS=unix:path=/run/dbus/system_bus_socket SWIFT_BACKTRACE=enable=no \
    PATH="${FLOTILLA_BIN:+$FLOTILLA_BIN:}/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin" \
    sh -c 'cd "$HOME" && exec "$@"' sh "$@"
}

lan_cut() { lan_enter_lan ip link set "v$1" down; }
lan_heal() { lan_enter_lan ip link set "v$1" up; }

# The addresses of the hosts given, one a line.
lan_addresses() {
  local j
  for j in "$@"; do
    lan_enter_host "$j" ip -o address show dev eth0 | awk '{ sub("/.*", "", $4); print $4 }'
  done
}

# What host K sends to the others goes to a hardware address that nobody has; what is sent to all
# (discovery) still arrives. "lladdr: the link layer address of the neighbour", "permanent: the
# neighbour entry is valid forever" (ip-neighbour(8)): no answer to a question for it changes it.
lan_mute() {
  local k=$1 address
  shift
  lan_addresses "$@" | while read -r address; do
    echo "neighbour replace $address lladdr 02:de:ad:00:00:01 nud permanent dev eth0"
  done | lan_enter_host "$k" ip -force -batch -
}

lan_unmute() {
  local k=$1 address
  shift
  lan_addresses "$@" | while read -r address; do
    echo "neighbour delete $address dev eth0"
  done | lan_enter_host "$k" ip -force -batch -
}

lan_write_settings() {
  cat >"$FLOTILLA_LAB/bus.conf" <<'END'
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>unix:path=/run/dbus/system_bus_socket</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/>
    <allow own="*"/>
    <allow send_destination="*" eavesdrop="true"/>
    <allow receive_sender="*"/>
  </policy>
</busconfig>
END
  cat >"$FLOTILLA_LAB/avahi.conf" <<'END'
[server]
use-ipv4=yes
use-ipv6=yes
allow-interfaces=eth0
enable-dbus=yes
[wide-area]
enable-wide-area=no
[publish]
publish-workstation=no
END
}

# avahi-daemon gives its run folder to the user avahi, whom a user namespace with one member does
# not know: on the lab's hosts, avahi is another name of root.
lan_write_users() {
  sed 's/^\(avahi:[^:]*\):[0-9]*:[0-9]*:/\1:0:0:/' /etc/passwd >"$FLOTILLA_LAB/passwd"
  sed 's/^\(avahi:[^:]*\):[0-9]*:/\1:0:/' /etc/group >"$FLOTILLA_LAB/group"
}

lan_start_avahi() {
  # shellcheck disable=SC2016
  lan_exec "$1" sh -c 'setsid avahi-daemon -f "$1" --no-drop-root --no-chroot --no-rlimits \
    >"$2" 2>&1 </dev/null &' sh "$FLOTILLA_LAB/avahi.conf" "$FLOTILLA_LAB/h$1/avahi.log"
}

lan_avahi_ready() {
  lan_until grep -qs 'Server startup complete' "$FLOTILLA_LAB/h$1/avahi.log" || {
    lan_say "avahi-daemon on host $1 does not start:"
    cat "$FLOTILLA_LAB/h$1/avahi.log" >&2
    return 1
  }
}

lan_restart_avahi() {
  # shellcheck disable=SC2016
  lan_exec "$1" sh -c 'p=$(cat /run/avahi-daemon/pid) && kill "$p" &&
    while kill -0 "$p" 2>/dev/null; do sleep 0.02; done'
  rm -f "$FLOTILLA_LAB/h$1/avahi.log"
  lan_start_avahi "$1" && lan_avahi_ready "$1"
}

# A namespace for the bridge, then one for each host, without a network yet.
lan_make_lan() {
  mkdir -p "$FLOTILLA_LAB/lan"
  # shellcheck disable=SC2046
  setsid unshare $(lan_new_user) --net --mount \
    bash "$lan_script" _hold "$FLOTILLA_LAB/lan" lan </dev/null >/dev/null 2>&1 &
  disown
  lan_until test -s "$FLOTILLA_LAB/lan/pid" || return
  lan_enter_lan ip link add br0 type bridge mcast_snooping 0 &&
    lan_enter_lan ip link set br0 up
}

lan_make_host() {
  local k=$1 place=$FLOTILLA_LAB/h$1
  mkdir -p "$place/home"
  # shellcheck disable=SC2046
  setsid nsenter -t "$(lan_pid lan)" $(lan_join_user) --net \
    unshare --net --mount --uts --pid --fork \
    bash "$lan_script" _hold "$place" host </dev/null >"$place/log" 2>&1 &
  disown
  lan_until test -s "$place/pid" || {
    cat "$place/log" >&2
    return 1
  }
  lan_enter_lan ip link add "v$k" type veth peer name eth0 netns "$(lan_pid "h$k")" &&
    lan_enter_lan ip link set "v$k" master br0 up || return
  # shellcheck disable=SC2016
  lan_exec "$k" sh -e -c '
    echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad 2>/dev/null || :
    ip link set lo up
    ip address add "10.77.0.$1/24" brd + dev eth0
    ip link set eth0 up
    ip route add default dev eth0
    dbus-daemon --config-file="$2" --fork --nopidfile' sh "$k" "$FLOTILLA_LAB/bus.conf" &&
    lan_start_avahi "$k"
}

# Makes the lab and sets FLOTILLA_LAB; everything is taken down again if a part of it fails.
lan_up() {
  local n=$1 owner=${2:-} k why
  [[ $n =~ ^[0-9]+$ ]] && ((n >= 1 && n <= 200)) || {
    lan_say "up needs a number of hosts from 1 to 200"
    return 2
  }
  why=$(lan_can) || {
    lan_say "$why"
    return 1
  }
  FLOTILLA_LAB=$(mktemp -d "${TMPDIR:-/tmp}/lan.XXXXXX") || return
  export FLOTILLA_LAB
  lan_write_settings
  lan_write_users
  if [[ -n $owner ]]; then
    setsid bash "$lan_script" _watch "$FLOTILLA_LAB" "$owner" </dev/null >/dev/null 2>&1 &
    disown
  fi
  { lan_make_lan && for ((k = 1; k <= n; k++)); do lan_make_host "$k" || break; done &&
    for ((k = 1; k <= n; k++)); do lan_avahi_ready "$k" || break; done && ((k > n)); } || {
    lan_say "could not make the lab"
    lan_down
    return 1
  }
}

# Ends the lab if the process that asked for it has ended without doing so.
lan_watch() {
  FLOTILLA_LAB=$1
  while kill -0 "$2" 2>/dev/null; do
    [[ -d $FLOTILLA_LAB ]] || exit 0
    sleep 1
  done
  lan_down
}

# True once a process has ended, whether or not its parent has taken notice.
lan_gone() {
  local state
  read -r _ _ state _ 2>/dev/null <"/proc/$1/stat" || return 0
  [[ $state == Z ]]
}

# Kills the holder in each folder given, and so everything in its namespaces. The folder's path in
# its arguments shows that the process id is still the one that was written down.
lan_kill() {
  local place pid pids=()
  for place in "$@"; do
    pid=$(cat "$place/pid" 2>/dev/null) || continue
    grep -qaF "$place" "/proc/$pid/cmdline" 2>/dev/null && kill -KILL "$pid" && pids+=("$pid")
    rm -f "$place/pid"
  done
  for pid in ${pids[@]+"${pids[@]}"}; do lan_until lan_gone "$pid"; done
}

lan_crash() { lan_kill "$FLOTILLA_LAB/h$1"; }

lan_down() {
  local hosts
  [[ -n ${FLOTILLA_LAB:-} && -e $FLOTILLA_LAB/bus.conf ]] || return 0
  hosts=("$FLOTILLA_LAB"/*/)
  lan_kill "${hosts[@]%/}"
  rm -rf "$FLOTILLA_LAB"
}

lan_main() {
  local command=${1:-help}
  shift
  case $command in
    can) lan_can ;;
    up) lan_up "$@" && echo "$FLOTILLA_LAB" ;;
    exec | cut | heal | mute | unmute | crash | down) "lan_$command" "$@" ;;
    restart-avahi) lan_restart_avahi "$@" ;;
    _hold) lan_hold "$@" ;;
    _watch) lan_watch "$@" ;;
    help | --help | -h) sed -n '2,/^$/s/^# \{0,1\}//p' "$lan_script" ;;
    *)
      lan_say "no such command: $command (lan.sh help)"
      return 2
      ;;
  esac
}

# What a lab leaves running must hold nothing of its caller's open: somebody may wait for its end.
lan_close_inherited() {
  local fd
  for fd in /proc/self/fd/*; do
    fd=${fd##*/}
    # 255 is this script.
    if ((fd > 2 && fd != 255)); then eval "exec $fd>&-"; fi
  done
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  set -u
  lan_close_inherited
  lan_main "$@"
fi
