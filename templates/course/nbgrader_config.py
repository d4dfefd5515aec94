"""Settings of a course with the labs. Copy this file beside the folder ``source``; see docs/teaching.md."""

from pathlib import Path

c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "interconnects"
c.CourseDirectory.root = str(Path(__file__).resolve().parent)
c.CourseDirectory.ignore = [".ipynb_checkpoints", "*.pyc", "__pycache__"]
c.ClearSolutions.code_stub = {"python": "# Room to compute. Submit the result in the field above."}
c.ClearSolutions.text_stub = "*Your answer here.*"
c.Execute.timeout = 600
c.ExecutePreprocessor.timeout = 600
