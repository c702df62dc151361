"""What a child prints, on its way from a pipe to what escalates: read, cut into lines, kept, judged, collected."""
