"""Programs that labkit starts as tools; `make setup` builds those in C and C++ beside their sources (``setup.py``)."""
