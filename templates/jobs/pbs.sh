#!/bin/bash
# {{title}}. Submitted again, it measures only what is missing.
#PBS -N {{name}}
#PBS -l select={{nodes}}:ncpus={{ppn}}:mpiprocs={{ppn}}
#PBS -l place=scatter:excl
#PBS -l walltime={{walltime}}
#PBS -q {{partition}}
#PBS -A {{account}}
#PBS -l {{constraint}}
#PBS -J 0-{{last}}%1
#PBS -j oe
#PBS -o {{folder}}/jobs/{{submission}}-pbs.out
#PBS {{options}}

{{setup}}
export {{variables}}
[ -d {{folder}}/jobs ] || { echo {{folder}}" is not to be seen from $(hostname). Use a folder that all nodes share." >&2; exit 1; }
cd {{home}} || exit
exec {{python}} -m labkit.cli run {{suite}} --into {{folder}} {{parameters}} --repeats "$(( ${PBS_ARRAY_INDEX:-0} + 1 ))"
