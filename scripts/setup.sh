#!/usr/bin/env bash
# Installs what building, testing and the demo need and this machine lacks: Debian packages, as
# root or through sudo. Says what is missing where it can do neither. Quick if nothing is missing.
#
#   setup.sh [PROGRAM…]    also these, each in the package of its name
set -u
PATH=$PATH:/usr/sbin:/sbin

swift_wanted=6.2

# Package, and a command or file (with shell pattern) that shows that it is there. The first are
# what Swift itself does not bring: a linker, the C and C++ libraries, those of its own programs.
needs='
g++                 g++
libc6-dev           /usr/include/stdio.h
libncurses6         /lib/*/libncurses.so.6
libxml2             /usr/lib/*/libxml2.so.2
libcurl4            /usr/lib/*/libcurl.so.4
tzdata              /usr/share/zoneinfo/UTC
libsqlite3-dev      /usr/include/sqlite3.h
libavahi-client-dev /usr/include/avahi-client/client.h
libssl-dev          /usr/include/openssl/ssl.h
libevent-dev        /usr/include/event2/http.h
libmariadb-dev      /usr/include/mariadb/mysql.h
libzstd-dev         /usr/include/zstd.h
libjemalloc-dev     /usr/include/jemalloc/jemalloc.h
avahi-daemon        avahi-daemon
avahi-utils         avahi-browse
dbus                dbus-daemon
iproute2            ip
sqlite3             sqlite3
python3             python3
openssl             openssl
netcat-openbsd      nc.openbsd
curl                curl
libfaketime         /usr/lib/*/faketime/libfaketime.so.1
libdbd-sqlite3-perl /usr/lib/*/perl5/*/DBD/SQLite.pm
tcl                 tclsh
libsqlite3-tcl      /usr/lib/tcltk/sqlite3/pkgIndex.tcl
util-linux          nsenter
python3-django      /usr/lib/python3/dist-packages/django/__init__.py
python3-sqlalchemy  /usr/lib/python3/dist-packages/sqlalchemy/__init__.py
python3-alembic     /usr/lib/python3/dist-packages/alembic/__init__.py
php-cli             php
php-sqlite3         /usr/lib/php/*/pdo_sqlite.so
dpkg-dev            dpkg-shlibdeps
'
# What some tests need and can do without: they say that they were skipped, and why.
optional='
mariadb-server-core mariadbd
mariadb-client-core mariadb
galera-4            /usr/lib/galera/libgalera_smm.so
python3-pymysql     /usr/lib/python3/dist-packages/pymysql/__init__.py
'
# What only `make deb-test` needs: setup.sh packaging.
packaging_needs='
lintian             lintian
mmdebstrap          mmdebstrap
uidmap              newuidmap
systemd-container   systemd-nspawn
'
if [[ ${1-} == packaging ]]; then
  needs=$packaging_needs
  optional=
  shift
fi

for program in "$@"; do needs+="$program $program"$'\n'; done

has() {
  case $1 in
    /*) compgen -G "$1" >/dev/null ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

missing_packages() {
  local package sign
  while read -r package sign; do
    [[ -z $package ]] || has "$sign" || echo "$package"
  done <<<"$1"
}

# Root installs; others ask sudo, which must not stop for a password where nobody can type one.
install_packages() {
  local become=()
  command -v apt-get >/dev/null || return 1
  if ((EUID != 0)); then
    command -v sudo >/dev/null || return 1
    become=(sudo)
    if [[ ! -t 0 ]]; then become+=(-n); fi
    "${become[@]}" true || return 1
  fi
  become+=(env DEBIAN_FRONTEND=noninteractive)
  echo "setup: installing $*"
  "${become[@]}" apt-get -qq update
  "${become[@]}" apt-get -qq -o Dpkg::Use-Pty=0 install --no-install-recommends -y "$@" >/dev/null
}

check_packages() {
  local missing
  mapfile -t missing < <(missing_packages "$needs")
  ((${#missing[@]} > 0)) || return 0
  install_packages "${missing[@]}"
  mapfile -t missing < <(missing_packages "$needs")
  ((${#missing[@]} > 0)) || return 0
  echo "setup: these Debian packages are missing, and could not be installed from here;" >&2
  echo "setup: as root: apt-get install ${missing[*]}" >&2
  return 1
}

# Nothing fails for want of these. They bring no service: a test starts a server of its own.
offer_packages() {
  local missing
  mapfile -t missing < <(missing_packages "$optional")
  ((${#missing[@]} > 0)) || return 0
  install_packages "${missing[@]}"
  mapfile -t missing < <(missing_packages "$optional")
  ((${#missing[@]} > 0)) || return 0
  echo "setup: without ${missing[*]} some tests are skipped" >&2
}

check_swift() {
  local said found
  said=$(swift --version 2>&1)
  found=$(sed -n 's/.*Swift version \([0-9][0-9.]*\).*/\1/p' <<<"$said")
  if ! command -v swift >/dev/null; then
    echo "setup: there is no Swift here; version $swift_wanted or newer is needed" >&2
  elif [[ -z $found ]]; then
    echo "setup: $(command -v swift) does not start: ${said%%$'\n'*}" >&2
    return 1
  elif [[ $(printf '%s\n%s\n' "$swift_wanted" "$found" | sort -V | head -n 1) != "$swift_wanted" ]]
  then
    echo "setup: this is Swift $found; version $swift_wanted or newer is needed" >&2
  else
    return 0
  fi
  echo "setup: get it from https://www.swift.org/install/linux/ and put it into PATH" >&2
  return 1
}

status=0
check_packages || status=1
offer_packages
check_swift || status=1
exit $status
