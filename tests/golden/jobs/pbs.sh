#!/bin/bash
# labkit VERSION: suite quick. Submit it again to measure what is missing.
#PBS -N labkit-quick
#PBS -l select=4:ncpus=2:mpiprocs=2
#PBS -l place=scatter:excl
#PBS -l walltime=01:30:00
#PBS -q workq
#PBS -A p1
#PBS -J 0-2%1
#PBS -j oe
#PBS -o /scratch/ada/labkit/quick/jobs/2-pbs.out

source /etc/profile.d/modules.sh
module load mpich/4.2 || exit
export LABKIT_SUBMISSION=2
[ -d /scratch/ada/labkit/quick/jobs ] || { echo /scratch/ada/labkit/quick" is not visible on $(hostname). Use a folder that all nodes share." >&2; exit 1; }
cd /home/ada/labkit || exit
exec /home/ada/labkit/.venv/bin/python -m labkit run quick --into /scratch/ada/labkit/quick -p launches=6 --site /scratch/ada/labkit/quick/jobs/2.toml --repeats "$(( ${PBS_ARRAY_INDEX:-0} + 1 ))"
