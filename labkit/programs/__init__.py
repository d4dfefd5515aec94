"""Programs in C that labkit starts as tools; `make setup` builds each ``*.c`` beside its source (``setup.py``)."""
