#!/bin/bash
# Epilog of slurmd: undoes what a job's pinwise left changed on this node, as after kill -9. Runs as root when all processes of
# the job have ended. README.md beside it explains how to install it and when it drains the node.
set -u

pinwise=${PINWISE:-/usr/local/bin/pinwise}
limit_s=${PINWISE_LIMIT_S:-60}   # for one session
drain=${PINWISE_DRAIN:-yes}      # whether slurmd is to drain the node where something is left

export PATH=/usr/sbin:/usr/bin:/sbin:/bin
# The ledger of root, whatever the job had in its environment.
unset PINWISE_STATE_DIR

log() { logger -t pinwise-epilog -- "job ${SLURM_JOB_ID:-?}: $*"; }

# Nothing was ever changed here by root: the usual case, and it costs nothing.
[ -x "$pinwise" ] && [ -d /var/lib/pinwise/ledger ] || exit 0

# Sessions in force whose process has ended. Left out: those of a study that still runs (of another job, on a node that jobs share),
# and what was applied to stay (pinwise apply).
left() {
  timeout --signal=KILL "$limit_s" "$pinwise" status </dev/null 2>/dev/null |
    sed -n '/^Session [^ ]* (apply /d; /^Session .*, which runs: /d; s/^Session \([0-9][0-9.-]*\).*/\1/p'
}

# Newest first, as pinwise itself undoes.
for session in $(left | tac); do
  # An undo is not ended by SIGTERM; what a killed one leaves stays in the ledger.
  said=$(timeout --signal=KILL "$limit_s" "$pinwise" undo --session "$session" </dev/null 2>&1)
  log "undo of session $session: exit code $?: $(printf '%s' "$said" | tail -n 3 | tr '\n' ' ')"
done

still=$(left | tr '\n' ' ')
[ -z "$still" ] && exit 0
log "still changed: sessions $still- run 'pinwise status' on $(hostname)"
# A code other than 0 makes slurmd drain the node.
[ "$drain" = yes ] && exit 1
exit 0
