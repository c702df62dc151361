"""What people say on the surfaces, filtered, caught up, and taken in once."""
