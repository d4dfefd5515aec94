#!/bin/sh
# Starts a rank from the copy of labkit on this node, without a look at the folder where labkit is installed.
# labkit.run.staging.archive fills in what stands between @ signs; labkit.run.staging.node makes the copy. The folder is
# entered before it is looked at, so that nobody can exchange it in between.
here=$PWD
for place in @PLACES@; do
    [ -n "$place" ] && cd -P "$place/@FOLDER@/@NAME@" 2>/dev/null || continue
    copy=$PWD
    if [ -O . ] && [ -O .. ] && [ -f complete ]; then
        cd "$here" || cd /
        LABKIT_STAGED=$copy
        export LABKIT_STAGED
        @VARIABLES@
        exec @PYTHON@ -I -S -B "$copy/start.py" "$@"
    fi
    cd "$here" || cd /
done
if [ -n "$LABKIT_STAGED_AGAIN" ]; then
    echo "labkit: the copy of labkit on $(uname -n) went away twice" >&2
    exit 1
fi
exec @NODE@ rank "$@"
