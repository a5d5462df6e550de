#!/bin/bash
# usage: writer.sh DB PLAN HISTORY FIRST [env…]: see writer.py. A process for each transaction,
# started by the words at the end.
path=$1 plan=$2 history=$3 first=$4
shift 4
while IFS= read -r line; do
  IFS=$'\t' read -r number pause statements <<<"$line"
  ((number >= first)) || continue
  [[ ! -e stop ]] || break
  sleep "$pause"
  echo "try $number" >>"$history"
  if error=$("$@" sqlite3 -batch "$path" 2>&1 >/dev/null <<<".timeout 8000
.bail on
BEGIN IMMEDIATE;
${statements//$'\t'/;$'\n'};
COMMIT;"); then
    echo "ok $number" >>"$history"
  else
    echo "no $number ${error//$'\n'/ }" >>"$history"
  fi
done <"$plan"
