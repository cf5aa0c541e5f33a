"""The commands of the pages, executed as a reader would."""
