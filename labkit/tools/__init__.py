"""External programs, one file each: command line from a spec, server life, output through its format.

A tool's file offers ``NAME``, ``PACKAGE`` (Debian package that brings it), ``version()`` and functions that make
a `Job` from a spec. What it prints is parsed in `labkit.formats`. Running a job is the
same for all tools and lives here.
"""
