"""The stand-alone intervention hook; `main.py` is the whole of it and runs without this package."""
