{% for line in setup %}
{{ line }}
{% endfor %}
{% for name in modules %}
module load {{ name | quote }} || exit
{% endfor %}
export {{ variables }}
[ -d {{ folder | quote }}/jobs ] || { echo {{ folder | quote }}" is not visible on $(hostname). Use a folder that all nodes share." >&2; exit 1; }
cd {{ home | quote }} || exit
