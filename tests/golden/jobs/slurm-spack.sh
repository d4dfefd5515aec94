#!/bin/bash
# labkit VERSION: suite quick. Submit it again to measure what is missing.
#SBATCH --job-name=labkit-quick
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=2
#SBATCH --time=90
#SBATCH --partition=batch
#SBATCH --account=p1
#SBATCH --constraint=infiniband
#SBATCH --exclude=n7,n9
#SBATCH --array=0-2%1
#SBATCH --exclusive
#SBATCH --no-kill
#SBATCH --open-mode=append
#SBATCH --output=/scratch/ada/labkit/quick/jobs/2-%j.out
#SBATCH --switches=1

source $HOME/spack/share/spack/setup-env.sh
spack load openmpi
export LABKIT_SUBMISSION=2 LABKIT_INTERFACE=ib0 UCX_NET_DEVICES=mlx5_0:1
[ -d /scratch/ada/labkit/quick/jobs ] || { echo /scratch/ada/labkit/quick" is not visible on $(hostname). Use a folder that all nodes share." >&2; exit 1; }
cd /home/ada/labkit || exit
# not through srun: the ranks' own srun would wait for the processors that this step holds
exec /home/ada/labkit/.venv/bin/python -m labkit run quick --into /scratch/ada/labkit/quick -p launches=6 --site /scratch/ada/labkit/quick/jobs/2.toml --repeats "$(( ${SLURM_ARRAY_TASK_ID:-0} + 1 ))"
