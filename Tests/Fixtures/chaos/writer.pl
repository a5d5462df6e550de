# usage: perl writer.pl DB PLAN HISTORY FIRST: see writer.py
use strict;
use warnings;
use DBI;
use IO::Handle;

my ($path, $plan, $history, $first) = @ARGV;
my $db = DBI->connect("dbi:SQLite:dbname=$path", "", "",
  { RaiseError => 1, PrintError => 0, sqlite_use_immediate_transaction => 1 });
$db->sqlite_busy_timeout(8000);
open(my $lines, "<", $plan) or die "$plan: $!";
open(my $said, ">>", $history) or die "$history: $!";
$said->autoflush(1);
while (my $line = <$lines>) {
  chomp $line;
  my ($number, $pause, @statements) = split /\t/, $line;
  next if $number < $first;
  last if -e "stop";
  select(undef, undef, undef, $pause);
  print $said "try $number\n";
  eval {
    $db->begin_work;
    $db->do($_) for @statements;
    $db->commit;
    print $said "ok $number\n";
    1;
  } or do {
    my $error = $@ =~ s/\s+/ /gr;
    print $said "no $number $error\n";
    eval { $db->rollback };
  };
}
