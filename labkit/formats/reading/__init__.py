"""What layouts read with: lines and tables of text, JSON, logs with their runs, wrapped output, the names of OMB."""
