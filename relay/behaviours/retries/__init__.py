"""Running a prompt again."""
