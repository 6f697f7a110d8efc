"""Empty: the release as it was given out."""
