#!/bin/bash
# {{ title }}. Submit it again to measure what is missing.
# flux: --job-name={{ name }}
# flux: --nodes={{ nodes }}
# flux: --exclusive
# flux: --time-limit={{ minutes }}m
{% if partition %}
# flux: --queue={{ partition }}
{% endif %}
{% if account %}
# flux: --bank={{ account }}
{% endif %}
{% if constraint %}
# flux: --requires={{ constraint }}
{% endif %}
# flux: --output={{ folder | quote }}/jobs/{{ submission }}-{% raw %}{{id}}{% endraw %}.out
{% for option in options %}
# flux: {{ option }}
{% endfor %}

{% include "_work.sh" %}
exec {{ python | quote }} -m labkit run {{ suite | quote }} --into {{ folder | quote }} {{ parameters }}
