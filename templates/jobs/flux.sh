#!/bin/bash
# {{title}}. Submitted again, it measures only what is missing.
# flux: --job-name={{name}}
# flux: --nodes={{nodes}}
# flux: --exclusive
# flux: --time-limit={{minutes}}m
# flux: --queue={{partition}}
# flux: --bank={{account}}
# flux: --requires={{constraint}}
# flux: --output={{folder}}/jobs/{{submission}}-{{id}}.out
# flux: {{options}}

{{setup}}
export {{variables}}
[ -d {{folder}}/jobs ] || { echo {{folder}}" is not to be seen from $(hostname). Use a folder that all nodes share." >&2; exit 1; }
cd {{home}} || exit
exec {{python}} -m labkit.cli run {{suite}} --into {{folder}} {{parameters}}
