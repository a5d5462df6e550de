# usage: tclsh writer.tcl DB PLAN HISTORY FIRST: see writer.py
package require sqlite3

# `after` waits for a moment of the clock. What is started here needs no wrong clock.
unset -nocomplain env(LD_PRELOAD)

lassign $argv path plan history first
sqlite3 db $path
db timeout 8000
set lines [open $plan]
fconfigure $lines -encoding utf-8
set said [open $history a]
fconfigure $said -buffering line
while {[gets $lines line] >= 0} {
  set statements [lassign [split $line \t] number pause]
  if {$number < $first} continue
  if {[file exists stop]} break
  exec sleep $pause
  puts $said "try $number"
  if {[catch {
    db eval "BEGIN IMMEDIATE"
    foreach statement $statements { db eval $statement }
    db eval "COMMIT"
  } error]} {
    puts $said "no $number $error"
    catch { db eval "ROLLBACK" }
  } else {
    puts $said "ok $number"
  }
}
