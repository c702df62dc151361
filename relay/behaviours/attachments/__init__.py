"""Files that people hang on their messages, and the agent finds in its workspace."""
