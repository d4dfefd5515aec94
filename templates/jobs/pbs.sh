#!/bin/bash
# {{ title }}. Submit it again to measure what is missing.
#PBS -N {{ name }}
#PBS -l select={{ nodes }}:ncpus={{ ppn }}:mpiprocs={{ ppn }}
#PBS -l place=scatter:excl
#PBS -l walltime={{ "%02d:%02d" | format(minutes // 60, minutes % 60) }}:00
{% if partition %}
#PBS -q {{ partition }}
{% endif %}
{% if account %}
#PBS -A {{ account }}
{% endif %}
{% if constraint %}
#PBS -l {{ constraint }}
{% endif %}
{% if array > 1 %}
#PBS -J 0-{{ array - 1 }}%1
{% endif %}
#PBS -j oe
#PBS -o {{ folder | quote }}/jobs/{{ submission }}-pbs.out
{% for option in options %}
#PBS {{ option }}
{% endfor %}

{% include "_work.sh" %}
exec {{ python | quote }} -m labkit run {{ suite | quote }} --into {{ folder | quote }} {{ parameters }} --repeats "$(( ${PBS_ARRAY_INDEX:-0} + 1 ))"
