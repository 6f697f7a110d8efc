"""nbgrader's folders mapped onto ours, so that `nbgrader` and formgrader work from this folder."""
from pathlib import Path

c = get_config()  # noqa: F821  (nbgrader defines it)

root = Path(__file__).resolve().parent

c.CourseDirectory.course_id = "unmasked"
c.CourseDirectory.root = str(root)
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"
c.CourseDirectory.submitted_directory = "build/submitted"
c.CourseDirectory.autograded_directory = "build/autograded"
c.CourseDirectory.feedback_directory = "build/feedback"
c.CourseDirectory.solution_directory = "build/solution"
c.CourseDirectory.db_url = f"sqlite:///{root / 'build' / 'gradebook.db'}"

# nbgrader copies whatever lies in an assignment's folder into what students get.
# The text twin of the source notebook holds the solutions, so it must stay behind.
c.CourseDirectory.ignore = [
    ".ipynb_checkpoints", "*.pyc", "__pycache__", ".pytest_cache", "*.md",
]

c.ClearSolutions.code_stub = {"python": "# YOUR CODE HERE\nraise NotImplementedError()"}
c.ExecutePreprocessor.timeout = 60
