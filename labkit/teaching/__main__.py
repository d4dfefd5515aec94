"""``python -m labkit.teaching FOLDER``: the teacher's page over all learners below a folder, in Markdown."""

import sys
from pathlib import Path

from labkit.errors import LabkitError
from labkit.teaching.summary import collected, of_class

if __name__ == "__main__":
    try:
        diaries = collected(Path(sys.argv[1] if len(sys.argv) > 1 else "submitted"))
        sys.stdout.write("\n".join(of_class(name, learners) for name, learners in diaries.items()))
    except LabkitError as error:
        sys.exit(str(error))
