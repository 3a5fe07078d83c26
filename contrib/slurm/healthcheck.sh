#!/bin/bash
# HealthCheckProgram of slurmd: reports what pinwise has left changed on a node where no job runs. Prints nothing where all is well.
# README.md beside it explains how to install it.
set -u

pinwise=${PINWISE:-/usr/local/bin/pinwise}
limit_s=${PINWISE_LIMIT_S:-20}
drain=${PINWISE_DRAIN:-no}       # whether to drain the node

export PATH=/usr/sbin:/usr/bin:/sbin:/bin
unset PINWISE_STATE_DIR

[ -x "$pinwise" ] && [ -d /var/lib/pinwise/ledger ] || exit 0
# A job runs here, or its epilog: what it changes is its own.
ps -C slurmstepd -o stat= | grep -q '^[^Z]' && exit 0

status=$(timeout --signal=KILL "$limit_s" "$pinwise" status </dev/null 2>&1)
code=$?
if [ "$code" -eq 0 ]; then
  left=$(printf '%s\n' "$status" |
    sed -n '/^Session [^ ]* (apply /d; /^Session .*, which runs: /d; s/^Session \([0-9][0-9.-]*\).*/\1/p' | tr '\n' ' ')
  [ -z "$left" ] && exit 0
  message="pinwise: changes of sessions ${left}are in force and no job runs: pinwise undo"
else
  message="pinwise: 'pinwise status' fails with exit code $code"
fi
echo "$message"
logger -t pinwise-healthcheck -- "$message"
if [ "$drain" = yes ]; then
  scontrol update NodeName="${SLURMD_NODENAME:-$(hostname -s)}" State=DRAIN Reason="$message"
fi
exit 1
