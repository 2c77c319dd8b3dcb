# SPDX-License-Identifier: MIT
# As chain.c.
use strict;
use Time::HiRes 'time';
sub inner { my $x = 0; $x += $_ for 0 .. 100000; return $x; }
sub middle { my ($end) = @_; inner() while time() < $end; }
sub outer { my ($seconds) = @_; middle(time() + $seconds); }
outer($ARGV[0]);
