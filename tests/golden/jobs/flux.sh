#!/bin/bash
# labkit VERSION: suite quick. Submit it again to measure what is missing.
# flux: --job-name=labkit-quick
# flux: --nodes=4
# flux: --exclusive
# flux: --time-limit=90m
# flux: --bank=p1
# flux: --output=/scratch/ada/labkit/quick/jobs/2-{{id}}.out

export LABKIT_SUBMISSION=2
[ -d /scratch/ada/labkit/quick/jobs ] || { echo /scratch/ada/labkit/quick" is not visible on $(hostname). Use a folder that all nodes share." >&2; exit 1; }
cd /home/ada/labkit || exit
exec /home/ada/labkit/.venv/bin/python -m labkit run quick --into /scratch/ada/labkit/quick -p launches=6 --site /scratch/ada/labkit/quick/jobs/2.toml
