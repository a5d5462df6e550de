#!/usr/bin/env bash
# Lays what is installed into a folder: stage.sh PROGRAM ROOT PREFIX, and takes it out again with
# stage.sh --remove ROOT PREFIX. Pages and completions are what the program says of itself. ROOT
# may be empty; PREFIX is where things will be found, as in /usr/local.
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage() {
  echo "usage: stage.sh PROGRAM ROOT PREFIX | stage.sh --remove ROOT PREFIX" >&2
  exit 2
}

(($# == 3)) || usage
what=$1 root=$2 prefix=${3%/}
[[ $prefix == /* || -z $prefix ]] || { echo "stage.sh: PREFIX is not absolute: $3" >&2; exit 2; }
share=$root$prefix/share
pages=$share/doc/flotilla

# Debian keeps units, and what shells read from packages, in places of their own.
if [[ $prefix == /usr ]]; then
  units=$root/lib/systemd/system
  zsh=$share/zsh/vendor-completions
else
  units=$root$prefix/lib/systemd/system
  zsh=$share/zsh/site-functions
fi
completions=(
  "bash $share/bash-completion/completions/flotilla"
  "zsh $zsh/_flotilla"
  "fish $share/fish/vendor_completions.d/flotilla.fish"
)

if [[ $what == --remove ]]; then
  rm -f "$root$prefix/bin/flotilla" "$units/flotilla@.service" \
    "$share/man/man1/flotilla.1" "$share"/man/man1/flotilla-*.1
  for line in "${completions[@]}"; do rm -f "${line#* }"; done
  rm -rf "$pages/docs"
  rm -f "$pages/README.md" "$pages/CHANGELOG.md" "$pages/LICENSE"
  rmdir "$pages" 2>/dev/null || true
  exit 0
fi

[[ -x $what ]] || { echo "stage.sh: $what is no program" >&2; exit 1; }
install -d "$root$prefix/bin" "$share/man/man1" "$units" "$pages/docs/decisions" \
  "$pages/docs/plots"
install -m 644 "$here"/../../README.md "$here"/../../CHANGELOG.md "$here"/../../LICENSE "$pages/"
install -m 644 "$here"/../../docs/*.md "$here"/../../docs/*.svg "$pages/docs/"
install -m 644 "$here"/../../docs/plots/*.svg "$pages/docs/plots/"
install -m 644 "$here"/../../docs/decisions/*.md "$pages/docs/decisions/"
# Who has it installed needs neither how to make it nor what tests leave out, and has no sources to
# which a link could lead.
sources='Sources|Tests|Examples|scripts|Package\.swift|Makefile|Flotilla\.docc'
sed -i -E -e "s@\[([^]]*)\]\((\.\./)*($sources)[^)]*\)@\1@g" \
  -e '/^<!-- not installed: begin -->$/,/^<!-- not installed: end -->$/d' \
  -e '/^<!-- .* -->$/d' "$pages/README.md" "$pages"/docs/*.md "$pages"/docs/decisions/*.md
install -m 755 "$what" "$root$prefix/bin/flotilla"
"$what" write-manual "$share/man/man1"
chmod 644 "$share"/man/man1/flotilla*.1
for line in "${completions[@]}"; do
  install -d "$(dirname "${line#* }")"
  "$what" completions "${line%% *}" >"${line#* }"
  chmod 644 "${line#* }"
done
sed "s|@bindir@|$prefix/bin|" "$here/flotilla@.service" >"$units/flotilla@.service"
chmod 644 "$units/flotilla@.service"
