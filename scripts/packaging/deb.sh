#!/usr/bin/env bash
# Makes a Debian package of a built program: deb.sh PROGRAM FOLDER [VERSION]. It needs dpkg-dev
# alone. Who answers for it is in DEBFULLNAME and DEBEMAIL, as for other tools of Debian. The same
# program makes the same bytes, if SOURCE_DATE_EPOCH says of when they are.
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
(($# == 2 || $# == 3)) || { echo "usage: deb.sh PROGRAM FOLDER [VERSION]" >&2; exit 2; }
[[ -x $1 ]] || { echo "deb.sh: $1 is no program" >&2; exit 1; }

program=$(realpath "$1")
mkdir -p "$2"
target=$(realpath "$2")
version=${3:-$("$program" --version | cut -d' ' -f2)}
architecture=$(dpkg --print-architecture)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$top" log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH
umask 022
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
docs=$root/usr/share/doc/flotilla
mkdir -p "$root/DEBIAN" "$docs" "$root/usr/lib/sysusers.d" "$root/usr/lib/tmpfiles.d" \
  "$root/usr/share/lintian/overrides"

"$here/stage.sh" "$program" "$root" /usr
gzip -9n "$root"/usr/share/man/man1/*.1
install -m 644 "$here/sysusers.conf" "$root/usr/lib/sysusers.d/flotilla.conf"
install -m 644 "$here/tmpfiles.conf" "$root/usr/lib/tmpfiles.d/flotilla.conf"
install -m 644 "$here/lintian-overrides" "$root/usr/share/lintian/overrides/flotilla"
install -m 644 "$here/copyright" "$docs/copyright"
# In a package of Debian's that file says it, and no other one.
rm "$docs/LICENSE"
sed -i 's/\[LICENSE\](LICENSE)/[copyright](copyright)/' "$docs/README.md"

# Debian's own log of a package: which version, when, by whom.
maintainer="${DEBFULLNAME:-The Flotilla authors} <${DEBEMAIL:-flotilla@example.org}>"
{
  echo "flotilla ($version) unstable; urgency=medium"
  echo
  echo "  * What changed is in CHANGELOG.md, beside this file."
  echo
  echo " -- $maintainer  $(date -u -R -d "@$SOURCE_DATE_EPOCH")"
} >"$work/changelog"
# One without a revision of Debian's has one log.
log=changelog.gz
[[ $version != *-* ]] || log=changelog.Debian.gz
gzip -9nc "$work/changelog" >"$docs/$log"

# dpkg-shlibdeps asks which packages the libraries come from, and wants a source package around.
mkdir -p "$work/source/debian"
printf 'Source: flotilla\n\nPackage: flotilla\nArchitecture: any\n' >"$work/source/debian/control"
depends=$(cd "$work/source" && dpkg-shlibdeps -O "$root/usr/bin/flotilla" |
  sed -n 's/^shlibs:Depends=//p')
[[ -n $depends ]] || { echo "deb.sh: dpkg-shlibdeps names no library" >&2; exit 1; }
# No symbol tells of packed relocations, which the C library knows since 2.36.
if readelf -dW "$program" | grep -q '(RELR)'; then
  depends=$(sed -E 's/libc6 \(>= 2\.([0-9]|[12][0-9]|3[0-5])\)/libc6 (>= 2.36)/' <<<"$depends")
fi
sed -e "s/@version@/$version/" -e "s/@architecture@/$architecture/" -e "s/@depends@/$depends/" \
  -e "s/@maintainer@/$maintainer/" \
  -e "s/@size@/$(du -sk --exclude=DEBIAN "$root" | cut -f1)/" \
  "$here/control" >"$root/DEBIAN/control"
for script in postinst prerm postrm; do
  install -m 755 "$here/$script" "$root/DEBIAN/$script"
done
(cd "$root" && find usr lib -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
find "$root" -newermt "@$SOURCE_DATE_EPOCH" -print0 | xargs -0r touch -h -d "@$SOURCE_DATE_EPOCH"

package=$target/flotilla_${version}_$architecture.deb
dpkg-deb --root-owner-group -Zxz --build "$root" "$package" >/dev/null
echo "$package"
