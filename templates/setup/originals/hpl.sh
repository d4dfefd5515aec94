# HPL: version 2.3 or later. BLAS names the library, such as -lblis; without it, configure looks for OpenBLAS first.
source_is HPL '~/hpl-2.3' https://www.netlib.org/benchmark/hpl
[ -f "$SOURCE/testing/ptest/HPL_pddriver.c" ] || lacks testing/ptest/HPL_pddriver.c
configured "libopenmpi-dev libopenblas-dev" -O3 testing/xhpl
