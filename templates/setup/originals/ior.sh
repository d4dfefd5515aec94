# IOR and mdtest: a release, such as ior-4.0.0, or a clone of the repository.
source_is IOR '~/ior-4.0.0' https://github.com/hpc/ior/releases
[ -f "$SOURCE/src/ior.c" ] || lacks src/ior.c
configured libopenmpi-dev -O2 src/ior src/mdtest
